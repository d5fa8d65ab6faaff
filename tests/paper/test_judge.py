"""The judge is judged: known answers, and the same number computed another way."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from epitomes.coders import Lasso
from epitomes.epitome import Epitome
from epitomes.paper import judge
from epitomes.patches import Patches
from epitomes.phi import windows


def wave(frequency: float, side: int = 46) -> NDArray[np.float64]:
    return np.cos(2 * np.pi * frequency * np.arange(side))[None, :].repeat(side, axis=0)


def test_noise_is_decided_by_the_seed() -> None:
    clean = np.full((64, 64), 100, np.float32)
    noisy = judge.add_noise(clean, 50.0, seed=3)
    np.testing.assert_array_equal(noisy, judge.add_noise(clean, 50.0, seed=3))
    assert (noisy != judge.add_noise(clean, 50.0, seed=4)).any()
    assert (noisy - clean).std() == pytest.approx(50, rel=0.05)
    assert noisy.min() < 0  # not clipped
    assert (noisy != np.rint(noisy)).any()  # not rounded
    np.testing.assert_allclose(noisy, clean + 50 * np.random.default_rng(3).standard_normal(clean.shape), rtol=1e-5)


def test_objective_is_the_lowest_cost_of_the_patches() -> None:
    image = (255 * np.random.default_rng(0).random((30, 30))).astype(np.float64)
    epitome = Epitome(np.random.default_rng(1).standard_normal((10, 10)), windows((10, 10), (4, 4)))
    found = judge.objective(image, epitome, 40.0, stride=2)
    rows = Patches(image, (4, 4), 2).rows(0, len(Patches(image, (4, 4), 2)))[0]
    A = Lasso(lam=40.0).encode(rows, epitome.dictionary).toarray()
    D = epitome.dictionary.atoms
    each = [
        0.5 * np.sum((x - a @ D) ** 2) + 40 * np.abs(a) @ np.linalg.norm(D, axis=1)
        for x, a in zip(rows, A, strict=True)
    ]
    assert found == pytest.approx(np.mean(each), rel=1e-6)
    assert found < 0.5 * np.mean(np.sum(rows**2, axis=1))  # better than no atom at all


@pytest.mark.parametrize("frequency", [0.15, 0.2, 0.35])
def test_fineness_of_a_wave_is_its_frequency(frequency: float) -> None:
    assert judge.fineness(wave(frequency)) == pytest.approx(frequency, abs=0.03)
    assert judge.fineness(wave(frequency), window=40) == pytest.approx(frequency, abs=0.01)
    assert judge.fineness(wave(frequency).T) == pytest.approx(judge.fineness(wave(frequency)), rel=1e-9)
    assert judge.fineness(100 * wave(frequency) + 7) == pytest.approx(judge.fineness(wave(frequency)), rel=1e-9)


def test_blur_makes_coarse() -> None:
    noise = np.random.default_rng(0).standard_normal((2, 46, 46))
    found = [judge.fineness(ndimage.gaussian_filter(noise, (0, s, s))) for s in (0.0, 0.7, 1.5, 3.0)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 2 * found[-1]


def test_fineness_does_not_see_contrast() -> None:
    """A bright spot that no atom needs would otherwise decide the number alone."""
    both = np.stack([wave(0.15), wave(0.4)])
    mean = (judge.fineness(both[0]) + judge.fineness(both[1])) / 2
    assert judge.fineness(both) == pytest.approx(mean, rel=1e-9)
    assert judge.fineness(both * np.array([50.0, 1.0])[:, None, None]) == pytest.approx(mean, rel=1e-9)


def test_fineness_of_small_and_flat_pictures() -> None:
    small = np.random.default_rng(0).standard_normal((5, 8, 8))
    assert 0.1 < judge.fineness(small) < 0.5
    half_flat = np.stack([wave(0.2), np.zeros((46, 46))])
    assert judge.fineness(half_flat) == pytest.approx(judge.fineness(wave(0.2)), rel=1e-9)


def test_likeness() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.standard_normal((42, 42)), rng.standard_normal((42, 42))
    assert judge.likeness(one, one) == pytest.approx(1.0)
    assert judge.likeness(one, 5 - 3 * np.roll(one, (7, 30), (0, 1))) == pytest.approx(1.0)
    assert judge.likeness(one, other) < 0.2
    assert judge.likeness(one, one + other) == pytest.approx(2**-0.5, abs=0.05)
