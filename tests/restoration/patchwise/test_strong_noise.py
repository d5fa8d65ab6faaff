"""Strong noise: scales that keep noise white, a filter by its formula, images that gain from both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from restoration_cases import Doubles, psnr, shipped_picture

from epitomes import restore
from epitomes.coders import OLS
from epitomes.learn import natural, smooth_noise
from epitomes.phi import windows
from epitomes.restoration import NonLocal, Patchwise, Recipe
from epitomes.restoration.patchwise.strong_noise import (
    CLOSE,
    halved,
    is_strong,
    joined,
    multiscale_estimate,
    residual_feedback,
    wiener_estimate,
)

SIGMA = 85.0
EPITOME = smooth_noise(windows((14, 14), (5, 5)))


@pytest.fixture(scope="module")
def clean() -> Doubles:
    return np.asarray(shipped_picture()[40:168, 60:188], np.float64)


@pytest.fixture(scope="module")
def noisy(clean: Doubles) -> Doubles:
    return clean + SIGMA * np.random.default_rng(0).standard_normal(clean.shape)


class TestScales:
    @pytest.mark.parametrize("shape", [(64, 64), (65, 90), (64, 64, 3), (200,)])
    def test_noise_stays_white_and_gets_fainter(self, shape: tuple[int, ...]) -> None:
        noise = np.random.default_rng(1).standard_normal(shape)
        patch = tuple(3 if n == 3 else 8 for n in shape)
        small = halved(noise, patch)
        assert small.shape == tuple(n if n == 3 else (n + 1) // 2 for n in shape)
        expected = np.sqrt(small.size / noise.size)
        assert abs(small.std() / expected - 1) < 3 / np.sqrt(small.size)
        beside = np.mean(small[1:] * small[:-1]) / small.var()
        assert abs(beside) < 4 / np.sqrt(small.size)

    def test_a_flat_image_keeps_its_level(self) -> None:
        assert np.allclose(halved(np.full((40, 50), 7.0), (8, 8)), 7.0)

    def test_joining_an_image_with_its_own_half_changes_nothing(self, noisy: Doubles) -> None:
        assert np.allclose(joined(noisy, halved(noisy, (8, 8)), 0.6), noisy)

    def test_only_low_frequencies_come_from_the_coarse_image(self, noisy: Doubles) -> None:
        changed = joined(noisy, np.zeros((64, 64)), 0.5)
        again = halved(changed, (8, 8))
        assert abs(changed.mean()) < 1e-9
        assert np.allclose(halved(again, (8, 8)), 0, atol=1e-9)  # the lowest half of the coarse frequencies is gone
        assert np.var(changed) > 0.9 * 0.9 * SIGMA**2  # and the fine ones are not

    def test_small_axes_are_not_halved(self) -> None:
        assert halved(np.zeros((31, 32)), (8, 8)).shape == (31, 16)


class TestEstimates:
    def test_one_patch_by_the_formula(self, noisy: Doubles, clean: Doubles) -> None:
        x, p = noisy[60:65, 60:65].ravel(), clean[60:65, 60:65].ravel()
        D = EPITOME.dictionary
        a = OLS(residual=25 * (CLOSE * SIGMA / 10) ** 2).encode((p - p.mean())[None], D).toarray()[0]
        B = D.atoms[a != 0] * a[a != 0, None]
        centred = x - x.mean()
        # The minimum over w, written as the Wiener filter of a normal law: covariance times inverse of the sum.
        covariance = B.T @ B
        expected = x.mean() + covariance @ np.linalg.solve(covariance + (SIGMA / 10) ** 2 * np.eye(25), centred)
        found = wiener_estimate(noisy[60:65, 60:65], clean[60:65, 60:65], SIGMA / 10, EPITOME, None)
        assert a.any()
        assert np.allclose(found.ravel(), expected)

    def test_a_flat_pilot_leaves_means(self, noisy: Doubles) -> None:
        found = wiener_estimate(noisy[:5, :5], np.zeros((5, 5)), SIGMA, EPITOME, None)
        assert np.allclose(found, noisy[:5, :5].mean())

    def test_a_true_pilot_is_better_than_none(self, noisy: Doubles, clean: Doubles) -> None:
        epitome = natural(windows((20, 15, 15), (8, 8)))
        blind = restore(noisy, SIGMA, method=Patchwise(epitome=epitome)).image
        found = wiener_estimate(noisy, clean, SIGMA, epitome, None)
        assert psnr(clean, found) > psnr(clean, blind) + 2

    def test_threads_change_nothing(self, noisy: Doubles) -> None:
        one, two = (multiscale_estimate(noisy, SIGMA, EPITOME, 1.15, threads) for threads in (1, 2))
        assert np.array_equal(one, two)

    def test_residual_feedback_with_a_blend(self, noisy: Doubles) -> None:
        plain = residual_feedback(noisy, noisy * 0.5, SIGMA, EPITOME, 1.15, 0.0, None)[0]
        half = residual_feedback(noisy, noisy * 0.5, SIGMA, EPITOME, 1.15, 25.0, None)[0]
        assert np.allclose(half, (plain + noisy) / 2)


class TestMethod:
    @pytest.mark.slow
    def test_strong_noise_gains(self, noisy: Doubles, clean: Doubles) -> None:
        assert is_strong(noisy, 2 * SIGMA)
        once, twice = (restore(noisy, SIGMA, method=Patchwise(multiscale=on)) for on in (False, True))
        assert psnr(clean, twice.image) > psnr(clean, once.image) + 0.5
        assert twice.fit is not None

    @pytest.mark.slow
    def test_the_default_follows_the_noise(self, clean: Doubles) -> None:
        rng = np.random.default_rng(2)
        for sigma, expected in ((25.0, False), (120.0, True)):
            part = (clean + sigma * rng.standard_normal(clean.shape))[:72, :72]
            assert is_strong(part, sigma) == expected
            found = restore(part, sigma, method="paper").image
            assert np.array_equal(found, restore(part, sigma, method=Patchwise(multiscale=expected)).image)

    @pytest.mark.parametrize("given", [{"recipe": Recipe()}, {"epitome": EPITOME}], ids=lambda given: next(iter(given)))
    def test_an_epitome_or_a_recipe_is_used_as_it_is(self, given: dict[str, Any], noisy: Doubles) -> None:
        found, once = (restore(noisy, 2 * SIGMA, method=Patchwise(**given, multiscale=on)) for on in (None, False))
        assert np.array_equal(found.image, once.image)

    def test_units_do_not_matter(self, noisy: Doubles) -> None:
        method = Patchwise(epitome=EPITOME, multiscale=True)
        scaled = restore(noisy / 64, SIGMA / 64, method=method).image
        assert np.allclose(64 * scaled, restore(noisy, SIGMA, method=method).image)

    def test_float32_and_the_input(self, noisy: Doubles) -> None:
        small = noisy.astype(np.float32)
        kept = small.copy()
        found = restore(small, SIGMA, method=Patchwise(epitome=EPITOME, multiscale=True)).image
        assert found.dtype == np.float32
        assert np.array_equal(small, kept)

    def test_channels_and_small_images(self, noisy: Doubles) -> None:
        joint = smooth_noise(windows((14, 14, 3), (5, 5, 3)))
        colour = np.stack([noisy[:40, :40]] * 3, axis=-1)
        found = restore(colour, SIGMA, method=Patchwise(epitome=joint, multiscale=True), channel_axis=-1)
        assert found.image.shape == colour.shape
        tiny = noisy[:6, :7]
        found = restore(tiny, SIGMA, method=Patchwise(epitome=EPITOME, multiscale=True))
        assert found.image.shape == tiny.shape

    def test_the_pilot_of_the_non_local_method(self, noisy: Doubles, clean: Doubles) -> None:
        once, twice = (
            restore(noisy, SIGMA, method=NonLocal(preset="fast", multiscale=on)).image for on in (False, True)
        )
        assert psnr(clean, twice) > psnr(clean, once) + 0.3
