"""Shift-invariant K-SVD: planted patterns are found though they overlap; formulas evaluated another way; errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal
from numpy.typing import NDArray

from epitomes.baselines import Occurrences, find_occurrences, learn_patterns
from epitomes.baselines.patterns import _pursued, _solved, _unit

Floats = NDArray[np.float64]


def planted(
    shape: tuple[int, ...], lengths: tuple[int, ...], n: int, each: int, rng: np.random.Generator
) -> tuple[Floats, Occurrences]:
    patterns = _unit(rng.standard_normal((n, *lengths)))
    places = np.stack(
        [rng.integers(0, side - length + 1, n * each) for side, length in zip(shape, lengths, strict=True)], 1
    )
    values = rng.standard_normal(n * each)
    found = Occurrences(patterns, np.repeat(np.arange(n), each), places, values + 0.5 * np.sign(values))
    return found.rebuilt(shape), found


def found_again(patterns: Floats, others: Floats) -> list[float]:
    return [
        max(float(np.abs(scipy.signal.correlate(one, other, mode="full")).max()) for other in others)
        for one in patterns
    ]


@pytest.mark.parametrize(("shape", "lengths"), [((1500,), (16,)), ((60, 60), (6, 6))])
def test_planted_patterns_are_found(shape: tuple[int, ...], lengths: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    clean, true = planted(shape, lengths, 3, 20, rng)
    noisy = clean + 10 ** (-30 / 20) * clean.std() * rng.standard_normal(shape)
    fit = learn_patterns(noisy, 3, lengths, n_occurrences=60, rng=1)
    assert min(found_again(true.patterns, fit.patterns)) > 0.99
    assert fit.errors[-1] < 0.02


def test_a_sum_of_occurrences(rng: np.random.Generator) -> None:
    signal, found = planted((9, 11), (3, 4), 2, 5, rng)
    expected = np.zeros((9, 11))
    for k, (y, x), value in zip(found.which, found.places, found.values, strict=True):
        expected[y : y + 3, x : x + 4] += value * found.patterns[k]
    np.testing.assert_allclose(signal, expected)


def test_correlations_that_are_updated_are_those_of_the_residual(rng: np.random.Generator) -> None:
    """The pursuit takes what plain matching pursuit, which correlates the residual again after every step, takes."""
    signal, found = planted((80,), (7,), 2, 6, rng)
    patterns, residual, taken = found.patterns, signal.copy(), set()
    for _ in range(8):
        correlations = np.stack([scipy.signal.correlate(residual, each, mode="valid") for each in patterns])
        best = int(np.argmax(np.abs(correlations)))
        k, at = np.unravel_index(best, correlations.shape)
        residual[at : at + 7] -= correlations[k, at] * patterns[k]
        taken.add(best)
    assert set(_pursued(signal, patterns, 8).tolist()) == taken


def test_coefficients_are_those_of_least_squares(rng: np.random.Generator) -> None:
    signal, true = planted((100,), (9,), 2, 8, rng)
    found = find_occurrences(signal, true.patterns, n_occurrences=12)
    atoms = found.atoms((100,)).toarray()
    np.testing.assert_allclose(found.values, np.linalg.lstsq(atoms.T, signal, rcond=None)[0], rtol=1e-5)


def test_overlapping_occurrences_do_not_bias_a_pattern(rng: np.random.Generator) -> None:
    """With the true places and coefficients, the pattern is exact, though half of the occurrences overlap."""
    signal, true = planted((200,), (12,), 1, 12, rng)
    gaps = np.diff(np.sort(true.places.ravel()))
    assert (gaps < 12).sum() >= 3
    pattern, move = _solved(signal, true.places, true.values, (12,))
    assert not move.any()
    np.testing.assert_allclose(pattern, true.patterns[0], atol=1e-5)


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="do not fit in a signal"):
        learn_patterns(np.ones(5), 1, 9, n_occurrences=1)
    with pytest.raises(ValueError, match="zero everywhere"):
        learn_patterns(np.zeros(50), 1, 9, n_occurrences=1)
    with pytest.raises(ValueError, match="start needs the shape"):
        learn_patterns(np.ones(50), 2, 9, n_occurrences=1, start=np.ones((1, 9)))
    with pytest.raises(ValueError, match="pattern 1 is zero"):
        find_occurrences(np.ones(50), [[1.0], [0.0]], n_occurrences=1)
    with pytest.raises(ValueError, match="n_occurrences"):
        find_occurrences(np.ones(50), [[1.0]], n_occurrences=0)
