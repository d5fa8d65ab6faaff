"""K-SVD: planted atoms are found, exact updates are singular vectors, errors are clear."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes import Epitome
from epitomes.baselines import KSVD, learn_ksvd
from epitomes.baselines.ksvd import replaced, updated
from epitomes.coders import OMP
from epitomes.dictionary import Dictionary
from epitomes.learn import cosines, run
from epitomes.phi import flat, windows


def planted(rng: np.random.Generator, n: int = 1500, p: int = 30, m: int = 20) -> tuple[np.ndarray, np.ndarray]:
    atoms = rng.standard_normal((p, m))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    A = np.zeros((n, p))
    for row in A:
        row[rng.choice(p, 3, replace=False)] = rng.standard_normal(3)
    X = A @ atoms
    return X + 0.1 * X.std() * rng.standard_normal(X.shape), atoms


@pytest.mark.parametrize("exact", [False, True])
def test_planted_atoms_are_found(exact: bool, rng: np.random.Generator) -> None:
    X, atoms = planted(rng)
    start = Epitome(X[:30], flat(30, (20,)))
    fit = run(learn_ksvd(X, start, coder=OMP(n_nonzero=3), exact=exact), max_steps=40)
    found = np.abs(atoms @ fit.epitome.dictionary.unit.T).max(axis=1)
    assert np.mean(found > 0.99) >= 0.9
    assert fit.history[-1].objective < 0.1 * fit.history[0].objective


def test_an_exact_update_leaves_nothing_to_a_single_atom(rng: np.random.Generator) -> None:
    """After it, the last atom and its values are the best rank-one fit to the rows that use it."""
    X, atoms = planted(rng, n=200)
    codes = OMP(n_nonzero=3).encode(X, Dictionary(atoms))
    better, changed, residual = updated(X, codes, atoms, True)
    users = changed.toarray()[:, -1] != 0
    E = residual[users] + np.outer(changed.toarray()[users, -1], better[-1])
    best = np.linalg.svd(E, compute_uv=False)
    assert np.sum(residual[users] ** 2) == pytest.approx(np.sum(best[1:] ** 2), rel=1e-8)
    np.testing.assert_allclose(residual, X - changed @ better, atol=1e-10)


def test_twins_and_atoms_without_users_are_replaced(rng: np.random.Generator) -> None:
    X = rng.standard_normal((50, 8))
    atoms = np.vstack([np.eye(8), np.eye(8)[:1]])
    energy = np.arange(50.0)
    found = replaced(atoms, np.array([9, 9, 9, 2, 9, 9, 9, 9, 9]), X, energy)
    np.testing.assert_allclose(found[0], X[49] / np.linalg.norm(X[49]))  # a later atom is the same
    np.testing.assert_allclose(found[3], X[48] / np.linalg.norm(X[48]))
    np.testing.assert_array_equal(found[[1, 2, 4, 5, 6, 7, 8]], atoms[[1, 2, 4, 5, 6, 7, 8]])


def test_bad_settings() -> None:
    for wrong in (
        {"n_atoms": 0},
        {"schedule": ((0, 1),)},
        {"schedule": ((9, 0),)},
        {"residual_factor": 0.0},
        {"blend": -1.0},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            KSVD(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="share no pixels"):
        learn_ksvd(np.ones((5, 16)), cosines(windows((6, 6), (4, 4))), coder=OMP(n_nonzero=1))
