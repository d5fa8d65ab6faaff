"""Lazy Dask arrays: the bits of a whole image, whatever their chunks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from restoration_cases import colours, whole_methods, with_noise
from store_cases import SIGMA, deep_epitome, grey, stored, volume

from epitomes import denoise, read
from epitomes.adaptors import denoise_lazy
from epitomes.restoration import NonLocal, Patchwise
from epitomes.scale import denoise_store

pytestmark = [pytest.mark.slow, whole_methods]
da = pytest.importorskip("dask.array")

LEVEL = 10 * SIGMA


@pytest.mark.parametrize("chunks", [(40, 40), (64, 33), (150, 20)])
@pytest.mark.parametrize("stride", [1, 3])
def test_chunks_change_no_bit(tmp_path: Path, chunks: tuple[int, int], stride: int) -> None:
    pixels, method = grey(), NonLocal(preset="fast", stride=stride)
    lazy = denoise_lazy(da.from_array(pixels, chunks=chunks), LEVEL, method=method)
    assert lazy.shape == pixels.shape and lazy.dtype == pixels.dtype
    found = lazy.compute(scheduler="synchronous")
    np.testing.assert_array_equal(found, denoise(pixels, LEVEL, method=method))
    if chunks == (40, 40):
        result = denoise_store(stored(tmp_path, pixels), tmp_path / "out.zarr", LEVEL, method=method, tile=64)
        np.testing.assert_array_equal(found, read(result.path).pixels)


def test_balanced_colours_and_volumes() -> None:
    def same(pixels: Any, method: Any, level: float, chunks: Any, axis: int | None = None) -> None:
        lazy = denoise_lazy(da.from_array(pixels, chunks=chunks), level, method=method, channel_axis=axis)
        expected = denoise(pixels, level, method=method, channel_axis=axis)
        np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), expected)

    same(grey(330, 40), NonLocal(), LEVEL, (50, 40))
    coloured = np.moveaxis(with_noise(colours(60), SIGMA).astype(np.float32), -1, 0)
    same(coloured, NonLocal(preset="fast"), SIGMA, (1, 30, 25), 0)
    same(volume(), Patchwise(epitome=deep_epitome()), SIGMA, (5, 20, 40))
    same(volume(), NonLocal(preset="fast", planes="still"), SIGMA, (12, 20, 40))


def test_refused() -> None:
    with pytest.raises(TypeError, match="Dask array"):
        denoise_lazy(grey(), LEVEL)
    with pytest.raises(ValueError, match="preset='balanced'"):
        denoise_lazy(da.from_array(grey(), chunks=64), LEVEL, preset="best")
    with pytest.raises(ValueError, match="plane by plane"):
        denoise_lazy(da.from_array(volume(), chunks=20), SIGMA, preset="fast")
    pixels = grey(60, 60).astype(np.float32)
    pixels[40, 50] = np.nan
    lazy = denoise_lazy(da.from_array(pixels, chunks=32), LEVEL, preset="fast")
    with pytest.raises(ValueError, match="denoise_store"):
        lazy.compute(scheduler="synchronous")
