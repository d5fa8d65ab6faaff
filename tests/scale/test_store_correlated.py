"""Correlated noise of stored images: filters at two scales and more have bounded reach, so tiles change no bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from restoration_cases import colours, shipped_picture, whole_methods
from scipy.ndimage import gaussian_filter
from store_cases import flat_epitome, stored, untiled

from epitomes import Noise, read
from epitomes.noise.correlated import measure_correlated
from epitomes.restoration import NonLocal, Patchwise
from epitomes.restoration.non_local.passes import AtomsPass, FeedbackPass
from epitomes.scale import denoise_store

pytestmark = [pytest.mark.slow, whole_methods]
pytest.importorskip("zarr")

COARSE = NonLocal(preset="fast", stride=4)  # the filter of the least reach


# Those of "balanced", with less reach.
PASSES = NonLocal(
    stride=4,
    passes=(
        AtomsPass(select_on_noisy=True),
        AtomsPass(search_radius=4, group_size=16),
        FeedbackPass(search_radius=4, group_size=16),
    ),
)


def correlated(shape: tuple[int, int], channels: int = 1, blur: float = 1.0) -> tuple[NDArray[np.float32], Noise]:
    """An image with noise of level 15, and its noise model, measured on pure noise."""
    rng = np.random.default_rng(0)
    clean = shipped_picture() if channels == 1 else colours(256)
    times = (-(-shape[0] // 256), -(-shape[1] // 256), 1)[: clean.ndim]
    clean = np.tile(clean, times)[: shape[0], : shape[1]]

    def noise(like: tuple[int, ...]) -> NDArray[Any]:
        drawn = gaussian_filter(rng.standard_normal(like), (blur, blur, 0)[: len(like)])
        return np.asarray(15 * drawn / drawn.std())

    sample = measure_correlated(noise((200, 200, channels)[: clean.ndim]))
    assert sample is not None
    return (clean + noise(clean.shape)).astype(np.float32), Noise.from_blocks(sample.spectrum)


@pytest.mark.parametrize(
    ("shape", "channels", "method", "tile"),
    [
        ((620, 16), 1, COARSE, 256),
        ((16, 620), 3, COARSE, 256),
        ((900, 16), 1, PASSES, 256),
        ((50, 60), 3, Patchwise(epitome=flat_epitome()), 16),
    ],
    ids=["tall", "wide colours", "passes", "paper"],
)
def test_tiles_change_no_bit(tmp_path: Path, shape: tuple[int, int], channels: int, method: Any, tile: int) -> None:
    pixels, noise = correlated(shape, channels)
    path = stored(tmp_path, pixels, "YXC" if channels > 1 else "")
    result = denoise_store(path, tmp_path / "out.zarr", noise=noise, method=method, tile=tile)
    assert result.n_tiles > 1 and result.halo[0] + tile < max(shape)  # no window holds the whole image
    np.testing.assert_array_equal(read(result.path).pixels, untiled(path, method, noise))


def test_three_scales_and_a_mask(tmp_path: Path) -> None:
    pixels, noise = correlated((900, 33))
    blocks = noise.blocks
    assert blocks is not None
    power = np.concatenate([blocks.power, blocks.power[-1:] / 4])
    noise = Noise.from_blocks(type(blocks)(power=power, brightness=blocks.brightness, level=blocks.level))
    pixels[300:330, 5:20] = np.nan
    path = stored(tmp_path, pixels)
    results = [denoise_store(path, tmp_path / f"{k}.zarr", noise=noise, method=COARSE, tile=k) for k in (256, 1024)]
    one, other = (read(result.path).pixels for result in results)
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one, untiled(path, COARSE, noise))
    assert results[0].halo[0] > 700


def test_noise_is_estimated_and_defects_are_named(tmp_path: Path) -> None:
    drawn = gaussian_filter(np.random.default_rng(0).standard_normal((200, 200)), 0.7)
    clean = np.linspace(50, 120, 200)
    pixels = (clean + 10 * drawn / drawn.std()).astype(np.float32)
    result = denoise_store(stored(tmp_path, pixels), tmp_path / "out.zarr", method=COARSE, tile=512)
    assert result.plan.noise.blocks is not None and abs(result.plan.noise.level / 10 - 1) < 0.1
    assert result.complete and not result.notes
    assert (read(result.path).pixels - clean).std() < 4
    rng = np.random.default_rng(1)
    pixels = rng.normal(100, 5, (150, 150)).astype(np.float32)
    pixels[rng.random(pixels.shape) < 0.01] = 255
    (tmp_path / "salt").mkdir()
    result = denoise_store(stored(tmp_path / "salt", pixels), tmp_path / "salt.zarr", preset="fast")
    assert "impulses (salt), in a part of the image: they are removed from whole images only" in result.notes[0]
    assert abs(result.plan.noise.level / 5 - 1) < 0.1
