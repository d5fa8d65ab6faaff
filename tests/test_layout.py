"""Layouts: every reading of every shape, and the way to pictures with channels last and back."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from epitomes.layout import Layout

SHAPES = [(2, 3, 4, 5, 6)[:n] for n in range(1, 6)]
READINGS = [
    (shape, axis, spatial)
    for shape in SHAPES
    for axis in (None, *range(len(shape)))
    for spatial in range(1, 4)
    if spatial <= len(shape) - (axis is not None)
]


@pytest.mark.parametrize(("shape", "axis", "spatial"), READINGS)
class TestReadings:
    def test_there_and_back(self, shape: tuple[int, ...], axis: int | None, spatial: int) -> None:
        layout = Layout.of(shape, axis, spatial)
        image = np.arange(np.prod(shape)).reshape(shape)
        canonical = layout.canonical(image)
        assert np.shares_memory(canonical, image)
        assert canonical.shape == (*layout.stack_shape, *layout.picture_shape)
        back = layout.original(canonical)
        assert back.flags.c_contiguous
        np.testing.assert_array_equal(back, image)

    def test_the_axes_fall_into_three(self, shape: tuple[int, ...], axis: int | None, spatial: int) -> None:
        layout = Layout.of(shape, axis, spatial)
        rest = [length for at, length in enumerate(shape) if at != axis]
        assert layout.stack_shape == tuple(rest[:-spatial])
        channels = () if axis is None else (shape[axis],)
        assert layout.picture_shape == (*rest[-spatial:], *channels)
        assert layout.n_channels == (None if axis is None else shape[axis])
        assert layout.noun == {1: "signal", 2: "image", 3: "volume"}[spatial]

    def test_places_are_all_pictures(self, shape: tuple[int, ...], axis: int | None, spatial: int) -> None:
        layout = Layout.of(shape, axis, spatial)
        canonical = layout.canonical(np.arange(np.prod(shape)).reshape(shape))
        pictures = [canonical[place] for place in layout.places()]
        assert all(picture.shape == layout.picture_shape for picture in pictures)
        seen = np.concatenate([picture.reshape(-1) for picture in pictures])
        np.testing.assert_array_equal(np.sort(seen), np.arange(np.prod(shape)))

    def test_axes_from_the_end(self, shape: tuple[int, ...], axis: int | None, spatial: int) -> None:
        if axis is not None:
            assert Layout.of(shape, axis - len(shape), spatial) == Layout.of(shape, axis, spatial)

    def test_what_broadcasts_follows(self, shape: tuple[int, ...], axis: int | None, spatial: int) -> None:
        """A map with axes of length 1, as those of a noise model."""
        layout = Layout.of(shape, axis, spatial)
        small = np.ones([1 if at % 2 else length for at, length in enumerate(shape)])
        whole = np.broadcast_to(small, shape)
        np.testing.assert_array_equal(
            np.broadcast_to(layout.canonical(small), layout.canonical(whole).shape), layout.canonical(whole)
        )


def test_without_a_number_all_axes_are_spatial() -> None:
    assert Layout.of((64, 256, 256)).spatial == 3 and Layout.of((64, 256, 256)).stack_shape == ()
    assert Layout.of((64, 256, 256), channel_axis=0).spatial == 2
    assert Layout.of((7,)).noun == "signal" and Layout.of((7, 9, 3), channel_axis=-1).noun == "image"


def test_there_is_one_place_without_a_stack() -> None:
    assert list(Layout.of((5, 6)).places()) == [()]
    assert list(Layout.of((2, 2, 5, 6), spatial=2).places()) == list(itertools.product(range(2), repeat=2))


@pytest.mark.parametrize(
    ("shape", "given", "error", "words"),
    [
        ((), {}, ValueError, r"shape \(\) has no spatial axis: pass an image of shape \(height, width\)"),
        ((), {"spatial": 2}, ValueError, "has no spatial axis"),
        ((3,), {"channel_axis": 0}, ValueError, r"shape \(3,\), channels only, has no spatial axis"),
        ((2, 3, 4, 5), {}, ValueError, "has 4 axes besides channels, .* pass spatial=2 .* or spatial=3"),
        ((2, 3, 4, 5, 6), {"channel_axis": 1}, ValueError, "has 4 axes besides channels"),
        ((4, 5), {"spatial": 3}, ValueError, r"spatial=3 does not fit an array of shape \(4, 5\): .* between 1 and 2"),
        ((4, 5), {"spatial": 2, "channel_axis": 1}, ValueError, "with channel_axis=1: it must be between 1 and 1"),
        ((2, 3, 4, 5), {"spatial": 4}, ValueError, "spatial=4 .* between 1 and 3"),
        ((4, 5), {"spatial": 0}, ValueError, "spatial must be at least 1, got 0"),
        ((4, 5), {"spatial": 1.0}, TypeError, "spatial must be a whole number, got 1.0"),
        ((4, 5), {"spatial": True}, TypeError, "spatial must be a whole number, got True"),
        ((4, 5), {"channel_axis": 2}, ValueError, r"channel_axis 2 is out of range .* between -2 and 1"),
        ((4, 5), {"channel_axis": -3}, ValueError, "channel_axis -3 is out of range"),
        ((4, 5), {"channel_axis": "last"}, TypeError, "channel_axis must be a whole number or None, got 'last'"),
        ((4, 5), {"channel_axis": 1.0}, TypeError, "channel_axis must be a whole number or None, got 1.0"),
    ],
)
def test_wrong_readings(shape: tuple[int, ...], given: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Layout.of(shape, **given)


@pytest.mark.parametrize(
    ("shape", "axis", "spatial", "plane", "n"),
    [
        ((5, 6), None, None, (5, 6), 1),
        ((3, 5, 6), 0, None, (5, 6), 3),
        ((2, 4, 5, 6), 1, 2, (5, 6), 8),
        ((7,), None, None, (7,), 1),
    ],
)
def test_planes_are_views_of_every_pixel(
    shape: tuple[int, ...], axis: int | None, spatial: int | None, plane: tuple[int, ...], n: int
) -> None:
    image = np.zeros(shape)
    planes = Layout.of(shape, axis, spatial).planes(image)
    assert [each.shape for each in planes] == [plane] * n
    for each in planes:
        each += 1
    assert (image == 1).all()
