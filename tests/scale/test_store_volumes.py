"""Volumes by groups across planes: the stages reach a few planes and pixels, so tiles change no bit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from restoration_cases import shipped_picture, whole_methods, with_noise
from store_cases import SIGMA, stored, untiled

from epitomes import Noise, read
from epitomes.formats import Picture, write
from epitomes.noise import BlockSpectrum
from epitomes.restoration import NonLocal
from epitomes.scale import denoise_store

pytestmark = [pytest.mark.slow, whole_methods]
pytest.importorskip("zarr")


def slow_pan(planes: int, height: int, width: int, channels: int = 1) -> NDArray[np.float32]:
    """Planes that move by a pixel now and then."""
    clean = np.stack([shipped_picture()[k // 4 : k // 4 + height, 10 : 10 + width] for k in range(planes)])
    if channels > 1:
        clean = np.stack([(1 - 0.1 * c) * clean for c in range(channels)], axis=-1)
    return np.asarray(with_noise(clean, SIGMA), np.float32)


@pytest.mark.parametrize(
    ("shape", "method", "tile"),
    [
        ((50, 20, 18), NonLocal(preset="fast", planes="still"), (24, 32, 32)),
        ((8, 100, 18), NonLocal(preset="balanced", planes="still"), (8, 48, 32)),
        ((5, 18, 120), NonLocal(preset="balanced", planes="wide"), (3, 32, 48)),
        ((5, 18, 90, 3), NonLocal(preset="fast", planes="flat"), (5, 32, 32)),
        ((5, 200, 16), NonLocal(preset="best", planes="flat"), (5, 96, 16)),
    ],
    ids=["deep", "tall", "wide", "colours", "best"],
)
def test_tiles_change_no_bit(
    tmp_path: Path, shape: tuple[int, ...], method: NonLocal, tile: tuple[int, int, int]
) -> None:
    path = stored(tmp_path, slow_pan(*shape), "ZYX" + "C" * (len(shape) - 3))
    result = denoise_store(path, tmp_path / "out.zarr", SIGMA, method=method, tile=tile)
    assert result.n_tiles > 1
    assert any(side + halo < n for side, halo, n in zip(tile, result.halo, shape, strict=False))  # windows are smaller
    np.testing.assert_array_equal(read(result.path).pixels, untiled(path, method, Noise.gaussian(SIGMA)))


def test_the_arrangement_is_chosen_once_and_masks_and_workers_change_no_bit(tmp_path: Path) -> None:
    pixels, method = slow_pan(16, 34, 36), NonLocal(preset="fast")
    pixels[3:9, 10:22, 12:30] = np.nan
    write(tmp_path / "noisy.zarr", Picture(pixels, "ZYX", {"Z": 4.0, "Y": 1.0, "X": 1.0}, dict.fromkeys("ZYX", "um")))
    executor = partial(ThreadPoolExecutor, 3)
    results = [
        denoise_store(tmp_path / "noisy.zarr", tmp_path / f"{k}.zarr", SIGMA, method=method, tile=tile, executor=each)
        for k, (tile, each) in enumerate((((8, 32, 16), executor), (512, None)))
    ]
    one, other = (read(result.path).pixels for result in results)
    np.testing.assert_array_equal(one, other)
    chosen = results[0].plan.method
    assert isinstance(chosen, NonLocal) and chosen.spacing == 4.0  # as the file says
    np.testing.assert_array_equal(one, untiled(tmp_path / "noisy.zarr", chosen, Noise.gaussian(SIGMA)))


def test_time_points_are_taken_one_by_one(tmp_path: Path) -> None:
    pixels, method = np.stack([slow_pan(5, 16, 40), slow_pan(5, 16, 40)]), NonLocal(preset="fast", planes="flat")
    path = stored(tmp_path, pixels, "TZYX")
    result = denoise_store(path, tmp_path / "out.zarr", SIGMA, method=method, tile=(5, 16, 16))
    assert result.n_tiles == 6 and "one by one" in result.notes[0]
    alone = NonLocal(preset="fast", planes="flat", times="single")
    np.testing.assert_array_equal(read(result.path).pixels, untiled(path, alone, Noise.gaussian(SIGMA)))


@pytest.mark.parametrize(
    ("match", "method", "noise"),
    [
        ("aligned along their motion .* planes='wide'", NonLocal(planes="aligned"), Noise.gaussian(SIGMA)),
        ("little in common: use NonLocal", NonLocal(preset="fast"), Noise.gaussian(1.0)),
        (
            "correlated noise .*planes='single'",
            NonLocal(planes="still"),
            Noise.from_blocks(BlockSpectrum.white(400.0)),
        ),
    ],
    ids=["motion", "unrelated", "correlated"],
)
def test_refused(tmp_path: Path, match: str, method: NonLocal, noise: Noise) -> None:
    unrelated = np.stack([shipped_picture()[at : at + 40, at : at + 40] for at in (0, 70, 140, 210)])
    path = stored(tmp_path, np.asarray(unrelated, np.float32), "ZYX")
    with pytest.raises(ValueError, match=match):
        denoise_store(path, tmp_path / "out.zarr", noise=noise, method=method)
    assert [each.name for each in tmp_path.iterdir()] == ["noisy.zarr"]
