"""Arrays as people have them: each gives what a clean copy gives, or a clear error, and is never changed."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from epitomes.aggregate import Aggregator
from epitomes.patches import Patches

Image = NDArray[np.generic]


def reversed_view(a: Image) -> Image:
    return a[::-1].copy()[::-1]


def every_second(a: Image) -> Image:
    return np.repeat(np.repeat(a, 2, axis=0), 3, axis=-1)[::2][..., ::3]


def read_only(a: Image) -> Image:
    a = a.copy()
    a.flags.writeable = False
    return a


def unaligned(a: Image) -> Image:
    room = np.zeros(a.nbytes + 1, np.uint8)
    shifted = room[1:].view(a.dtype).reshape(a.shape)
    shifted[...] = a
    return shifted


def field(a: Image) -> Image:
    record = np.zeros(a.shape, [("tag", np.uint8), ("value", a.dtype)])
    record["value"] = a
    return record["value"]


LAYOUTS: dict[str, Callable[[Image], Image]] = {
    "clean": np.copy,
    "fortran": np.asfortranarray,
    "negative strides": reversed_view,
    "every second": every_second,
    "transposed": lambda a: a.T.copy().T,
    "read only": read_only,
    "swapped bytes": lambda a: a.astype(a.dtype.newbyteorder("S")),
    "unaligned": unaligned,
    "field of a record": field,
    "masked, nothing hidden": lambda a: np.ma.array(a, mask=False),
}
DTYPES = [np.uint8, np.uint16, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32, np.float64, np.longdouble]


def crc(a: Image) -> int:
    return zlib.crc32(np.asarray(a).tobytes())


def there_and_back(image: Image, patch: int | tuple[int, ...], stride: int = 1) -> tuple[NDArray[np.floating], ...]:
    patches = Patches(image, patch, stride)
    rows, means = patches.rows(0, len(patches))
    aggregator = Aggregator(patches)
    aggregator.add(0, rows + means[:, None])
    return patches.image, rows, means, aggregator.mean(noisy=image, blend=0.5)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    layout=st.sampled_from(sorted(LAYOUTS)),
    dtype=st.sampled_from(DTYPES),
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple),
    patch=st.integers(1, 4),
    stride=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_every_layout_and_dtype_is_like_a_clean_copy(layout, dtype, shape, patch, stride, seed) -> None:
    values = np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)
    ours = np.float32 if values.dtype.itemsize <= 2 or dtype == np.float32 else np.float64
    width = tuple(min(patch, n) for n in shape)
    clean = there_and_back(values.astype(ours), width, min(stride, *width))
    given_array = LAYOUTS[layout](values)
    before = crc(given_array)
    result = there_and_back(given_array, width, min(stride, *width))
    for got, expected in zip(result, clean, strict=True):
        assert got.dtype == ours
        assert got.tobytes() == expected.tobytes()
    assert crc(given_array) == before
    np.testing.assert_array_equal(np.asarray(given_array), values)


def test_memory_map(tmp_path: Path) -> None:
    values = np.random.default_rng(0).random((30, 20), np.float32)
    np.save(tmp_path / "picture.npy", values)
    for mode in ("r", "r+", "c"):
        mapped = np.load(tmp_path / "picture.npy", mmap_mode=mode)
        for got, expected in zip(there_and_back(mapped, 5), there_and_back(values, 5), strict=True):
            assert got.tobytes() == expected.tobytes()
        assert np.shares_memory(Patches(mapped, 5).image, mapped)  # read where it lies
        del mapped
    np.testing.assert_array_equal(np.load(tmp_path / "picture.npy"), values)


def test_a_clean_array_is_not_copied_and_stays_writeable() -> None:
    for dtype in (np.float32, np.float64):
        image = np.random.default_rng(0).random((12, 13)).astype(dtype)
        patches = Patches(image, 4)
        assert patches.image.base is image or np.shares_memory(patches.image, image)
        with pytest.raises(ValueError, match="read-only"):
            patches.image[0, 0] = 1
        rows, _ = patches.rows(0, 5)
        rows[:] = 0  # rows belong to the caller and not to the image
        image[0, 0] = 0.25
        assert patches.image[0, 0] == 0.25


def test_lists_are_images_too() -> None:
    np.testing.assert_array_equal(Patches([[1, 2], [3, 4]], 1, centred=False).rows(0, 4)[0].ravel(), [1, 2, 3, 4])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_what_is_not_finite_is_refused(dtype, bad) -> None:
    image = np.zeros((6, 7), dtype)
    image[2, 3] = image[4, 1] = bad
    with pytest.raises(ValueError, match=r"image holds 2 NaN or infinite values, the first at index \(2, 3\)"):
        Patches(image, 3)


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((5, 5), complex),
        np.zeros((5, 5), bool),
        np.full((5, 5), "a"),
        np.full((5, 5), None),
        np.zeros((5, 5), "datetime64[s]"),
    ],
    ids=lambda image: str(image.dtype),
)
def test_what_is_no_number_is_refused(image) -> None:
    with pytest.raises(TypeError, match="image must hold real numbers"):
        Patches(image, 3)


def test_masked_pixels_are_refused() -> None:
    image = np.ma.array(np.arange(30.0).reshape(5, 6), mask=False)
    image[1, 2] = np.ma.masked
    with pytest.raises(ValueError, match="mask"):
        Patches(image, 3)
    Patches(image.filled(0), 3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_whose_sums_overflow_are_refused(dtype) -> None:
    greatest = np.finfo(dtype).max
    for sign in (1, -1):
        with pytest.raises(ValueError, match=r"image holds values up to .* scale it below"):
            Patches(np.full((20, 20), sign * greatest / 8, dtype), 3)
    near = Patches(np.full((20, 20), greatest / 1000, dtype), 3)
    rows, means = near.rows(0, len(near))
    assert np.isfinite(rows).all() and np.isfinite(means).all() and np.isfinite(near.level)


def test_tiny_values_survive() -> None:
    image = np.full((6, 6), np.finfo(np.float32).smallest_subnormal, np.float32)
    rows, means = Patches(image, 2).rows(0, 25)
    np.testing.assert_array_equal(rows, 0)
    np.testing.assert_array_equal(means, image.flat[0])
