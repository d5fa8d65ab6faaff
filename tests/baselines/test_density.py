"""The probabilistic epitome: densities summed position by position, a likelihood that never falls, missing voxels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import norm

from epitomes.baselines import Density, Jojic, learn_density


def a_density(shape: tuple[int, ...], rng: np.random.Generator) -> Density:
    return Density(rng.standard_normal(shape), 0.3 + rng.random(shape))


def by_hand(density: Density, patch: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Logarithms of `p(z | T)` for all T, pixel by pixel."""
    found = np.zeros(density.shape)
    for place in np.ndindex(*density.shape):
        for pixel in np.ndindex(*patch.shape):
            at = tuple((t + i) % n for t, i, n in zip(place, pixel, density.shape, strict=True))
            if known[pixel]:
                found[place] += norm.logpdf(patch[pixel], density.mean[at], np.sqrt(density.variance[at]))
    return found


@pytest.mark.parametrize(("shape", "patch"), [((7,), (3,)), ((5, 6), (3, 2)), ((3, 4, 5), (2, 2, 3))])
def test_log_likelihood(shape: tuple[int, ...], patch: tuple[int, ...], rng: np.random.Generator) -> None:
    density, z = a_density(shape, rng), rng.standard_normal((2, *patch))
    known = rng.random(z.shape) < 0.7
    for mask, given in ((np.ones_like(known), None), (known, known)):
        expected = [np.log(np.mean(np.exp(by_hand(density, *pair)))) for pair in zip(z, mask, strict=True)]
        np.testing.assert_allclose(density.log_likelihood(z, given), expected, rtol=1e-10)


def test_what_is_expected_of_a_patch(rng: np.random.Generator) -> None:
    density, z = a_density((5, 6), rng), rng.standard_normal((3, 4))
    known = np.ones((3, 4), bool)
    known[1, 2] = False
    log_p = by_hand(density, z, known)
    q = np.exp(log_p - log_p.max())
    q /= q.sum()
    expected = np.zeros_like(z)
    for place in np.ndindex(*density.shape):
        for pixel in np.ndindex(*z.shape):
            at = tuple((t + i) % n for t, i, n in zip(place, pixel, density.shape, strict=True))
            m, v = density.mean[at], density.variance[at]
            share = max(0.0, v - 0.5) / v if known[pixel] else 0.0
            expected[pixel] += q[place] * (m + share * (z[pixel] - m))
    found = density.denoised(np.where(known, z, np.nan), (3, 4), noise_variance=0.5, known=known)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("shape", "epitome", "patch"), [((30, 30), (12, 12), (6, 6)), ((8, 16, 16), (4, 8, 8), (2, 4, 4))]
)
def test_the_likelihood_never_falls(
    shape: tuple[int, ...], epitome: tuple[int, ...], patch: tuple[int, ...], missing: bool, rng: np.random.Generator
) -> None:
    image = rng.standard_normal(shape).cumsum(axis=0).cumsum(axis=-1)
    known = rng.random(shape) < 0.6 if missing else None
    fit = learn_density(image, epitome, [patch], n_steps=12, most_patches=200, known=known, least_variance=0.1)
    assert all(after >= before - 1e-9 * abs(before) for before, after in itertools.pairwise(fit.log_likelihoods))
    assert fit.log_likelihoods[-1] > fit.log_likelihoods[0] + 1
    assert fit.density.variance.min() >= 0.1


@pytest.mark.slow
def test_a_clip_with_lost_voxels_is_completed() -> None:
    """A stripe that moves: what one frame lacks, others show."""
    t, y, x = np.indices((10, 24, 24))
    clip = 50.0 * (np.sin((x + 2 * t) / 2) > 0) + y
    known = np.random.default_rng(0).random(clip.shape) < 0.7
    known[4, 8:14, 8:14] = False
    lost = np.where(known, clip, np.nan)
    fit = learn_density(lost, (6, 20, 20), [(3, 8, 8), (2, 6, 6)], known=known, n_steps=8, most_patches=500)
    found = fit.density.denoised(lost, (2, 6, 6), known=known, stride=(1, 2, 2))
    mean = clip[known].mean()
    assert np.mean((found - clip)[~known] ** 2) < 0.25 * np.mean((mean - clip)[~known] ** 2)


def test_same_bits_for_any_threads(rng: np.random.Generator) -> None:
    image = rng.standard_normal((40, 40)).cumsum(axis=0)
    fits = [
        learn_density(image, (32, 32), [(8, 8)], n_steps=2, most_patches=600, threads=threads) for threads in (1, 2, 3)
    ]
    assert len({fit.density.mean.tobytes() + fit.density.variance.tobytes() for fit in fits}) == 1
    assert len({fits[0].density.denoised(image, 8, threads=threads).tobytes() for threads in (1, 3)}) == 1


def test_bad_settings() -> None:
    image = np.ones((20, 20))
    for wrong, words in (
        ({"shape": (6, 6), "patch_shapes": [(8, 8)]}, "do not fit in an epitome"),
        ({"shape": (6, 6), "patch_shapes": []}, "at least one shape"),
        ({"shape": (6, 6, 6), "patch_shapes": [(2, 2)]}, "shape needs 2 lengths"),
        ({"shape": (6, 6), "patch_shapes": [(2, 2)], "known": np.zeros((20, 20), bool)}, "known is False everywhere"),
        ({"shape": (6, 6), "patch_shapes": [(2, 2)], "least_variance": 0.0}, "least_variance"),
    ):
        with pytest.raises(ValueError, match=words):
            learn_density(image, **wrong)
    with pytest.raises(ValueError, match="variances must be above 0"):
        Density(np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="stride 9 leaves pixels out"):
        Jojic(stride=9)
    with pytest.raises(ValueError, match="epitome of side 10"):
        Jojic(side=10)
