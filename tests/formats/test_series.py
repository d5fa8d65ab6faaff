"""Which image of a file: by number or name, in FITS, TIFF, NPZ and video; and `info`, which lists them."""

from __future__ import annotations

import json
from pathlib import Path

import format_cases as cases
import numpy as np
import pytest
from format_cases import refused

from epitomes.cli.main import main
from epitomes.formats import Picture, Series, read, write


def two_images(folder: Path, suffix: str, rng: np.random.Generator) -> tuple[Path, list[Picture], list[str]]:
    """A file with an image of 16 x 12 and a second one of 9 x 10, and the names that select them."""
    cases.need(suffix)
    path = folder / f"a{suffix}"
    pixels = [cases.some(rng, "uint16", (16, 12)), cases.some(rng, "uint16", (9, 10))]
    match suffix:
        case ".fits":
            from astropy.io import fits

            parts = [fits.ImageHDU(each, name=name) for each, name in zip(pixels, ("SCI", "ERR"), strict=True)]
            fits.HDUList([fits.PrimaryHDU(), *parts]).writeto(path)
            names = ["SCI", "err"]
        case ".npz":
            np.savez(path, left=pixels[0], right=pixels[1])
            names = ["left", "right"]
        case _:
            import tifffile

            with tifffile.TiffWriter(path, ome=suffix == ".ome.tif") as writer:
                for each, name, step in zip(pixels, ("one", "two"), (0.5, 0.25), strict=True):
                    writer.write(each, metadata={"axes": "YX", "Name": name, "PhysicalSizeX": step})
            names = ["one", "two"] if suffix == ".ome.tif" else ["0", "1"]
    return path, [Picture(each) for each in pixels], names


@pytest.mark.parametrize("suffix", [".fits", ".tif", ".ome.tif", ".npz"])
def test_each_image_is_read_and_written(tmp_path: Path, suffix: str, rng: np.random.Generator) -> None:
    path, expected, names = two_images(tmp_path, suffix, rng)
    first = {".fits": 1}.get(suffix, 0)
    for i, picture in enumerate(expected):
        for wanted in (first + i, str(first + i), names[i]):
            np.testing.assert_array_equal(read(path, series=wanted).pixels, picture.pixels)
        chosen = read(path, series=first + i)
        write(tmp_path / f"b{suffix}", chosen.replace(picture.pixels // 2), overwrite=True)
        back = read(tmp_path / f"b{suffix}", series=first + i if suffix == ".fits" else None)
        np.testing.assert_array_equal(back.pixels, picture.pixels // 2)
        assert dict(back.spacing) == dict(chosen.spacing)
    if suffix != ".npz":  # whose images have equal rights
        np.testing.assert_array_equal(read(path).pixels, expected[0].pixels)
        assert [each.shape for each in read(path).series] == [(16, 12), (9, 10)]
        assert "it holds 2 images, of which" in read(path).notes[-1]
    refused(path, r"no image '7': choose one of \d", series=7)
    refused(path, names[1].upper() if suffix == ".fits" else names[1], series="none")


@pytest.mark.parametrize("suffix", [".png", ".npy", ".nii", ".zarr"])
def test_a_file_with_one_image_has_no_other(tmp_path: Path, suffix: str, rng: np.random.Generator) -> None:
    cases.need(suffix)
    write(tmp_path / f"a{suffix}", cases.some(rng, "uint8", (16, 12)))
    assert read(tmp_path / f"a{suffix}", series=0).series == ()
    refused(tmp_path / f"a{suffix}", r"no image '1': choose one of 0 \(16 x 12 uint8\)", series=1)


def test_many_images_are_not_all_listed(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **{f"slice{i}": np.zeros((4, 4)) for i in range(200)})
    refused(tmp_path / "a.npz", r"choose one of 0 slice0, .*, \.\.\.", series=200)
    assert str(Series(3)) == "3" and str(Series(3, "VAR", (2, 2))) == "3 VAR (2 x 2)"


def test_the_history_of_a_chosen_hdu_reproduces_the_work(tmp_path: Path, rng: np.random.Generator) -> None:
    from importlib.metadata import version

    path, pictures, _ = two_images(tmp_path, ".fits", rng)
    goal = tmp_path / "b.fits"
    asked = ["denoise", str(path), "--hdu", "ERR", "--sigma", "900", "--preset", "fast"]
    assert main([*asked, "-o", str(goal)]) == 0
    np.testing.assert_array_equal(read(goal, series="SCI").pixels, pictures[0].pixels)
    assert (read(goal, series="ERR").pixels != pictures[1].pixels).any()

    from astropy.io import fits

    history = "".join(fits.getheader(goal, "ERR")["HISTORY"])
    assert f"epitomes {version('epitomes')}: epitomes denoise" in history and "--hdu ERR --sigma 900" in history
    assert "noise: Gaussian, sigma 900" in history and "method: fast" in history
    assert "HISTORY" not in fits.getheader(goal, "SCI")


@pytest.mark.slow
def test_info_and_denoise_take_the_choice(
    tmp_path: Path, rng: np.random.Generator, capfd: pytest.CaptureFixture[str]
) -> None:
    path, _, _ = two_images(tmp_path, ".tif", rng)
    assert main(["info", str(path), "--series", "1", "--json"]) == 0
    facts = json.loads(capfd.readouterr().out)
    assert facts["shape"] == [9, 10] and [each["shape"] for each in facts["series"]] == [[16, 12], [9, 10]]
    assert main(["info", str(path), "--hdu", "2"]) == 3
    assert "choose one of 0 (16 x 12 uint16), 1 (9 x 10 uint16)" in capfd.readouterr().err
    assert main(["info", str(path)]) == 0
    assert "  series 1 (9 x 10 uint16)\n" in capfd.readouterr().out
    asked = ("--sigma", "9", "--preset", "fast")
    assert main(["denoise", str(path), "--series", "0", "-o", str(tmp_path / "b.tif"), *asked]) == 0
    assert read(tmp_path / "b.tif").pixels.shape == (16, 12)
