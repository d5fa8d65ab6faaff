"""The same bits: whatever the threads, the layout in memory, the order of axes, and what stands beside a picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from restoration_cases import Doubles, colours, grey, with_noise

from epitomes import denoise, restore
from epitomes.restoration import NonLocal, Patchwise, Recipe

SIGMA = 25.0
METHODS: dict[str, Any] = {
    "fast": NonLocal(preset="fast"),
    "balanced": NonLocal(),
    "best": NonLocal(preset="best"),
    "paper": Patchwise(recipe=Recipe(n_steps=2, batch=500)),
    "paper, strong noise": Patchwise(recipe=Recipe(n_steps=2, batch=500), multiscale=True),
}
every_method = pytest.mark.parametrize("name", METHODS)
DTYPES = ["uint8", "uint16", "int32", "float16", "float32", "float64", ">u2", ">i4", ">f4", ">f8"]


@pytest.fixture(scope="module")
def noisy() -> Doubles:
    return with_noise(grey("camera", 48)[:36], SIGMA)


@pytest.fixture(scope="module")
def coloured() -> Doubles:
    return with_noise(colours(32), SIGMA)


@every_method
def test_threads(name: str, noisy: Doubles, coloured: Doubles) -> None:
    for image, axis in ((noisy, None), (coloured, -1)):
        one, *others = (
            restore(image, SIGMA, method=METHODS[name], channel_axis=axis, threads=threads) for threads in (1, 2, 3)
        )
        for other in others:
            assert one.image.tobytes() == other.image.tobytes()
            assert one.epitome is not None and other.epitome is not None
            assert one.epitome.pixels.tobytes() == other.epitome.pixels.tobytes()


@every_method
def test_alone_in_a_stack_and_in_a_volume(name: str, noisy: Doubles) -> None:
    alone = denoise(noisy, SIGMA, method=METHODS[name])
    many = np.stack([3 * noisy[::-1], noisy])
    stack = denoise(many, SIGMA, method=METHODS[name], spatial=2)
    volume = denoise(many[1:], SIGMA, method=METHODS[name])  # a volume of one plane
    deep = denoise(noisy[None, None], SIGMA, method=METHODS[name], spatial=2)
    assert alone.tobytes() == stack[1].tobytes() == volume[0].tobytes() == deep.tobytes()


@every_method
def test_the_place_of_the_channels(name: str, coloured: Doubles) -> None:
    last = denoise(coloured, SIGMA, method=METHODS[name], channel_axis=-1)
    assert last.tobytes() == denoise(coloured, SIGMA, method=METHODS[name], channel_axis=2).tobytes()
    for axis in (0, 1, -2):
        moved = np.moveaxis(coloured, -1, axis)
        found = denoise(moved, SIGMA, method=METHODS[name], channel_axis=axis)
        assert found.shape == moved.shape and found.flags.c_contiguous
        np.testing.assert_array_equal(np.moveaxis(found, axis, -1), last)


@every_method
def test_the_place_in_memory(name: str, noisy: Doubles) -> None:
    expected = denoise(noisy, SIGMA, method=METHODS[name])
    strided, reverse = np.repeat(noisy, 2, axis=1)[:, ::2], noisy[::-1].copy()[::-1]
    for image in (np.asfortranarray(noisy), strided, reverse, noisy.tolist(), noisy.astype(">f8")):
        np.testing.assert_array_equal(denoise(image, SIGMA, method=METHODS[name]), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["balanced", "paper"])
def test_dtype_out_is_dtype_in(name: str, dtype: str, noisy: Doubles) -> None:
    image = np.clip(np.rint(noisy), 0, 255).astype(dtype)
    kept = image.copy()
    image.flags.writeable = False
    for mask in (None, np.arange(image.size).reshape(image.shape) == 99):
        found = denoise(image, SIGMA, method=METHODS[name], mask=mask)
        assert found.dtype == image.dtype and found.dtype.str == image.dtype.str and found.shape == image.shape
        assert found.flags.writeable and not np.shares_memory(found, image)
        np.testing.assert_array_equal(image, kept)
    exact = denoise(image.astype(np.float64), SIGMA, method=METHODS[name], mask=mask)
    near = np.abs(found.astype(np.float64) - exact) < (0.51 if found.dtype.kind in "iu" else 0.13)
    assert near.mean() > 0.98  # a pursuit in float32 may stop one atom earlier or later


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint32", "uint64"])
def test_other_whole_numbers(dtype: str) -> None:
    image = np.clip(np.rint(with_noise(np.full((32, 32), 50.0), 10.0)), 0, 120).astype(dtype)
    found = denoise(image, 10.0, preset="fast")
    assert found.dtype == image.dtype and np.std(found) < 4


def test_whole_numbers_do_not_wrap_around() -> None:
    image = np.where(np.indices((40, 40)).sum(0) % 40 < 20, 0, 255).astype(np.uint8)
    exact = denoise(image.astype(np.float32), 60.0, preset="fast")
    assert exact.min() < 0 or exact.max() > 255  # else there is nothing to keep in range
    np.testing.assert_array_equal(denoise(image, 60.0, preset="fast"), np.clip(np.rint(exact), 0, 255))


@every_method
def test_the_same_call(name: str, noisy: Doubles) -> None:
    one, other = (denoise(noisy, SIGMA, method=METHODS[name]) for _ in range(2))
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", ["balanced", "paper"])
def test_a_mask_of_nothing(name: str, noisy: Doubles) -> None:
    plain, masked, both = (
        denoise(noisy, SIGMA, method=METHODS[name], mask=mask, fill=fill)
        for mask, fill in ((None, False), (np.zeros(noisy.shape, bool), False), (np.zeros(noisy.shape, int), True))
    )
    assert plain.tobytes() == masked.tobytes() == both.tobytes()
