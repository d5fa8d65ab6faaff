"""A warm start only saves time: any start, however bad, leads to the same optimum."""

from __future__ import annotations

import numpy as np
import pytest
from coder_cases import DICTIONARIES, NAMES, Doubles, patches_for
from scipy.sparse import csr_array

from epitomes.coders import OLS, OMP, Lasso, LassoLARS
from epitomes.dictionary import Dictionary
from epitomes.kernels.reference_coders import duality_gap

LAM = 0.2


def foolish_starts(codes: csr_array, rng: np.random.Generator) -> dict[str, csr_array]:
    n, p = codes.shape
    dense = rng.standard_normal((n, p))
    data, indices, indptr = codes.data, codes.indices, codes.indptr
    return {
        "the answer": codes,
        "all atoms": csr_array(dense),
        "huge": csr_array(1e6 * dense),
        "tiny": csr_array(1e-12 * dense),
        "wrong signs": -codes,
        "of other patches": codes[rng.permutation(n)],
        "stored zeros": csr_array((np.zeros_like(data), indices, indptr), shape=codes.shape),
        "twice the same entry": csr_array((np.repeat(data, 2), np.repeat(indices, 2), 2 * indptr), shape=codes.shape),
        "long indices": csr_array((data, indices.astype(np.int64), indptr.astype(np.int64)), shape=codes.shape),
        "unsorted": csr_array((data[::-1], indices[::-1], indptr[-1] - indptr[::-1]), shape=codes.shape),
        "single": codes.astype(np.float32),
        "empty": csr_array(codes.shape),
    }


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize(("name", "atoms"), DICTIONARIES, ids=NAMES)
def test_any_start_leads_to_the_optimum(name: str, atoms: Doubles, positive: bool, rng: np.random.Generator) -> None:
    coder = Lasso(lam=LAM, positive=positive)
    norms = np.linalg.norm(atoms, axis=1)
    unit = atoms / np.where(norms > 0.0, norms, 1.0)[:, None]
    X, D = patches_for(atoms, 30, rng), Dictionary(atoms)
    cold = coder.encode(X, D)
    for kind, start in foolish_starts(cold, rng).items():
        warm = coder.encode(X, D, start)
        A = warm.toarray() * norms
        gaps = duality_gap(X, unit, A, LAM, positive)
        assert (gaps <= 3e-4 * 0.5 * (X**2).sum(axis=1) + 1e-12).all(), f"start '{kind}': gap {gaps.max():.3g}"
        assert not positive or (A >= 0.0).all(), f"start '{kind}': negative codes"
        assert (np.diff(warm.indices)[np.diff(np.repeat(np.arange(30), np.diff(warm.indptr))) == 0] > 0).all()


def test_in_float32(rng: np.random.Generator) -> None:
    name, atoms = DICTIONARIES[0]
    X, D = patches_for(atoms, 200, rng).astype(np.float32), Dictionary(atoms.astype(np.float32))
    coder = Lasso(lam=LAM)
    cold = coder.encode(X, D)
    for kind, start in foolish_starts(cold, rng).items():
        gaps = coder.gap(X, D, coder.encode(X, D, start))
        assert (gaps <= 3e-4 * 0.5 * (X.astype(np.float64) ** 2).sum(axis=1) + 1e-6).all(), f"{name}, start '{kind}'"


def test_other_coders_begin_with_nothing(rng: np.random.Generator) -> None:
    atoms = DICTIONARIES[1][1]
    X, D = patches_for(atoms, 30, rng), Dictionary(atoms)
    for coder in (OMP(n_nonzero=4), OLS(n_nonzero=4), LassoLARS(lam=LAM)):
        cold = coder.encode(X, D)
        for start in foolish_starts(cold, rng).values():
            assert (coder.encode(X, D, start) != cold).nnz == 0
