"""What every registered baseline owes: the road of `restore`, the same bits, clear errors, and less noise."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from baseline_cases import CHAOTIC, QUICK, of_all
from restoration_cases import Doubles, Progress, psnr, shipped_picture, whole_methods, with_noise

from epitomes import Noise, baselines, denoise, plan, restore
from epitomes.baselines import METHODS, Baseline, Found
from epitomes.restoration import Method

SIGMA = 25.0
every_method = pytest.mark.parametrize("name", METHODS)
pytestmark = whole_methods


@pytest.fixture(scope="module")
def clean() -> Doubles:
    return shipped_picture()[96:144, 80:132]


@pytest.fixture(scope="module")
def noisy(clean: Doubles) -> Doubles:
    return with_noise(clean, SIGMA)


@pytest.fixture(scope="module")
def coloured(clean: Doubles) -> Doubles:
    piece = clean[:32, :32]
    return with_noise(np.stack([piece, 0.8 * piece + 20, piece.T], axis=-1), SIGMA)


def test_the_quick_settings_are_of_registered_methods() -> None:
    assert set(QUICK) <= set(METHODS)


@every_method
def test_it_is_a_method_with_a_name_in_print(name: str) -> None:
    kind = METHODS[name]
    assert getattr(baselines, kind.__name__) is kind and kind.__name__ in baselines.__all__
    assert issubclass(kind, Baseline) and dataclasses.is_dataclass(kind)
    assert isinstance(kind(), Method) and kind().label == kind.label
    with pytest.raises(dataclasses.FrozenInstanceError):
        kind().peak = 1.0  # type: ignore[misc]


@every_method
def test_less_noise_and_the_input_unchanged(name: str, clean: Doubles, noisy: Doubles) -> None:
    before, told = noisy.copy(), Progress()
    found = restore(noisy, SIGMA, method=of_all(name), callback=told)
    assert noisy.tobytes() == before.tobytes()
    assert psnr(clean, found.image) > psnr(clean, noisy) + 3
    assert found.plan.method.label == METHODS[name].label
    assert not found.unchanged
    assert told.fractions == sorted(told.fractions) and told.fractions[-1] == 1.0
    assert len(told.fractions) > 2 and all(told.stages)


@every_method
def test_same_bits_for_any_threads(name: str, noisy: Doubles, coloured: Doubles) -> None:
    for image, axis in ((noisy[:40, :40], None), (coloured, -1)):
        one, *others = (
            denoise(image, SIGMA, method=of_all(name), channel_axis=axis, rng=3, threads=threads)
            for threads in (1, 2, 3)
        )
        for other in others:
            assert one.tobytes() == other.tobytes()


@every_method
def test_stacks_units_and_dtypes(name: str, noisy: Doubles) -> None:
    small, method = noisy[:40, :40], of_all(name)
    whole = np.clip(np.rint(small), 0, 255).astype(np.uint8)
    stack = denoise(np.stack([whole, whole[::-1]]), SIGMA, method=method, spatial=2)
    assert stack.dtype == np.uint8 and stack.shape == (2, 40, 40)
    assert stack[0].tobytes() == denoise(whole, SIGMA, method=method).tobytes()
    unit = denoise((small / 256).astype(np.float32), SIGMA / 256, method=method)
    assert unit.dtype == np.float32
    differences = np.abs(256.0 * unit - denoise(small, SIGMA, method=method))
    assert differences.max() < (2.0 if name not in CHAOTIC else SIGMA)  # a threshold may tip
    assert differences.mean() < (0.05 if name not in CHAOTIC else SIGMA / 40)


@every_method
def test_other_noise_takes_the_same_road(name: str, clean: Doubles) -> None:
    counts = np.random.default_rng(0).poisson(clean[:40, :40] / 4).astype(np.float64)
    found = denoise(counts, noise=Noise.poisson_gaussian(1.0, 0.0), method=of_all(name))
    assert np.mean((found - clean[:40, :40] / 4) ** 2) < 0.6 * np.mean((counts - clean[:40, :40] / 4) ** 2)


@every_method
def test_impossible_sizes(name: str) -> None:
    least = METHODS[name].least_side
    with pytest.raises(ValueError, match=f"at least {least} x {least} pixels, got {least - 1} x 40"):
        denoise(np.zeros((least - 1, 40)), SIGMA, method=of_all(name))
    with pytest.raises(ValueError, match="two spatial axes"):
        denoise(np.zeros(100), SIGMA, method=of_all(name))


@every_method
@pytest.mark.parametrize("shape", [(0, 0), (0, 7)])
def test_the_smallest_images(name: str, shape: tuple[int, int]) -> None:
    least = METHODS[name].least_side
    noisy = 100 + with_noise(np.zeros((least + shape[0], least + shape[1])), SIGMA)
    found = denoise(noisy, SIGMA, method=of_all(name))
    assert found.shape == noisy.shape and np.isfinite(found).all()


@every_method
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_bad_peak(name: str, value: float) -> None:
    with pytest.raises(ValueError, match="peak"):
        METHODS[name](peak=value)


@every_method
def test_constant_images_and_outliers(name: str) -> None:
    flat = np.full((32, 32), 7.0)
    np.testing.assert_allclose(denoise(flat, 1.0, method=of_all(name)), flat, atol=1e-3)
    noisy = with_noise(flat, 1.0)
    noisy[5, 5] = 1e9
    found = restore(noisy, 1.0, method=of_all(name))
    assert found.image[5, 5] == pytest.approx(1e9) and "outliers" in " ".join(found.notes)
    assert np.delete(found.image.ravel(), 5 * 32 + 5).std() < 0.6


@every_method
def test_ctrl_c_between_two_parts(name: str, noisy: Doubles) -> None:
    def interrupt(fraction: float, stage: str) -> None:
        if 0 < fraction < 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        denoise(noisy, SIGMA, method=of_all(name), callback=interrupt)


def test_noise_of_bytes(noisy: Doubles) -> None:
    """Settings follow the noise relative to white, or to the contrast: the units of the image change nothing."""

    class Spy(Baseline):
        label, least_side = "spy", 1
        seen: list[float] = []  # noqa: RUF012

        def _denoised(self, scene: Any) -> Found:
            assert not scene.noisy.flags.writeable
            self.seen.append(scene.sigma)
            return Found(scene.noisy)

    for image, sigma, peak in ((noisy, SIGMA, 255.0), (noisy / 255, SIGMA / 255, 1.0)):
        denoise(image, sigma, method=Spy(peak=peak))
    for unit in (1.0, 100.0):
        denoise(unit * noisy, unit * SIGMA, method=Spy())
    assert Spy.seen[0] == pytest.approx(25.0) and Spy.seen[1] == pytest.approx(25.0)
    contrast = np.sqrt(np.var(noisy) - SIGMA**2)
    assert Spy.seen[2:] == pytest.approx([50 * SIGMA / contrast] * 2)


def test_a_plan_names_the_baseline(noisy: Doubles) -> None:
    text = str(plan(noisy, SIGMA, method=METHODS["wnnm"]()))
    assert "WNNM" in text
