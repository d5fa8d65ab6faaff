"""Collections: what they find, in which order, how it is cut, and what cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from scale_learn_cases import LAM, pictures, start

from epitomes.formats import ImageFileError, Picture, write
from epitomes.learn import smooth_noise
from epitomes.phi import windows
from epitomes.scale import Collection, Kind, code_shard, collection, planes


def read(images: Collection, n_axes: int = 2) -> dict[str, np.ndarray]:
    """All pictures by name, in their order."""
    members = [member for index in range(len(images)) for member in images.shard(index).members]
    return {name: pixels for member in members for name, pixels, _ in member.pictures(n_axes)}


def same(found: dict[str, np.ndarray], expected: Sequence[np.ndarray]) -> None:
    assert len(found) == len(expected)
    for pixels, wanted in zip(found.values(), expected, strict=True):
        np.testing.assert_array_equal(pixels, wanted)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four pictures in a tree, and what is none."""
    (tmp_path / "sub").mkdir()
    for name, pixels in zip(("b.png", "a.tif", "sub/c.png", "sub/d.tif"), pictures(4), strict=True):
        write(tmp_path / name, pixels)
    (tmp_path / "notes.txt").write_text("no picture")
    (tmp_path / ".hidden.png").write_text("hidden")
    return tmp_path


def test_folders_patterns_and_names(folder: Path) -> None:
    b, a, c, d = pictures(4)
    found = collection(folder, n_axes=2)
    same(read(found), [a, b])
    assert list(read(found)) == [str(folder / "a.tif"), str(folder / "b.png")]
    assert found.ignored == (str(folder / "notes.txt"),)
    same(read(collection(f"{folder}/**/*.tif", n_axes=2)), [a, d])
    same(read(collection([folder / "sub", str(folder / "b.png"), f"{folder}/*.png"], n_axes=2)), [c, d, b])
    for missing in (folder / "none.png", f"{folder}/*.jpg"):
        with pytest.raises(FileNotFoundError, match="no"):
            collection(missing, n_axes=2)
    (folder / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="suffix"):
        collection(folder / "empty", n_axes=2)


def test_shards_have_a_fixed_size_and_order() -> None:
    images = collection(pictures(7), n_axes=2, shard_size=3)
    assert [len(images.shard(index).members) for index in range(len(images))] == [3, 3, 1]
    assert str(images.shard(1)) == "shard 1 (picture 3 to picture 5)" and str(images.shard(2)).endswith("(picture 6)")
    same(read(images), pictures(7))
    others = [collection(pictures(7), n_axes=2, shard_size=2), collection(pictures(6), n_axes=2, shard_size=3)]
    assert collection(iter(pictures(7)), n_axes=2, shard_size=3).fingerprint == images.fingerprint
    assert images.fingerprint not in {other.fingerprint for other in others}


def test_arrays_need_not_be_in_memory() -> None:
    asked: list[int] = []

    class Lazy(Sequence[Any]):
        def __len__(self) -> int:
            return 5

        def __getitem__(self, number: Any) -> Any:
            asked.append(number)
            if number == 3:
                raise OSError("the disk\nis gone")
            return pictures(5)[number]

    images = collection(Lazy(), n_axes=2, shard_size=2)
    assert len(images) == 3 and asked == []
    found = code_shard(start(), images.shard(1), lam=LAM, sample=40)
    assert asked == [2, 3] and (found.n_pictures, found.n_skipped, found.count) == (1, 1, 40)
    assert (found.skipped[0].name, found.skipped[0].reason) == ("picture 3", "OSError: the disk is gone")


def test_leading_axes_count_pictures() -> None:
    stack = np.stack(pictures(6)).reshape(2, 3, 24, 26)
    same(read(collection(stack, n_axes=2)), pictures(6))
    assert collection(stack, n_axes=3).shard(0).members[1].pictures(3).__next__()[1].shape == (3, 24, 26)
    with pytest.raises(ValueError, match="no pictures of 5 axes"):
        collection(stack, n_axes=5)
    with pytest.raises(ValueError, match="empty"):
        collection([], n_axes=2)
    with pytest.raises(TypeError, match="source"):
        collection(3, n_axes=2)


@pytest.mark.parametrize("compressed", [False, True])
def test_stacks_are_read_in_parts(compressed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large TIFF stack is divided among shards; a small one is read as a whole, with the same pictures."""
    stack = np.stack(pictures(7))
    tifffile.imwrite(
        tmp_path / "stack.tif", stack, compression="zlib" if compressed else None, metadata={"axes": "ZYX"}
    )
    small = collection(tmp_path / "stack.tif", n_axes=2, shard_size=3)
    assert len(small) == 1
    monkeypatch.setattr(planes, "LARGE", 0)
    large = collection(tmp_path / "stack.tif", n_axes=2, shard_size=3)
    assert len(large) == 3 and str(large.shard(1)).endswith("stack.tif[3:6])")
    same(read(large), pictures(7))
    assert list(read(large)) == list(read(small)) == [f"{tmp_path / 'stack.tif'}[{number}]" for number in range(7)]
    assert large.kind(2) == small.kind(2) == Kind("uint8", 1)


@pytest.mark.parametrize("compressed", [False, True])
def test_colour_stacks(compressed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = np.random.default_rng(0).integers(0, 256, (5, 24, 26, 3)).astype(np.uint8)
    tifffile.imwrite(tmp_path / "stack.tif", stack, compression="zlib" if compressed else None, photometric="rgb")
    small = collection(tmp_path, n_axes=3, shard_size=2)
    monkeypatch.setattr(planes, "LARGE", 0)
    large = collection(tmp_path, n_axes=3, shard_size=2)
    assert (len(small), len(large)) == (1, 3) and large.n_channels() == small.n_channels() == 3
    same(read(large, 3), list(stack))
    same(read(small, 3), list(stack))


@pytest.mark.parametrize("axes", ["ZYX", "TCYX", "TYXC"])
def test_zarr_is_read_in_parts(axes: str, tmp_path: Path) -> None:
    shape = {"ZYX": (6, 24, 26), "TCYX": (3, 2, 24, 26), "TYXC": (6, 24, 26, 3)}[axes]
    stack = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint16)
    write(tmp_path / "stack.ome.zarr", Picture(stack, axes))
    n_axes = 3 if axes == "TYXC" else 2
    images = collection(tmp_path / "stack.ome.zarr", n_axes=n_axes, shard_size=4)
    assert len(images) == 2
    same(read(images, n_axes), list(stack.reshape(6, *shape[-n_axes:])))
    assert images.kind(n_axes) == Kind("uint16", 3 if axes == "TYXC" else 1)


def test_pictures_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    good, bad = pictures(2), tmp_path
    write(bad / "0.png", good[0])
    (bad / "1.png").write_bytes((bad / "0.png").read_bytes()[:200])
    write(bad / "2.png", np.zeros((4, 90), np.uint8))
    write(bad / "3.png", good[0].astype(np.uint16))
    write(bad / "4.png", np.zeros((30, 30, 3), np.uint8))
    write(bad / "5.npy", np.full((30, 30), np.nan))
    (bad / "6.png").write_bytes(b"")
    write(bad / "7.png", good[1])
    images = collection(bad, n_axes=2)
    found = code_shard(start(), images.shard(0), lam=LAM, sample=40, kind=images.kind(2))
    assert (found.n_pictures, found.n_skipped) == (2, 6)
    words = ("damaged", "fit", "uint16", "3 channels", "float", "no")
    for number, (each, word) in enumerate(zip(found.skipped, words, strict=True), start=1):
        assert Path(each.name).stem == str(number) and word in each.reason and "\n" not in each.reason, each
    with pytest.raises(ImageFileError, match=r"none of the first 1 pictures.*1\.png"):
        collection(bad / "1.png", n_axes=2).kind(2)


def test_colour_pictures(tmp_path: Path) -> None:
    """Colours of files and of arrays are the same kind; grey pictures among them are skipped."""
    pixels = np.random.default_rng(0).integers(0, 256, (30, 20, 3)).astype(np.uint8)
    write(tmp_path / "a.png", pixels)
    write(tmp_path / "b.png", pixels[..., 0])
    epitome = smooth_noise(windows((9, 9, 3), (4, 4, 3)))
    files = collection(tmp_path, n_axes=3)
    found = code_shard(epitome, files.shard(0), lam=LAM, sample=30, kind=files.kind(3))
    (beside,) = [code_shard(epitome, collection([pixels], n_axes=3).shard(0), lam=LAM, sample=30)]
    assert found.kind == beside.kind == Kind("uint8", 3) and found.n_skipped == 1
    assert found.gram.tobytes() == beside.gram.tobytes()
