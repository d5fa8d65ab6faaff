"""Pursuits with few unknown pixels, for every compiled instruction set: by the Gram matrix, then by pixels."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes import kernels
from epitomes.dictionary import Dictionary
from epitomes.kernels import reference_coders as reference

NATIVE = [isa for isa in kernels.isas if kernels.isa != "reference"]
N_PIXELS = 64


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.parametrize("least_squares", [False, True])
@pytest.mark.parametrize("alike", [0.0, 0.99])
def test_long_codes_and_atoms_that_are_alike(
    alike: float, least_squares: bool, isa: str, rng: np.random.Generator
) -> None:
    """Thirty atoms are too many for the Gram matrix; among atoms that are alike, new directions are too short."""
    families = np.repeat(rng.standard_normal((20, N_PIXELS)), 10, axis=0)
    D = Dictionary(alike * families + (1 - alike) * rng.standard_normal((200, N_PIXELS)))
    X = rng.standard_normal((30, N_PIXELS))
    known = rng.random(X.shape) < rng.choice([0.7, 0.9, 1.0], (30, 1))
    engine = kernels.make_engine(D.unit, D.norms, isa=isa)
    counts, found, values = engine.pursue((X, known.view(np.uint8)), 0.5, 30, least_squares, np.zeros(1, np.uint8))
    ends = np.cumsum(counts)
    for x, part, first, last in zip(X, known, ends - counts, ends, strict=True):
        expected = reference.masked_pursuit(x, D.unit, 0.5, 30, part, least_squares=least_squares)
        code = np.zeros(len(D.unit))
        code[found[first:last]] = values[first:last]
        np.testing.assert_array_equal(code != 0, expected != 0)
        np.testing.assert_allclose(code @ D.unit[:, part], expected @ D.unit[:, part], atol=1e-6)
