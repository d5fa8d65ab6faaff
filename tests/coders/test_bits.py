"""A patch gets the same bits alone, in any batch, in any order and on any number of threads, across blocks, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from coder_cases import ONE_OF_EACH, patches_for
from scipy.sparse import csr_array, vstack

from epitomes import kernels
from epitomes.coders import OMP, Lasso
from epitomes.dictionary import Dictionary

N = 600 if kernels.isa == "reference" else 9_000  # more than two blocks


def assert_same_bits(one: csr_array, other: csr_array) -> None:
    np.testing.assert_array_equal(one.indptr, other.indptr)
    np.testing.assert_array_equal(one.indices, other.indices)
    np.testing.assert_array_equal(one.data, other.data)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("coder", ONE_OF_EACH, ids=repr)
def test_threads_batches_and_order(coder: Any, dtype: Any, rng: np.random.Generator) -> None:
    atoms = rng.standard_normal((53, 25))
    X = patches_for(atoms, N, rng).astype(dtype)
    D = Dictionary(atoms.astype(dtype))
    codes = coder.encode(X, D, threads=1)
    for threads in (2, 3, 7):
        assert_same_bits(coder.encode(X, D, threads=threads), codes)
    for size in (7, 4096):
        part = X[: 100 * size]
        batches = [coder.encode(part[i : i + size], D) for i in range(0, len(part), size)]
        assert_same_bits(csr_array(vstack(batches, format="csr")), codes[: len(part)])
    for i in (0, 1, 17, N // 2, N - 1):
        assert_same_bits(coder.encode(X[i : i + 1], D), codes[i : i + 1])
    order = rng.permutation(N)
    assert_same_bits(coder.encode(X[order], D)[np.argsort(order)], codes)


@pytest.mark.parametrize("coder", [OMP(residual=0.1), Lasso(lam=0.2)], ids=repr)
def test_masked_threads_batches_and_order(coder: Any, rng: np.random.Generator) -> None:
    n = N // 2
    atoms = rng.standard_normal((53, 25))
    X, D = patches_for(atoms, n, rng).astype(np.float32), Dictionary(atoms)
    mask = rng.random(X.shape) < 0.7
    codes = coder.encode(X, D, mask=mask, threads=1)
    assert_same_bits(coder.encode(X, D, mask=mask, threads=3), codes)
    batches = [coder.encode(X[i : i + 7], D, mask=mask[i : i + 7]) for i in range(0, 280, 7)]
    assert_same_bits(csr_array(vstack(batches, format="csr")), codes[:280])
    order = rng.permutation(n)
    assert_same_bits(coder.encode(X[order], D, mask=mask[order])[np.argsort(order)], codes)


def test_warm_start_bits_do_not_depend_on_threads(rng: np.random.Generator) -> None:
    atoms = rng.standard_normal((53, 25))
    X = patches_for(atoms, N, rng)
    start = Lasso(lam=0.3).encode(X, Dictionary(atoms))
    D = Dictionary(atoms + 0.02 * rng.standard_normal(atoms.shape))
    coder = Lasso(lam=0.2)
    codes = coder.encode(X, D, start, threads=1)
    assert_same_bits(coder.encode(X, D, start, threads=3), codes)
    assert_same_bits(coder.encode(X[100:107], D, start[100:107]), codes[100:107])
