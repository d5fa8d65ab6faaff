"""Extraction against a slow one written with loops; positions, crops, argument checks, memory."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from epitomes.kernels import reference_patches
from epitomes.patches import Patches

CASES = [  # image, patch, stride
    ((9,), (4,), (1,)),
    ((10,), (10,), (3,)),
    ((11, 13), (4, 3), (1, 1)),
    ((11, 13), (4, 3), (3, 2)),
    ((8, 9), (3, 3), (50, 50)),
    ((9, 8, 3), (4, 3, 3), (2, 3, 1)),
    ((6, 7, 8), (3, 2, 4), (2, 1, 3)),
    ((4, 5, 4, 3), (2, 3, 2, 3), (2, 2, 1, 1)),
]


def slow_positions(length: int, width: int, step: int) -> list[int]:
    return sorted({*range(0, length - width + 1, step), length - width})


def slow_rows(image: NDArray[np.floating], patch: tuple[int, ...], stride: tuple[int, ...], support=None):
    """Every patch, cut with slices; means in float64."""
    corners = itertools.product(*map(slow_positions, image.shape, patch, stride))
    cuts = [image[tuple(slice(a, a + w) for a, w in zip(corner, patch, strict=True))] for corner in corners]
    rows = np.array([cut.ravel() if support is None else cut[support] for cut in cuts])
    return rows, rows.mean(axis=1, dtype=np.float64)


def picture(shape: tuple[int, ...], dtype: type = np.float64, seed: int = 0) -> NDArray[np.floating]:
    return (100 + 30 * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "patch", "stride"), CASES)
def test_rows_are_the_windows(shape, patch, stride, dtype) -> None:
    image = picture(shape, dtype)
    plain = Patches(image, patch, stride, centred=False)
    expected, means = slow_rows(image, patch, stride)
    rows, zeros = plain.rows(0, plain.n_patches)
    assert rows.dtype == zeros.dtype == dtype
    assert rows.flags.c_contiguous and rows.flags.writeable
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(zeros, np.zeros(len(expected)))
    centred, removed = Patches(image, patch, stride).rows(0, plain.n_patches)
    eps = np.finfo(dtype).eps * 200 * plain.patch_size
    np.testing.assert_allclose(removed, means, atol=eps)
    np.testing.assert_allclose(centred, expected - means[:, None], atol=2 * eps)


@pytest.mark.parametrize(("shape", "patch", "stride"), CASES)
def test_supports(shape, patch, stride) -> None:
    image = picture(shape)
    for seed in range(5):
        support = np.random.default_rng(seed).random(patch) < 0.5
        support.flat[seed % support.size] = True
        patches = Patches(image, patch, stride, centred=False, support=support)
        assert patches.patch_size == support.sum() == len(patches.offsets)
        np.testing.assert_array_equal(patches.rows(0, len(patches))[0], slow_rows(image, patch, stride, support)[0])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(1, 7), st.integers(0, 6), st.integers(1, 9)), min_size=1, max_size=4))
def test_any_shape_and_stride(axes: list[tuple[int, int, int]]) -> None:
    patch, extra, stride = (tuple(column) for column in zip(*axes, strict=True))
    if np.prod(patch) * np.prod(np.add(extra, 1)) > 30_000:
        return
    image = picture(tuple(np.add(patch, extra)))
    patches = Patches(image, patch, stride, centred=False)
    expected, _ = slow_rows(image, patch, stride)
    assert len(patches) == patches.n_patches == len(expected) == np.prod(patches.grid_shape)
    np.testing.assert_array_equal(patches.rows(0, len(patches))[0], expected)
    if all(s <= w for s, w in zip(stride, patch, strict=True)):
        pixels = patches.starts(0, len(patches))[:, None] + patches.offsets
        assert set(pixels.ravel().tolist()) == set(range(image.size))  # every pixel is in some patch


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits_do_not_depend_on_the_block(dtype) -> None:
    patches = Patches(picture((70, 80), dtype), (8, 7))
    whole, means = patches.rows(0, len(patches))
    for block in (1, 7, 4096):
        for first in range(0, len(patches), block):
            last = min(first + block, len(patches))
            rows, removed = patches.rows(first, last)
            assert rows.tobytes() == whole[first:last].tobytes()
            assert removed.tobytes() == means[first:last].tobytes()
            if block == 1 and first > 500:
                break
    order = np.random.default_rng(1).permutation(len(patches))
    rows, removed = patches.at_index(order)
    assert rows.tobytes() == whole[order].tobytes()
    assert removed.tobytes() == means[order].tobytes()


def test_at_index_repeats_and_empties() -> None:
    patches = Patches(picture((9, 10)), 3, 2)
    rows, means = patches.at_index([4, 4, 0])
    whole, removed = patches.rows(0, len(patches))
    np.testing.assert_array_equal(rows, whole[[4, 4, 0]])
    np.testing.assert_array_equal(means, removed[[4, 4, 0]])
    assert patches.at_index(np.zeros(0, int))[0].shape == patches.rows(5, 5)[0].shape == (0, 9)
    for unsigned in (np.uint8, np.uint64):
        np.testing.assert_array_equal(patches.at_index(np.array([4], unsigned))[0], whole[[4]])


@pytest.mark.parametrize("centred", [True, False])
def test_crop_gives_the_same_rows_and_level(centred: bool) -> None:
    image = picture((20, 24), np.float32)
    support = np.random.default_rng(3).random((5, 4)) < 0.7
    patches = Patches(image, (5, 4), centred=centred, support=support)
    tile = patches.crop((slice(3, 15), slice(None, 11)))
    assert tile.level == patches.level != float(np.float32(tile.image.mean(dtype=np.float64)))
    assert (tile.centred, tile.patch_size) == (centred, patches.patch_size)
    index = np.arange(len(patches)).reshape(patches.grid_shape)[3:11, 0:8].ravel()
    for of_tile, of_whole in zip(tile.rows(0, len(tile)), patches.at_index(index), strict=True):
        assert of_tile.tobytes() == of_whole.tobytes()
    assert tile.crop((slice(1, 9), slice(0, 8))).level == patches.level


def test_level_is_the_mean_in_the_dtype_of_the_image() -> None:
    image = picture((30, 31), np.float32)
    assert Patches(image, 4).level == float(np.float32(image.mean(dtype=np.float64)))
    uneven = np.ones(1024, np.float32)
    uneven[0] = 2**24  # a sum in float32 loses the ones beside it
    assert Patches(uneven, 4).level == float(np.float32((2**24 + 1023) / 1024))
    assert Patches(image, 4, level=0.1).level == float(np.float32(0.1))
    assert Patches(image.astype(float), 4, level=0.1).level == 0.1
    for wrong, kind in ((np.nan, ValueError), (1e39, ValueError), ("1", TypeError), (True, TypeError)):
        with pytest.raises(kind, match="level"):
            Patches(image, 4, level=wrong)


def test_fields_are_clean_and_closed() -> None:
    image = picture((6, 7))
    support = np.ones((2, 3), bool)
    support[1, 1] = False
    patches = Patches(image, [np.int64(2), 3], stride=2, support=support)
    assert (patches.patch_shape, patches.stride, patches.patch_size) == ((2, 3), (2, 2), 5)
    assert np.shares_memory(patches.image, image) and image.flags.writeable
    support[:] = True
    assert patches.support is not None and patches.support.sum() == 5
    for locked in (patches.image, patches.support, patches.offsets, *patches.positions):
        assert not locked.flags.writeable
    with pytest.raises(AttributeError):
        patches.image = image  # type: ignore[misc]
    assert Patches(image, 2, support=np.ones((2, 2), bool)).support is None  # the full rectangle
    assert "9 rows of 5 pixels" in repr(patches) and "\n" not in repr(patches)


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"patch_shape": (8, 3)}, ValueError, r"patch_shape \(8, 3\) does not fit .*axis 0 has length 6.*needs 8"),
        ({"patch_shape": (3, 9)}, ValueError, r"axis 1 has length 7.*needs 9"),
        ({"patch_shape": (3,)}, ValueError, "patch_shape needs 2 lengths"),
        ({"patch_shape": (3, 0)}, ValueError, "patch_shape must be at least 1, got 0"),
        ({"patch_shape": (3, 2.5)}, TypeError, "patch_shape must be a whole number, got 2.5"),
        ({"patch_shape": (2**40, 2**40)}, (OverflowError, ValueError), "patch_shape"),
        ({"stride": 0}, ValueError, "stride must be at least 1, got 0"),
        ({"stride": (1, -2)}, ValueError, "stride must be at least 1, got -2"),
        ({"stride": (1, 1, 1)}, ValueError, "stride needs 2 lengths"),
        ({"stride": (1.0, 1)}, TypeError, "stride must be a whole number, got 1.0"),
        ({"stride": True}, TypeError, "stride must be a whole number"),
        ({"centred": 1}, TypeError, "centred must be True or False"),
        ({"support": np.ones((3, 3))}, TypeError, "support must be a bool array"),
        ({"support": np.ones((2, 3), bool)}, ValueError, r"support needs shape \(3, 3\)"),
        ({"support": np.zeros((3, 3), bool)}, ValueError, "support .* is False everywhere"),
        ({"image": np.float64(3.0)}, ValueError, "at least one axis"),
        ({"image": np.zeros((0, 4))}, ValueError, "image is empty"),
    ],
)
def test_errors_say_what_was_needed(arguments, kind, words) -> None:
    with pytest.raises(kind, match=words):
        Patches(**{"image": picture((6, 7)), "patch_shape": (3, 3), **arguments})


def test_ranges_and_windows_are_checked() -> None:
    patches = Patches(picture((6, 7)), 3)
    for first, last in ((0, 21), (5, 4), (21, 21)):
        with pytest.raises(ValueError, match="within the 20 patches"):
            patches.rows(first, last)
    with pytest.raises(ValueError, match="first must be at least 0, got -1"):
        patches.starts(-1, 3)
    with pytest.raises(IndexError, match=r"0 \.\.\. 19, got 20"):
        patches.at_index([3, 20])
    with pytest.raises(IndexError, match="got -1"):
        patches.at_index([3, -1])
    for indices in ([0.0], [True], [[1]], 3):
        with pytest.raises(TypeError, match="indices must be one row of whole numbers"):
            patches.at_index(indices)
    for window, kind, words in (
        ((slice(0, 6),), ValueError, "window needs 2 slices"),
        ((slice(0, 6), slice(-2, 5)), ValueError, "start of the window along axis 1 must be at least 0, got -2"),
        ((slice(0, 9), slice(0, 5)), ValueError, "axis 0 goes from 0 to 9, the image from 0 to 6"),
        ((slice(4, 4), slice(0, 5)), ValueError, "axis 0 goes from 4 to 4"),
        ((slice(0, 6, 2), slice(0, 5)), ValueError, "without a step"),
        ((0, slice(0, 5)), TypeError, "must be a slice, got 0"),
        ((slice(0, 2), slice(0, 5)), ValueError, "axis 0 has length 2, the patch needs 3"),
    ):
        with pytest.raises(kind, match=words):
            patches.crop(window)


def test_only_the_block_is_in_memory() -> None:
    """The patch matrix would be 62 times the image; neither making the object nor reading a block comes near."""
    image = np.random.default_rng(0).random((1500, 1400), np.float32)
    tracemalloc.start()
    patches = Patches(image, 8)
    making = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    rows, _ = patches.rows(700_000, 704_096)
    reading = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert making < image.nbytes
    assert reading < 8 * rows.nbytes  # rows, and in the reference kernel an index table


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_agree_with_their_specification(dtype) -> None:
    patches = Patches(picture((40, 50), dtype), (6, 5))
    starts = patches.starts(0, len(patches))
    for centre in (True, False):
        rows, means = reference_patches.gather(patches.image.reshape(-1), starts, patches.offsets, centre)
        ours = Patches(patches.image, (6, 5), centred=centre).rows(0, len(patches))
        tolerance = 0 if not centre else 8 * np.finfo(dtype).eps * 200
        np.testing.assert_allclose(ours[0], rows, rtol=0, atol=tolerance)
        np.testing.assert_allclose(ours[1], means, rtol=0, atol=tolerance)
