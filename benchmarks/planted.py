"""Planted patterns: the share of the patterns in a signal or image that shift-invariant learning finds.

A signal is a sum of patterns of white noise at random places, with normal coefficients of at least a half, so that some
occurrences overlap; noise is 30 dB below it. A pattern is found if a learned one has a correlation of 0.99 with it, at
the best shift.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import scipy.signal
from numpy.typing import NDArray

from benchmarks.options import Options
from benchmarks.record import Planted
from epitomes.baselines import learn_patterns

Floats = NDArray[np.float64]

SEEDS = 20
ALIKE = 0.99
DECIBELS = 30.0
CASES = {  # shape of the signal, number of patterns, their shape, occurrences of each
    "signal": ((4000,), 6, (24,), 25),
    "image": ((128, 128), 5, (8, 8), 25),
}


def run(options: Options) -> Iterator[Planted]:
    for name in CASES:
        for seed in range(2 if options.quick else max(SEEDS, options.seeds)):
            yield measure(name, seed)


def measure(name: str, seed: int) -> Planted:
    """Plant, learn, compare."""
    shape, n_patterns, length, each = CASES[name]
    signal, patterns = planted(shape, n_patterns, length, each, np.random.default_rng(seed))
    began = time.process_time()
    fit = learn_patterns(signal, n_patterns, length, n_occurrences=n_patterns * each, rng=seed)
    seconds = time.process_time() - began
    best = [max(likeness(one, other) for other in fit.patterns) for one in patterns]
    return Planted(
        planted=name,
        seed=seed,
        n_patterns=n_patterns,
        found=sum(value > ALIKE for value in best),
        least=min(best),
        error=fit.errors[-1],
        seconds=seconds,
    )


def planted(
    shape: tuple[int, ...], n_patterns: int, length: tuple[int, ...], each: int, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """A noisy signal and the patterns in it, of norm 1."""
    patterns = random.standard_normal((n_patterns, *length))
    patterns /= np.sqrt(np.sum(patterns**2, axis=tuple(range(1, patterns.ndim)), keepdims=True))
    signal = np.zeros(shape)
    for pattern in patterns:
        for _ in range(each):
            corner = [int(random.integers(n - m + 1)) for n, m in zip(shape, length, strict=True)]
            value = random.standard_normal()
            value += 0.5 * np.sign(value)
            signal[tuple(slice(c, c + m) for c, m in zip(corner, length, strict=True))] += value * pattern
    noise = random.standard_normal(shape) * signal.std() * 10 ** (-DECIBELS / 20)
    return signal + noise, patterns


def likeness(one: Floats, other: Floats) -> float:
    """The largest correlation over all shifts."""
    return float(np.abs(scipy.signal.correlate(one, other, mode="full", method="direct")).max())
