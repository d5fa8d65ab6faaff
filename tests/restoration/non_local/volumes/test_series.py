"""Time series of volumes: time points together where that pays, each by itself where it does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.ndimage import gaussian_filter

from epitomes import denoise, restore
from epitomes.formats import Picture
from epitomes.layout import Layout
from epitomes.restoration import NonLocal
from epitomes.restoration._stack import parts_of
from epitomes.restoration.non_local.volumes import windows
from epitomes.restoration.non_local.volumes.arrangement import STILL
from epitomes.restoration.non_local.volumes.method import Whole
from epitomes.restoration.non_local.volumes.series import FEWEST, MOST, Series

SIGMA = 20.0

Floats = NDArray[np.float64]


def detailed(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    return np.asarray(100 + 200 * gaussian_filter(rng.standard_normal(shape), 1.2, mode="wrap"))


def lasting(times: int, shape: tuple[int, int, int], rng: np.random.Generator) -> Floats:
    """A volume that becomes brighter in one half and darker in the other."""
    scene = detailed(shape, rng)
    gain = np.linspace(0.9, 1.1, times)[:, None, None, None]
    return np.where(np.arange(shape[2]) < shape[2] // 2, gain, 2 - gain) * scene


def error(estimate: Floats, clean: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(estimate - clean))))


@pytest.mark.parametrize(("side", "most"), [(2000, FEWEST), (256, 16), (90, MOST)])
def test_windows_hold_every_time_point_once(side: int, most: int) -> None:
    for n in range(1, 300, 7):
        found = windows(n, side * side)
        assert [t for window in found for t in window] == list(range(n))
        lengths = [len(window) for window in found]
        assert len(found) == -(-n // most) and max(lengths) - min(lengths) <= 1


@pytest.mark.slow
def test_many_volumes_that_vary_in_few_ways_help_each_other_most() -> None:
    """As in diffusion imaging: each voxel has one of a few curves over the directions."""
    rng = np.random.default_rng(6)
    curves, parts = 1 + 0.4 * rng.standard_normal((4, 24)), np.abs(detailed((4, 6, 24, 24), rng))
    clean = np.einsum("kt,kzyx->tzyx", curves, parts)
    noisy = clean + SIGMA * rng.standard_normal(clean.shape)
    together = restore(noisy, SIGMA, spatial=3, method=NonLocal(preset="fast"))
    assert together.how.startswith("24 volumes together, by what they share")
    some = [denoise(noisy[k : k + 4], SIGMA, spatial=3, method=NonLocal(preset="fast")) for k in range(0, 24, 4)]
    assert error(together.image, clean) < 0.75 * error(np.concatenate(some), clean)


@pytest.mark.slow
def test_time_points_help_each_other(rng: np.random.Generator) -> None:
    clean = lasting(4, (6, 28, 28), rng)
    noisy = clean + SIGMA * rng.standard_normal(clean.shape)
    restored = restore(noisy, SIGMA, spatial=3, preset="balanced")
    alone = denoise(noisy, SIGMA, spatial=3, method=NonLocal(times="single"))
    assert restored.how.startswith("4 time points together, groups ")
    assert error(restored.image, clean) < 0.85 * error(alone, clean)
    for preset in ("fast", "best"):
        method = NonLocal(preset=preset, times="joined", planes="still")
        assert error(denoise(noisy, SIGMA, spatial=3, method=method), clean) < 0.85 * error(alone, clean)


@pytest.mark.slow
def test_unrelated_volumes_are_denoised_one_by_one(rng: np.random.Generator) -> None:
    clean = np.stack([detailed((6, 28, 28), rng) for _ in range(3)])
    noisy = clean + SIGMA * rng.standard_normal(clean.shape)
    restored = restore(noisy, SIGMA, spatial=3, preset="balanced")
    assert restored.how.startswith("each time point by itself, groups ")
    single = denoise(noisy, SIGMA, spatial=3, method=NonLocal(planes="single"))
    assert error(restored.image, clean) < error(single, clean)


def test_one_by_one_is_as_each_alone(rng: np.random.Generator) -> None:
    noisy = lasting(3, (4, 20, 20), rng) + SIGMA * rng.standard_normal((3, 4, 20, 20))
    method = NonLocal(planes="still", times="single")
    found = denoise(noisy, SIGMA, spatial=3, method=method)
    np.testing.assert_array_equal(found, np.stack([denoise(each, SIGMA, method=method) for each in noisy]))


def test_threads_channels_and_dtypes(rng: np.random.Generator) -> None:
    clean = np.stack([lasting(2, (4, 20, 20), rng)] * 3, axis=-1)
    noisy = (clean + SIGMA * rng.standard_normal(clean.shape)).clip(0, 255).astype(np.uint8)
    before = noisy.copy()
    method = NonLocal(planes="still", times="joined")
    one, three = (denoise(noisy, SIGMA, channel_axis=-1, spatial=3, method=method, threads=n) for n in (1, 3))
    assert one.dtype == np.uint8 and one.tobytes() == three.tobytes()
    np.testing.assert_array_equal(noisy, before)
    first = denoise(np.moveaxis(noisy, -1, 2), SIGMA, channel_axis=2, spatial=3, method=method)
    np.testing.assert_array_equal(np.moveaxis(first, 2, -1), one)


def test_time_points_as_frequencies(rng: np.random.Generator) -> None:
    """In units of the noise of each, orthonormal cosines over time, all channels of a frequency together; and back."""
    volumes = [rng.standard_normal((2, 5, 6, 2)) for _ in range(3)]
    series, whole = Series(volumes, [1.0, 2.0, 4.0]), Whole(0.5, 1.0, None, STILL)
    planes = list(series.planes(whole))
    units = np.stack([(each - 0.5) / sigma for each, sigma in zip(volumes, (1.0, 2.0, 4.0), strict=True)])
    expected = dct(units, axis=0, norm="ortho")
    assert len(planes) == 2 and planes[0].shape == (6, 5, 6)
    np.testing.assert_allclose(planes[1][5], expected[2, 1, :, :, 1], rtol=1e-4, atol=1e-5)
    lasting = [np.full((2, 5, 6, 2), 40.0 * sigma) for sigma in (1.0, 2.0, 4.0)]
    back = Series(lasting, [1.0, 2.0, 4.0]).estimate(replace(whole, mean=0.0), [], np.float64, 1, lambda share: None)
    np.testing.assert_allclose(back, lasting, rtol=1e-5)  # by the pilot alone, which keeps means


def test_progress_rises_over_windows(rng: np.random.Generator) -> None:
    told: list[float] = []
    noisy = lasting(130, (4, 12, 12), rng) + SIGMA * rng.standard_normal((130, 4, 12, 12))
    method = NonLocal(preset="fast", planes="still", times="joined")
    restored = restore(noisy, SIGMA, spatial=3, method=method, callback=lambda fraction, stage: told.append(fraction))
    assert told == sorted(told) and told[-1] == 1.0
    assert restored.how == f"65 time points together, {STILL.words}"


def test_what_may_be_joined() -> None:
    def sizes(method: NonLocal, layout: Layout) -> list[int]:
        return [len(part) for part in parts_of(method, layout)]

    volumes = Layout.of((3, 4, 16, 16), None, 3)
    assert sizes(NonLocal(), volumes) == [3]
    assert sizes(NonLocal(), Layout.of((3, 16, 16), None, 2)) == [1, 1, 1]
    assert sizes(NonLocal(times="single"), volumes) == [1, 1, 1]
    assert sizes(NonLocal(planes="single"), Layout.of((2, 4, 16, 16, 3), -1, 3)) == [1, 1]
    with pytest.raises(ValueError, match="times"):
        NonLocal(times="together")


class TestChannelsBetweenPlanes:
    """Axes ZCYX: stains of a stack, as microscopes store them."""

    @pytest.fixture
    def clean(self) -> Floats:
        rng = np.random.default_rng(3)
        first, second = detailed((8, 32, 32), rng), detailed((8, 32, 32), rng)
        return np.stack([first, 40 + 0.4 * first + 0.2 * second], axis=1)

    @pytest.fixture
    def noisy(self, clean: Floats) -> Floats:
        return clean + SIGMA * np.random.default_rng(4).standard_normal(clean.shape)

    def test_what_they_share_is_denoised_once(self, clean: Floats, noisy: Floats) -> None:
        picture = Picture(noisy, "ZCYX")
        joint = restore(picture, SIGMA, method=NonLocal(preset="fast", planes="still"))
        assert "by what they share" in joint.how and joint.image.shape == noisy.shape
        alone = denoise(picture, SIGMA, method=NonLocal(preset="fast", planes="still", times="single"))
        flat = denoise(noisy, SIGMA, spatial=2, method=NonLocal(preset="fast"))
        errors = [np.std(each - clean, axis=(0, 2, 3)) for each in (joint.image, alone, flat)]
        assert (errors[0] < 0.97 * errors[1]).all() and (errors[1] < 0.9 * errors[2]).all()
        assert joint.noisy.shape == joint.estimate.shape == (2, 8, 32, 32) and joint.layout.stack_shape == (2,)
        assert joint.audit().verdict in ("pass", "warn")  # judged in the order of the volumes

    def test_the_order_of_axes_changes_no_bit(self, noisy: Floats) -> None:
        method = NonLocal(preset="fast", planes="still", times="mixed")
        between = denoise(Picture(noisy, "ZCYX"), SIGMA, method=method)
        first = denoise(Picture(np.moveaxis(noisy, 1, 0), "CZYX"), SIGMA, method=method)
        np.testing.assert_array_equal(between, np.moveaxis(first, 0, 1))
        np.testing.assert_array_equal(between, denoise(Picture(noisy, "ZCYX"), SIGMA, method=method, threads=2))

    def test_time_series_and_masks(self, noisy: Floats) -> None:
        series = Picture(np.stack([noisy, noisy[::-1]]), "TZCYX")
        mask = np.zeros(series.pixels.shape, bool)
        mask[0, 2, 1, 5, 7] = True
        restored = restore(series, SIGMA, mask=mask, method=NonLocal(preset="fast", planes="still", times="joined"))
        assert restored.how.startswith("2 time points together")
        assert restored.image.shape == series.pixels.shape
        changed = restored.image != series.pixels
        assert not changed[mask].any() and changed[~mask].mean() > 0.99

    def test_unrelated_channels_are_denoised_each_by_itself(self) -> None:
        rng = np.random.default_rng(5)
        clean = np.stack([detailed((8, 32, 32), rng) for _ in range(2)], axis=1)
        noisy = clean + SIGMA * rng.standard_normal(clean.shape)
        restored = restore(Picture(noisy, "ZCYX"), SIGMA, method=NonLocal(preset="fast", planes="still"))
        assert restored.how.startswith("each time point by itself")
