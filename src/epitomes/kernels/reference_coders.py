"""The coders in plain NumPy: the specification of the native kernels, one patch at a time and in float64.

Slow, short and reliable. The pursuits orthogonalise the atoms explicitly, the lasso is solved through its dual and
verified by its duality gap, and LARS solves its equations from scratch at every knot. No method is shared with the
native kernels, so that they cannot share a mistake.

Codes refer to unit atoms `U (p, m)`, zero rows allowed: `x ~ a U`. For atoms `D = diag(norms) U` the problem of the
paper, `1/2|x - b D|^2 + lam sum_j |d_j||b_j|`, has the code `b = on_atoms(a, norms)` (appendix A).

The last four functions work on blocks of rows. They are used with `EPITOMES_KERNELS=reference`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Array = NDArray[np.floating[Any]]
Vector = NDArray[np.float64]  # (m,) a patch, (p,) a code
Matrix = NDArray[np.float64]  # (p, m) atoms
Mask = NDArray[np.bool_]
Packed = tuple[NDArray[np.int32], NDArray[np.int32], Array]  # counts (n,), indices (nnz,), values (nnz,)

DEPENDENT = 1e-10  # below this squared distance from the span of the selected atoms, a unit atom counts as in the span
ROUNDING = 1e-20  # a squared residual below this share of |x|^2 is zero


# ------------------------------------------------------------------------------------------------ pursuit, one patch


def omp(x: Vector, unit_atoms: Matrix, residual: float, n_nonzero: int) -> Vector:
    """Orthogonal matching pursuit: add the atom with the largest `|<r, u_j>|`, then fit all selected atoms again."""
    return _pursuit(x, unit_atoms, residual, n_nonzero, least_squares=False)


def ols(x: Vector, unit_atoms: Matrix, residual: float, n_nonzero: int) -> Vector:
    """Orthogonal least squares: add the atom that leaves the smallest residual, then fit again."""
    return _pursuit(x, unit_atoms, residual, n_nonzero, least_squares=True)


def _pursuit(x: Vector, unit: Matrix, residual: float, n_nonzero: int, *, least_squares: bool) -> Vector:
    rest = x.copy()
    free = unit.copy()  # the atoms without their components in the span of the selected ones
    chosen: list[int] = []
    bound = max(residual, ROUNDING * float(x @ x))
    while len(chosen) < n_nonzero and rest @ rest > bound:
        left = _dots(free, free)
        score = _dots(free, rest) ** 2  # equals <u_j, r>^2, because r is orthogonal to the span
        if least_squares:  # score_j is the decrease of |r|^2 by atom j
            score = np.divide(score, left, out=np.zeros_like(score), where=left >= DEPENDENT)
        score[chosen] = 0.0
        best = int(np.argmax(score))  # the first of equals
        if score[best] == 0.0 or left[best] < DEPENDENT:
            break
        axis = free[best] / np.sqrt(left[best])
        free -= np.outer(_dots(free, axis), axis)
        rest -= (rest @ axis) * axis
        chosen.append(best)
    code = np.zeros(len(unit))
    if chosen:
        code[chosen] = np.linalg.lstsq(unit[chosen].T, x, rcond=None)[0]
    return code


def masked_pursuit(
    x: Vector, unit: Matrix, residual: float, n_nonzero: int, known: Mask, *, least_squares: bool = False
) -> Vector:
    """Run a pursuit on the known pixels, with unit norm there; the bound is scaled by the share of known pixels."""
    part = unit[:, known]
    norms = np.sqrt(_dots(part, part))
    norms[norms**2 < DEPENDENT] = np.inf  # an atom without known pixels becomes a zero atom
    bound = residual * known.sum() / known.size
    return _pursuit(x[known], part / norms[:, None], bound, n_nonzero, least_squares=least_squares) / norms


def _dots(rows: Matrix, other: NDArray[np.float64]) -> Vector:
    """Compute dot products row by row, in one order of summation, so that equal atoms are exact ties."""
    products: Vector = (rows * other).sum(axis=1)
    return products


# -------------------------------------------------------------------------------------------------- lasso, one patch


def lasso_code(x: Vector, unit: Matrix, lam: float, positive: bool = False, tol: float = 1e-10) -> Vector:
    """Minimise `1/2|x - a U|^2 + lam |a|_1`, over `a >= 0` if `positive`. The rows of U may have any norm.

    The optimal residual is the point nearest to x that satisfies `|<u_j, r>| <= lam` for all j (`<u_j, r> <= lam` if
    `positive`), and the coefficients are the multipliers of these constraints. Lawson and Hanson (chapter 23) reduce
    such a least distance problem to a non-negative least squares problem, which finitely many exact steps solve. A
    masked patch is the same problem on the known columns of x and U: the penalty uses the norms of the whole atoms.
    """
    size = float(np.linalg.norm(x))
    walls = unit if positive else np.concatenate([unit, -unit])
    if size == 0.0 or (walls @ x).max() <= lam:
        return np.zeros(len(unit))
    beyond = walls @ (x / size) - lam / size  # violation of each constraint by x, in units of |x|
    goal = np.append(np.zeros(x.size), 1.0)
    push = _nonnegative_least_squares(np.column_stack([-walls, beyond]), goal)
    both = push * size / (1.0 - beyond @ push)
    code: Vector = both if positive else both[: len(unit)] - both[len(unit) :]
    gap = float(duality_gap(x, unit, code, lam, positive))
    if not gap <= tol * size**2:  # written so that NaN fails too
        raise ArithmeticError(f"the reference lasso has a duality gap of {gap:.2g} at |x|^2 = {size**2:.2g}")
    return code


def _nonnegative_least_squares(rows: Matrix, goal: Vector) -> Vector:
    """Minimise `|u rows - goal|` over `u >= 0` by the active set method of Lawson and Hanson, all fits from scratch."""
    u = np.zeros(len(rows))
    used = np.zeros(len(rows), dtype=bool)
    barred = used.copy()  # rows that enter only because of rounding, until the next progress
    for _ in range(100 + 10 * len(rows)):
        slope = np.where(used | barred, -np.inf, rows @ (goal - u @ rows))
        best = int(np.argmax(slope))
        if slope[best] <= 1e-14:
            return u
        used[best] = True
        while True:
            fit = np.linalg.lstsq(rows[used].T, goal, rcond=None)[0]
            if fit.min() > 0.0:
                u[used] = fit
                barred &= not used[best]
                break
            now = u[used]  # move towards the fit until the first coefficient is zero, and remove its row
            room = np.where(fit > 0.0, np.inf, now / np.maximum(now - fit, 1e-300))
            step = float(room.min())
            u[used] = np.where(room > step, now + step * (fit - now), 0.0)
            used[np.flatnonzero(used)[room <= step]] = False
            barred[best] |= not used[best]
            if not used.any():
                break
    raise ArithmeticError(f"non-negative least squares did not end on {len(rows)} rows")


def duality_gap(
    x: NDArray[np.float64], unit: Matrix, code: NDArray[np.float64], lam: float, positive: bool = False
) -> NDArray[np.float64]:
    """Bound the distance of the lasso objective at `code` from its minimum, for one patch or for rows of patches.

    The residual, scaled until no correlation exceeds lam, is a point of the dual problem
    `max 1/2|x|^2 - 1/2|x - t|^2` over `|<u_j, t>| <= lam`. Any such point bounds the minimum from below.
    """
    rest = x - code @ unit
    seen = rest @ unit.T if positive else np.abs(rest @ unit.T)
    shrink = lam / np.maximum(seen.max(axis=-1), lam)
    primal = 0.5 * (rest**2).sum(axis=-1) + lam * np.abs(code).sum(axis=-1)
    dual = 0.5 * (x**2).sum(axis=-1) - 0.5 * ((x - shrink[..., None] * rest) ** 2).sum(axis=-1)
    return np.asarray(primal - dual)


def on_atoms(code: NDArray[np.float64], norms: Vector) -> NDArray[np.float64]:
    """Convert codes on the unit atoms U to codes on the atoms `diag(norms) U`; zero atoms keep zero."""
    return np.divide(code, norms, out=np.zeros_like(code), where=norms > 0.0)


# --------------------------------------------------------------------------------------------------- LARS, one patch


def lars(x: Vector, unit: Matrix, lam: float, positive: bool = False) -> tuple[Vector, Matrix]:
    """Compute the lasso path down to `lam`: its knots `(k,)`, in decreasing order, and the codes there `(k, p)`.

    Between two knots the support S and its signs s are constant, and the code is linear: on S it is the least squares
    fit minus `t G_S^-1 s`. At a knot an atom outside S reaches the correlation t, or a coefficient reaches zero.
    The last row is the solution. If no atom reaches lam, the path is the empty code at lam.
    """
    seen = unit @ x if positive else np.abs(unit @ x)
    t = float(seen.max())
    knots, codes = [max(t, lam)], [np.zeros(len(unit))]
    support = [int(np.argmax(seen))]
    shut: list[int] = []  # atoms in the span of the support: their correlations stay equal to t
    for _ in range(100 + 20 * len(unit)):
        if t <= lam:
            return np.array(knots), np.array(codes)
        signs = np.sign(unit[support] @ (x - codes[-1] @ unit))
        inverse = np.linalg.pinv(unit[support])  # (m, |S|): x @ inverse is the least squares fit
        fit, pull = x @ inverse, inverse.T @ inverse @ signs  # the coefficients are fit - t * pull
        goes = np.divide(fit, pull, out=np.full(len(fit), -1.0), where=signs * pull < 0.0)  # t at their zeros
        comes = _arrivals(unit @ (x - fit @ unit[support]), unit @ (pull @ unit[support]), positive)
        comes[[*support, *shut]] = -1.0
        comer, leaver = int(np.argmax(comes)), int(np.argmax(goes))
        event = min(t, max(comes[comer], goes[leaver]))
        t = max(event, lam)
        code = np.zeros(len(unit))
        code[support] = fit - t * pull
        leaves = goes[leaver] >= comes[comer] and event >= lam
        if leaves:
            code[support[leaver]] = 0.0
        if t < knots[-1]:
            knots.append(t)
            codes.append(code)
        if leaves:
            del support[leaver]
            shut = []
        elif _outside(unit[comer], unit[support]) < 1e-12:
            shut.append(comer)
        else:
            support.append(comer)
    raise ArithmeticError(f"the reference LARS did not reach lam {lam} on {len(unit)} atoms")


def _arrivals(base: Vector, slope: Vector, positive: bool) -> Vector:
    """Compute the t at which the correlations `base + t * slope` reach t or -t as t decreases; -1 if they never do."""
    times = np.full(len(base), -1.0)
    for sign in [1.0] if positive else [1.0, -1.0]:
        closing = 1.0 - sign * slope
        times = np.maximum(times, np.divide(sign * base, closing, out=np.full(len(base), -1.0), where=closing > 1e-12))
    return times


def _outside(atom: Vector, others: Matrix) -> float:
    """Compute the squared distance of `atom` from the span of the others."""
    rest = atom - np.linalg.lstsq(others.T, atom, rcond=None)[0] @ others
    return float(rest @ rest)


# --------------------------------------------------------------------------------------------------- blocks of rows


def pursue(unit: Array, rows: Array, residual: float, n_nonzero: int, least_squares: bool, mask: Mask | None) -> Packed:
    """Run OMP, or OLS if `least_squares`, on every row; `mask (n, m)` is True for known pixels."""
    U, X = _double(unit), _double(rows)
    if mask is None:
        return _pack((_pursuit(x, U, residual, n_nonzero, least_squares=least_squares) for x in X), rows)
    pairs = zip(X, mask, strict=True)
    return _pack((masked_pursuit(x, U, residual, n_nonzero, k, least_squares=least_squares) for x, k in pairs), rows)


def lasso(
    unit: Array, rows: Array, lam: float, tol: float, positive: bool, mask: Mask | None, start: csr_array | None
) -> Packed:
    """Solve the lasso for every row. The solution is exact, so `tol` and `start` are not used."""
    U, X = _double(unit), _double(rows)
    if mask is None:
        return _pack((lasso_code(x, U, lam, positive) for x in X), rows)
    pairs = zip(X, mask, strict=True)
    return _pack((lasso_code(x[known], U[:, known], lam, positive) for x, known in pairs), rows)


def lasso_lars(unit: Array, rows: Array, lam: float, positive: bool) -> Packed:
    """Return the last code of the LARS path of every row."""
    U = _double(unit)
    return _pack((lars(x, U, lam, positive)[1][-1] for x in _double(rows)), rows)


def lars_path(
    unit: Array, row: Array, lam: float, positive: bool
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32], Array]:
    """Compute the knots `(k,)` of the path of one row and the packed codes there."""
    knots, codes = lars(_double(row), _double(unit), lam, positive)
    return knots, *_pack(codes, row)


def _double(array: Array) -> NDArray[np.float64]:
    return np.ascontiguousarray(array, dtype=np.float64)


def _pack(codes: Iterable[Vector], like: Array) -> Packed:
    """Pack dense codes as counts, sorted indices and values in the dtype of `like`."""
    counts, indices, values = [], [np.zeros(0, np.int32)], [np.zeros(0)]
    for code in codes:
        (support,) = np.nonzero(code)
        counts.append(len(support))
        indices.append(support.astype(np.int32))
        values.append(code[support])
    packed: Array = np.concatenate(values).astype(like.dtype)
    return np.array(counts, dtype=np.int32), np.concatenate(indices), packed
