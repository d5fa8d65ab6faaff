"""Threads that read and write files change neither warnings nor logging, for themselves or for anyone else."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import format_cases as cases
import numpy as np
import pytest
from PIL import Image

from epitomes.formats import ImageFileError, Picture, read, write
from epitomes.formats._quiet import LOGGERS, DecoderWarning, quiet

WATCHED = ("", *LOGGERS, "nibabel", "libav", "zarr", "astropy", "PIL")


class OwnWarning(UserWarning):
    """A warning of the program that reads files."""


def state() -> tuple[Any, ...]:
    """All that belongs to the whole process."""
    loggers = [logging.getLogger(name) for name in WATCHED]
    return (
        tuple(warnings.filters),
        warnings.showwarning,
        logging.root.manager.disable,
        [(log.level, tuple(log.handlers), tuple(log.filters), log.propagate, log.disabled) for log in loggers],
        Image.MAX_IMAGE_PIXELS,
    )


def talkative_files(folder: Path, rng: np.random.Generator) -> list[Path]:
    """Sound files and damaged ones whose decoders warn or log."""
    pixels = cases.some(rng, "uint8", (3, 24, 24))
    made = [folder / name for name in ("good.tif", "cut.tif", "good.png", "good.jpg", "exif.jpg", "old.npy")]
    write(made[0], Picture(pixels, "ZYX"))
    pages = [Image.fromarray(page) for page in pixels]
    pages[0].save(made[1], save_all=True, append_images=pages[1:])
    made[1].write_bytes(made[1].read_bytes()[: made[1].stat().st_size // 2])
    write(made[2], pixels[0])
    write(made[3], pixels[0])
    broken = b"Exif\0\0II*\0\x08\0\0\0\xff\0" + bytes(20)  # 255 tags, of which one is there
    Image.fromarray(pixels[0]).save(made[4], exif=broken)
    made[5].write_bytes(cases.raw_npy("(8L, 8L)", body=bytes(64)))  # by Python 2
    try:
        import astropy.io.fits
        import nibabel
        import pydicom
    except ImportError:
        return made
    cards = ["SIMPLE  =                    T", "BITPIX  =                    8", "NAXIS   =                    2"]
    cards += ["NAXIS1  =                    8", "NAXIS2  =                    8", "CD?LT1  1.0", "END"]
    (folder / "card.fits").write_bytes("".join(card.ljust(80) for card in cards).ljust(2880).encode() + bytes(2880))
    astropy.io.fits.PrimaryHDU(pixels[0]).writeto(folder / "good.fits")
    image = nibabel.Nifti1Image(pixels, np.eye(4))
    image.header["pixdim"][1:4] = -1.0
    (folder / "pixdim.nii").write_bytes(image.header.binaryblock + bytes(4) + pixels.tobytes())
    made += [folder / name for name in ("card.fits", "good.fits", "pixdim.nii")]
    source = Path(pydicom.__file__).parent / "data" / "test_files" / "MR_small_padded.dcm"
    return [*made, source] if source.is_file() else made


def outcome(path: Path) -> tuple[str, bytes]:
    """The pixels of a file, or its error."""
    try:
        picture = read(path)
    except ImageFileError as error:
        return str(error), b""
    return picture.axes, picture.pixels.tobytes()


def talk(number: int) -> None:
    """Warn and log, as a program does."""
    warnings.warn(str(number), OwnWarning, stacklevel=2)
    for name in LOGGERS:
        logging.getLogger(name).error("own %d", number)


class Kept(logging.Handler):
    """Keep the messages that arrive."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.mark.slow
def test_the_files_make_their_decoders_talk(tmp_path: Path, rng: np.random.Generator) -> None:
    """Otherwise the next test proves nothing."""
    import tifffile

    _, tiff, _, _, jpeg, npy, *_ = talkative_files(tmp_path, rng)
    kept = Kept()
    logging.getLogger("tifffile").addHandler(kept)
    try:
        with tifffile.TiffFile(tiff) as opened:
            len(opened.pages)
    finally:
        logging.getLogger("tifffile").removeHandler(kept)
    assert kept.messages
    with pytest.warns(UserWarning, match="EXIF"), Image.open(jpeg) as picture:
        picture.getexif()
    with pytest.warns(UserWarning, match="Python 2"), npy.open("rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)


@pytest.mark.slow
def test_threads_leave_each_other_alone(tmp_path: Path, rng: np.random.Generator) -> None:
    files = talkative_files(tmp_path, rng)
    alone = {path: outcome(path) for path in files}
    assert any(words.endswith("get another copy") for words, _ in alone.values())
    kept, done, talked = Kept(), threading.Event(), 0
    logging.getLogger().addHandler(kept)
    try:
        with warnings.catch_warnings(record=True) as shown:
            warnings.resetwarnings()
            warnings.simplefilter("always")
            assert outcome(files[0]) == alone[files[0]]
            before = state()

            def reads(seed: int) -> None:
                order = np.random.default_rng(seed).permutation(np.tile(np.arange(len(files)), 8))
                for i in order:
                    assert outcome(files[i]) == alone[files[i]], files[i].name
                    write(tmp_path / f"out{seed}.tif", np.full((8, 8), seed, np.uint8), overwrite=True)

            def watches() -> int:
                number = 0
                while not done.is_set() or number < 10:
                    assert state() == before
                    talk(number)
                    number += 1
                return number

            with ThreadPoolExecutor(7) as pool:
                watcher = pool.submit(watches)
                readers = [pool.submit(reads, seed) for seed in range(6)]
                try:
                    for reader in readers:
                        reader.result()
                finally:
                    done.set()
                talked = watcher.result()
            assert state() == before
    finally:
        logging.getLogger().removeHandler(kept)
    assert [str(each.message) for each in shown] == [str(number) for number in range(talked)]
    assert {each.category for each in shown} == {OwnWarning}
    assert kept.messages == [f"own {number}" for number in range(talked) for _ in LOGGERS]


def test_nothing_changes_after_import() -> None:
    """In a new interpreter: the filters are installed with the package, not when a file is read."""
    code = """
import io, logging, sys, tempfile, warnings
from pathlib import Path
import numpy as np, tifffile
from epitomes.formats import read, write
def state():
    loggers = [logging.getLogger(name) for name in (None, "tifffile", "pydicom", "nibabel.global")]
    return list(warnings.filters), [(each.level, list(each.handlers), list(each.filters)) for each in loggers]
before = state()
with tempfile.TemporaryDirectory() as folder:
    write(Path(folder) / "a.tif", np.zeros((8, 8), np.uint8))
    read(Path(folder) / "a.tif")
    (Path(folder) / "b.tif").write_bytes(b"II*\\0nothing")
    try:
        read(Path(folder) / "b.tif")
    except ValueError:
        pass
assert state() == before
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_only_the_inside_is_quiet() -> None:
    kept = Kept()
    logging.getLogger().addHandler(kept)
    try:
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always")
            with quiet():
                pass  # installs the filter in front of this one
            talk(0)
            with quiet():
                talk(1)
                with quiet():
                    talk(2)
                talk(3)
                other = threading.Thread(target=talk, args=(4,))
                other.start()
                other.join()
            talk(5)
            with pytest.raises(ZeroDivisionError), quiet():
                raise ZeroDivisionError
            talk(6)
    finally:
        logging.getLogger().removeHandler(kept)
    assert [str(each.message) for each in shown] == ["0", "4", "5", "6"]
    assert kept.messages == [f"own {number}" for number in (0, 4, 5, 6) for _ in LOGGERS]
    assert not issubclass(UserWarning, DecoderWarning)


@pytest.mark.parametrize("suffix", [".png", ".jpg"])
def test_the_size_limit_of_pillow_is_not_ours(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    write(tmp_path / f"a{suffix}", cases.some(rng, "uint8", (24, 24)))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 24 * 24 // 2 - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(tmp_path / f"a{suffix}").pixels.shape == (24, 24)
    with pytest.raises(Image.DecompressionBombError):
        Image.open(tmp_path / f"a{suffix}")
