"""Every coder and every dictionary, once: the tests of coders run over these lists."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from epitomes.coders import OLS, OMP, Lasso, LassoLARS
from epitomes.testing.coder import hard_dictionaries

Doubles = NDArray[np.float64]

CODERS = [
    OMP(residual=1.0),
    OMP(n_nonzero=5),
    OMP(residual=0.3, n_nonzero=8),
    OMP(),
    OLS(residual=1.0),
    OLS(n_nonzero=5),
    OLS(residual=64 * 28.75**2, n_nonzero=40),
    OLS(),
    Lasso(lam=0.2),
    Lasso(lam=60.0),
    Lasso(lam=0.2, tol=1e-7),
    Lasso(lam=0.2, positive=True),
    LassoLARS(lam=0.2),
    LassoLARS(lam=60.0),
    LassoLARS(lam=0.2, positive=True),
]
ONE_OF_EACH = [OMP(n_nonzero=5), OLS(n_nonzero=5), Lasso(lam=0.2), LassoLARS(lam=0.2)]
LASSOS = [Lasso(lam=0.2), Lasso(lam=0.2, positive=True), LassoLARS(lam=0.2), LassoLARS(lam=0.2, positive=True)]


def epitome_windows(rng: np.random.Generator) -> Doubles:
    """All 8x8 windows of a smooth 24x24 picture: 289 atoms that overlap as those of a learned epitome do."""
    picture = rng.standard_normal((24, 24))
    for axis in (0, 1, 0, 1):
        picture = picture + 0.7 * np.roll(picture, 1, axis) + 0.7 * np.roll(picture, -1, axis)
    return sliding_window_view(picture, (8, 8)).reshape(-1, 64).copy()


def _dictionaries() -> list[tuple[str, Doubles]]:
    rng = np.random.default_rng(7)
    return [("epitome", epitome_windows(rng)), *hard_dictionaries(rng, side=6).items()]


DICTIONARIES = _dictionaries()
NAMES = [name for name, _ in DICTIONARIES]
GENTLE = [(name, atoms) for name, atoms in DICTIONARIES if name in ("epitome", "random", "windows", "few", "norms")]


def unit_and_norms(atoms: Doubles) -> tuple[Doubles, Doubles]:
    norms = np.linalg.norm(atoms, axis=1)
    return atoms / np.where(norms > 0.0, norms, 1.0)[:, None], norms


def patches_for(atoms: Doubles, n: int, rng: np.random.Generator) -> Doubles:
    """Patches of norms from 0.3 to 10: two thirds sparse sums of atoms under noise, the rest noise, the first zero."""
    unit, _ = unit_and_norms(atoms)
    used = rng.random((n, len(unit))) < 3.0 / len(unit)
    X = np.where(used, rng.standard_normal(used.shape), 0.0) @ unit
    X[: n // 3] = 0.0
    X += 0.05 * rng.standard_normal(X.shape)
    X *= (np.exp(rng.uniform(np.log(0.3), np.log(10.0), n)) / np.linalg.norm(X, axis=1))[:, None]
    X[0] = 0.0
    return X
