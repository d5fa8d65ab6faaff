"""Planes: they cover a picture once, and the one to show is in the middle."""

from __future__ import annotations

import format_cases as cases
import numpy as np
import pytest

from epitomes.formats import Picture, count_planes, joined, planes, shown_plane


@pytest.mark.parametrize(
    ("axes", "shape", "count", "kind"),
    [
        ("YX", (8, 9), 1, "YX"),
        ("YXC", (8, 9, 3), 1, "YXC"),
        ("YXC", (8, 9, 1), 1, "YX"),
        ("YXC", (8, 9, 5), 5, "YX"),
        ("CYX", (3, 8, 9), 3, "YX"),
        ("ZYX", (4, 8, 9), 4, "YX"),
        ("TZYXC", (2, 3, 8, 9, 3), 6, "YXC"),
        ("TCZYX", (2, 3, 4, 8, 9), 24, "YX"),
        ("YZX", (8, 4, 9), 4, "YX"),
    ],
)
def test_planes_cover_the_picture_once(
    axes: str, shape: tuple[int, ...], count: int, kind: str, rng: np.random.Generator
) -> None:
    picture = Picture(cases.some(rng, "uint16", shape), axes)
    found = list(planes(picture))
    assert len(found) == count_planes(picture) == count
    assert {plane.pixels.shape for plane in found} == {(8, 9, shape[-1]) if kind == "YXC" else (8, 9)}
    assert len({plane.label for plane in found}) == count
    covered = np.zeros(shape, int)
    for plane in found:
        covered[plane.index] += 1
        assert np.shares_memory(plane.pixels, picture.pixels)
    assert (covered == 1).all()
    again = joined(picture, (plane.pixels for plane in found))
    np.testing.assert_array_equal(again.pixels, picture.pixels)
    halves = joined(picture, (plane.pixels / 2 for plane in found))
    np.testing.assert_array_equal(halves.pixels, picture.pixels / 2)


def test_joining_other_planes_is_refused() -> None:
    picture = Picture(np.zeros((3, 8, 9)), "ZYX")
    with pytest.raises(ValueError, match="plane Z 1 needs the shape"):
        joined(picture, [np.zeros((8, 9)), np.zeros((9, 8)), np.zeros((8, 9))])
    with pytest.raises(ValueError, match="one dtype"):
        joined(picture, [np.zeros((8, 9)), np.zeros((8, 9), np.float32), np.zeros((8, 9))])
    with pytest.raises(ValueError, match="shorter"):
        joined(picture, [np.zeros((8, 9))])


def test_the_plane_to_show(rng: np.random.Generator) -> None:
    picture = Picture(cases.some(rng, "uint8", (3, 5, 8, 9, 3)), "TZYXC")
    middle = shown_plane(picture)
    assert middle.label == "T 1, Z 2"
    np.testing.assert_array_equal(middle.pixels, picture.pixels[1, 2])
    for number, plane in enumerate(planes(picture)):
        assert shown_plane(picture, number).label == plane.label
        np.testing.assert_array_equal(shown_plane(picture, number).pixels, plane.pixels)
    for number in (-1, 15):
        with pytest.raises(IndexError, match=r"15 planes.*use 0 to 14"):
            shown_plane(picture, number)
    single = shown_plane(Picture(np.zeros((8, 9))))
    assert (single.label, single.pixels.shape) == ("", (8, 9))
