"""`Picture`: what it accepts, what it keeps, and how it reads its axes."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from epitomes.formats import ImageFileError, Picture, read, write
from epitomes.layout import Layout

LENGTHS = {"T": 2, "Z": 4, "C": 3, "Y": 6, "X": 5}
ALL_AXES = sorted(
    "".join(letters)
    for n in range(2, 6)
    for letters in permutations("TZCYX", n)
    if {"Y", "X"} <= set(letters) and letters.index("Y") < letters.index("X")
)


def test_a_picture_keeps_what_it_is_given_and_changes_nothing(rng: np.random.Generator) -> None:
    pixels = np.asfortranarray(rng.standard_normal((4, 5)).astype(">f4"))
    picture = Picture(pixels, "YX", {"X": 0.5, "T": 3.0}, {"X": "um", "Y": "um"})
    assert picture.pixels.dtype == np.float32 and picture.pixels.flags.c_contiguous
    assert pixels.dtype == np.dtype(">f4") and pixels.flags.writeable
    assert dict(picture.spacing) == {"X": 0.5} and dict(picture.units) == {"X": "um"}
    with pytest.raises(ValueError, match="read-only"):
        picture.pixels[0, 0] = 1
    with pytest.raises(TypeError):
        picture.spacing["X"] = 1.0  # type: ignore[index]
    other = picture.replace(picture.pixels * 2)
    assert other.spacing == picture.spacing and other.axes == "YX" and other.pixels[0, 0] == 2 * picture.pixels[0, 0]
    with pytest.raises(ValueError, match="need the shape"):
        picture.replace(np.zeros((5, 4)))


@pytest.mark.parametrize(
    ("shape", "axes", "words"),
    [
        ((4, 4), "YXC", "name 3 axes"),
        ((4, 4), "YY", "each at most once"),
        ((4, 4), "YQ", "letters out of TZCYX"),
        ((4, 4), "XY", "transpose"),
        ((4, 4), "ZY", "need Y and, after it, X"),
        ((4, 0), "YX", "at least one pixel"),
        ((4,), "", "2 to 5 axes"),
        ((1,) * 6, "", "2 to 5 axes"),
    ],
)
def test_axes_that_make_no_sense(shape: tuple[int, ...], axes: str, words: str) -> None:
    with pytest.raises(ImageFileError, match=words):
        Picture(np.zeros(shape), axes)


def test_spacing_and_alpha_must_make_sense() -> None:
    for step in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ImageFileError, match="spacing must be finite and above 0"):
            Picture(np.zeros((4, 4)), "YX", {"X": step})
    with pytest.raises(ImageFileError, match="alpha needs the shape"):
        Picture(np.zeros((4, 4, 3)), "YXC", alpha=np.zeros((3, 4)))


# Axes


@pytest.mark.parametrize(
    ("axes", "shape", "channel_axis", "spatial"),
    [
        ("YX", (8, 9), None, 2),
        ("YXC", (8, 9, 3), 2, 2),
        ("YXC", (8, 9, 1), 2, 2),
        ("YXC", (8, 9, 7), 2, 2),  # a spectrum: it cannot count images, because it is last
        ("CYX", (3, 8, 9), 0, 2),  # planes of red, green and blue
        ("CYX", (2, 8, 9), None, 2),  # stains
        ("TCZYX", (2, 3, 4, 8, 9), 1, 3),
        ("ZYX", (4, 8, 9), None, 3),
        ("TYX", (4, 8, 9), None, 3),
        ("ZYXC", (4, 8, 9, 3), 3, 3),
        ("TYXC", (4, 8, 9, 3), 3, 3),
        ("TZYX", (2, 4, 8, 9), None, 3),
        ("CZYX", (2, 4, 8, 9), None, 3),
        ("ZCYX", (4, 2, 8, 9), None, 2),  # C separates Z from Y and X
        ("ZTYX", (4, 2, 8, 9), None, 3),
        ("TCZYX", (2, 2, 4, 8, 9), None, 3),
        ("TZCYX", (2, 4, 2, 8, 9), None, 2),
        ("TZYXC", (2, 4, 8, 9, 3), 4, 3),
        ("YZX", (8, 4, 9), None, 3),
        ("YXZ", (8, 9, 4), None, 3),
        ("YCX", (8, 3, 9), 1, 2),
    ],
)
def test_axes_give_channels_and_spatial_axes(
    axes: str, shape: tuple[int, ...], channel_axis: int | None, spatial: int
) -> None:
    picture = Picture(np.zeros(shape), axes)
    assert (picture.channel_axis, picture.spatial) == (channel_axis, spatial)
    assert picture.layout == Layout.of(shape, channel_axis, spatial)


def test_three_planes_of_a_file_are_stains_unless_they_are_called_colours(tmp_path: Path) -> None:
    write(tmp_path / "a.ome.tif", Picture(np.zeros((3, 8, 9), np.uint8), "CYX"))
    assert read(tmp_path / "a.ome.tif").channel_axis is None and read(tmp_path / "a.ome.tif").separate
    assert read(tmp_path / "a.ome.tif", axes="CYX").channel_axis == 0
    write(tmp_path / "a.tif", np.zeros((8, 9, 3), np.uint8))
    assert read(tmp_path / "a.tif").channel_axis == 2


@pytest.mark.parametrize("axes", ALL_AXES)
def test_every_image_of_the_layout_has_y_and_x(axes: str) -> None:
    """Whatever the order of the letters: images have Y and X, volumes Z, stacks the rest; or the axes are refused."""
    picture = Picture(np.zeros([LENGTHS[letter] for letter in axes]), axes)
    try:
        layout = picture.layout
    except ImageFileError as error:
        assert "T" in axes[axes.index("Y") :]  # only time may be in the way
        better = str(error).split("'")[3]
        assert sorted(better) == sorted(axes)
        assert Picture(np.zeros([LENGTHS[letter] for letter in better]), better).layout
        return
    inner = axes if layout.channel_axis is None else axes.replace("C", "")
    space, stack = inner[len(inner) - layout.spatial :], inner[: len(inner) - layout.spatial]
    assert set(space) == {"Y", "X"} or set(space) == {"Z", "Y", "X"} or space == "TYX"
    assert layout.stack_shape == tuple(LENGTHS[letter] for letter in stack)
    assert layout.picture_shape[: layout.spatial] == tuple(LENGTHS[letter] for letter in space)
    assert layout.n_channels == (None if layout.channel_axis is None else LENGTHS["C"])
    if "Z" in stack:  # only where another axis separates it
        assert stack[stack.index("Z") + 1 :] or space == "TYX"
    if "C" in stack:
        assert axes.index("C") < axes.index("Y")


def test_axes_that_no_layout_describes() -> None:
    picture = Picture(np.zeros((8, 9, 20)), "YXT")
    for name in ("spatial", "layout"):
        with pytest.raises(ImageFileError, match=r"'YXT' have T after Y: transpose the pixels to 'TYX'"):
            getattr(picture, name)
