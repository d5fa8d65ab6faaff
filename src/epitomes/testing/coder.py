"""The laws of coders (paper, sections 2 and 3, appendix A), for the coders of the library and for your own.

`check_coder(coder)` codes random patches on easy and on difficult dictionaries and raises an `AssertionError` that
names the violated law, the dictionary and the size of the violation. It needs no reference solution: a lasso code is
judged by its optimality conditions and its duality gap, a greedy code by its residual. It uses only `lam` and `encode`,
and the attributes `tol`, `positive`, `residual` and `n_nonzero` if they exist.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from epitomes.checks import Array
from epitomes.dictionary import Dictionary
from epitomes.kernels.reference_coders import duality_gap

if TYPE_CHECKING:
    from epitomes.coders.protocol import Coder

Doubles = NDArray[np.float64]
N_PATCHES = 40
GENTLE = ("random", "windows", "few", "one atom", "norms")  # no near-ties: float32 chooses the same atoms as float64


def check_coder(coder: Coder, *, rng: np.random.Generator | None = None) -> None:
    """Test that a coder obeys the laws of lasso or greedy coders.

    Parameters
    ----------
    coder : Coder
        Coder to test. It is treated as a lasso if ``coder.lam > 0``, and as a greedy coder otherwise.
    rng : numpy.random.Generator, optional
        Random number generator. By default, the same numbers are used in every call.

    Raises
    ------
    AssertionError
        If a law is violated. The message names the law, the dictionary and the size of the violation.

    Notes
    -----
    All coders: the codes are finite, sorted and of the dtype of the patches; zero atoms are not used; threads, batches
    and the order of the patches change no bit; a warm start does not change the solution. Lasso: optimality conditions
    and duality gap. Greedy coders: error bound, least squares on the support, number of atoms.

    Examples
    --------
    >>> from epitomes.coders import OMP
    >>> from epitomes.testing import check_coder
    >>> check_coder(OMP(n_nonzero=3))
    """
    draw = np.random.default_rng(0) if rng is None else rng
    side = max(6, math.isqrt(max(1, _limit(coder)) - 1) + 1)  # patches with at least n_nonzero pixels
    laws = {**SHARED, **(LASSO if coder.lam > 0 else GREEDY)}
    for name, atoms in hard_dictionaries(draw, side).items():
        double = Trial(coder, name, atoms, _patches(coder, atoms, draw))
        single = Trial(coder, name, atoms.astype(np.float32), double.patches.astype(np.float32))
        for trial in (double, single):
            for law, measure in laws.items():
                violation, allowed = measure(trial)
                if not violation <= allowed:  # written so that NaN fails too
                    where = f"on the dictionary '{name}' in {trial.patches.dtype}"
                    size = f"violation {violation:.3g}, allowed {allowed:.3g}"
                    raise AssertionError(f"{coder!r} violates the law [{law}] {where}: {size}")


def hard_dictionaries(rng: np.random.Generator, side: int = 6) -> dict[str, Doubles]:
    """Return dictionaries `(p, side**2)` by name: two ordinary ones, and those on which coders often fail."""
    m = side**2
    some = rng.standard_normal((m, m))
    some /= np.linalg.norm(some, axis=1, keepdims=True)
    aside = rng.standard_normal((m, m)) / side
    picture = rng.standard_normal((side + 7, side + 7))
    for axis in (0, 1, 0, 1):  # smooth, like learned epitomes: neighbouring windows are similar
        picture = picture + np.roll(picture, 1, axis) + np.roll(picture, -1, axis)
    return {
        "random": rng.standard_normal((2 * m, m)),
        "windows": sliding_window_view(picture, (side, side)).reshape(-1, m).copy(),
        "duplicates": np.concatenate([some, some[: m // 2], -some[: m // 4], 3.0 * some[: m // 4]]),
        "1e-4 apart": np.concatenate([some, some + 1e-4 * aside]),
        "1e-7 apart": np.concatenate([some, some + 1e-7 * aside]),
        "zeros": np.concatenate([np.zeros((1, m)), some, np.zeros((3, m))]),
        "constants": np.concatenate([np.ones((2, m)), some, np.full((1, m), -0.3)]),
        "few": some[: m // 4].copy(),
        "one atom": 2.5 * some[:1],
        "norms": some * np.logspace(-3, 3, m)[:, None],
    }


class Trial:
    """A coder, a dictionary and patches, with the quantities that the laws compare, in float64 and on unit atoms."""

    def __init__(self, coder: Coder, name: str, atoms: Array, patches: Array) -> None:
        self.coder, self.name, self.atoms, self.patches = coder, name, atoms, patches
        self.positive = bool(getattr(coder, "positive", False))
        self.tol = float(getattr(coder, "tol", None) or 1e-4)
        self.rounding = 1e-9 if patches.dtype == np.float64 else 1e-5  # relative rounding error
        self.dictionary = Dictionary(atoms)
        self.before = _checksums(patches, atoms)  # before the first call, which might change its inputs
        self.codes = self.encode()
        self.X: Doubles = patches.astype(np.float64)
        self.size = np.linalg.norm(self.X, axis=1)  # (n,), with 1 for the zero patch
        self.size[self.size == 0.0] = 1.0
        self.norms = np.linalg.norm(atoms.astype(np.float64), axis=1)
        self.U: Doubles = atoms / np.where(self.norms > 0.0, self.norms, 1.0)[:, None]

    def encode(self, patches: Array | None = None, start: csr_array | None = None, threads: int | None = None) -> Any:
        return self.coder.encode(self.patches if patches is None else patches, self.dictionary, start, threads=threads)

    def on_unit(self, codes: csr_array) -> Doubles:
        return np.asarray(codes.toarray().astype(np.float64) * self.norms)

    @cached_property
    def alpha(self) -> Doubles:
        """The codes, dense `(n, p)`."""
        return self.on_unit(self.codes)

    @cached_property
    def seen(self) -> Doubles:
        """Correlations of the unit atoms with the residuals, `(n, p)`."""
        return np.asarray((self.X - self.alpha @ self.U) @ self.U.T)

    def objective(self, codes: csr_array) -> Doubles:
        """Compute the lasso objective in units of `1/2|x|^2`, its value at the empty code."""
        A = self.on_unit(codes)
        values = 0.5 * ((self.X - A @ self.U) ** 2).sum(axis=1) + self.coder.lam * np.abs(A).sum(axis=1)
        return np.asarray(values / (0.5 * self.size**2))

    def gap(self) -> Doubles:
        """Compute the duality gaps in the same units, at least zero."""
        gaps = duality_gap(self.X, self.U, self.alpha, self.coder.lam, self.positive)
        return np.asarray(np.maximum(gaps / (0.5 * self.size**2), 0.0))


def _limit(coder: Coder) -> int:
    """Return the largest number of atoms of a code, or 0 if the coder sets none."""
    return int(getattr(coder, "n_nonzero", None) or 0)


def _patches(coder: Coder, atoms: Doubles, rng: np.random.Generator) -> Doubles:
    """Draw noisy sparse combinations of atoms, and pure noise, with energies around the threshold of the coder."""
    unit = atoms / np.maximum(np.linalg.norm(atoms, axis=1, keepdims=True), 1e-300)
    used = rng.random((N_PATCHES, len(unit))) < 4.0 / len(unit)
    X: Doubles = np.where(used, rng.standard_normal(used.shape), 0.0) @ unit
    X[: N_PATCHES // 3] = 0.0
    X += 0.1 * rng.standard_normal(X.shape)
    residual = float(getattr(coder, "residual", 0.0))
    if coder.lam > 0:
        goal = coder.lam * np.exp(rng.uniform(math.log(0.5), math.log(20.0), len(X)))
        X *= (goal / np.abs(X @ unit.T).max(axis=1))[:, None]
    elif residual > 0:
        goal = np.sqrt(residual * np.exp(rng.uniform(math.log(0.5), math.log(50.0), len(X))))
        X *= (goal / np.linalg.norm(X, axis=1))[:, None]
    X[3] = 0.0
    return X


# Each law returns the size of its violation and the size that is allowed.


def _rows_that_differ(one: csr_array, other: csr_array) -> float:
    if all(np.array_equal(getattr(one, part), getattr(other, part)) for part in ("indptr", "indices", "data")):
        return 0.0
    return float(max(1, (one.toarray() != other.toarray()).any(axis=1).sum()))


def _form(t: Trial) -> tuple[float, float]:
    shape = (len(t.patches), len(t.atoms))
    return float(not isinstance(t.codes, csr_array) or t.codes.shape != shape), 0.0


def _dtype(t: Trial) -> tuple[float, float]:
    return float(t.codes.dtype != t.patches.dtype), 0.0


def _finite(t: Trial) -> tuple[float, float]:
    return float((~np.isfinite(t.codes.data)).sum()), 0.0


def _sorted(t: Trial) -> tuple[float, float]:
    rows = np.repeat(np.arange(len(t.patches)), np.diff(t.codes.indptr))
    steps = np.diff(rows.astype(np.int64) * len(t.atoms) + t.codes.indices)
    return float((steps <= 0).sum()), 0.0


def _zero_patch(t: Trial) -> tuple[float, float]:
    return float(np.diff(t.codes.indptr)[~t.X.any(axis=1)].sum()), 0.0


def _zero_atoms(t: Trial) -> tuple[float, float]:
    return float(t.codes.toarray()[:, t.norms == 0.0].astype(bool).sum()), 0.0


def _checksums(*arrays: Array) -> list[int]:
    return [zlib.crc32(array.tobytes()) for array in arrays]


def _inputs(t: Trial) -> tuple[float, float]:
    start = t.codes.copy()
    before = t.before + _checksums(start.data, start.indices, start.indptr)
    t.encode(start=start)
    after = _checksums(t.patches, t.atoms, start.data, start.indices, start.indptr)
    return float(sum(one != other for one, other in zip(before, after, strict=True))), 0.0


def _threads(t: Trial) -> tuple[float, float]:
    return _rows_that_differ(t.encode(threads=1), t.encode(threads=3)), 0.0


def _batches(t: Trial) -> tuple[float, float]:
    def by(size: int) -> csr_array:
        parts = [t.encode(t.patches[first : first + size]) for first in range(0, len(t.patches), size)]
        return csr_array(vstack(parts, format="csr"))

    return max(_rows_that_differ(by(size), t.codes) for size in (1, 7)), 0.0


def _order(t: Trial) -> tuple[float, float]:
    order = np.random.default_rng(0).permutation(len(t.patches))
    return _rows_that_differ(t.encode(t.patches[order])[np.argsort(order)], t.codes), 0.0


def _scaling(t: Trial) -> tuple[float, float]:
    # Powers of two do not change the bits of the unit atoms, and therefore not the choice between equal atoms.
    powers = 2.0 ** np.random.default_rng(0).integers(-6, 7, len(t.atoms))
    scaled = Trial(t.coder, t.name, (t.atoms * powers[:, None]).astype(t.atoms.dtype), t.patches)
    moved = np.linalg.norm(t.alpha @ t.U - scaled.alpha @ scaled.U, axis=1) / t.size
    if t.coder.lam > 0:  # half the squared distance from the best fit is at most the gap
        moved -= np.sqrt(t.gap()) + np.sqrt(scaled.gap())
    return float(moved.max()), 100.0 * t.rounding


def _warm(t: Trial) -> tuple[float, float]:
    starts = [t.codes, t.codes[np.roll(np.arange(len(t.patches)), 1)]]
    warm = [t.encode(start=start) for start in starts]
    if t.coder.lam > 0:
        change = [np.abs(t.objective(codes) - t.objective(t.codes)).max() for codes in warm]
        return float(np.max(change)), 3.0 * t.tol + t.rounding
    return max(_rows_that_differ(codes, t.codes) for codes in warm), 0.0


def _single(t: Trial) -> tuple[float, float]:
    if t.patches.dtype == np.float64:
        return 0.0, 0.0
    exact = Trial(t.coder, t.name, t.atoms.astype(np.float64), t.X)
    if t.coder.lam > 0:
        change = np.abs(t.objective(t.codes) - t.objective(exact.codes))
        return float(change.max()), 3.0 * t.tol + t.rounding
    if t.name not in GENTLE:
        return 0.0, 0.0
    moved = np.linalg.norm((t.alpha - exact.alpha) @ t.U, axis=1) / t.size
    moved[np.count_nonzero(exact.alpha, axis=1) > t.X.shape[1] // 3] = 0.0  # long codes use nearly dependent atoms
    return float((~(moved <= 1e-3)).mean()), 0.1  # a patch in ten may stop an atom earlier or later


def _optimal(t: Trial) -> tuple[float, float]:
    lam, outside = t.coder.lam, t.seen if t.positive else np.abs(t.seen)
    wrong = np.where(t.alpha != 0.0, np.abs(t.seen - lam * np.sign(t.alpha)), outside - lam)
    return float(((wrong - t.rounding * t.size[:, None]) / lam).max()), 2.0 * t.tol


def _gap(t: Trial) -> tuple[float, float]:
    return float(t.gap().max()), 3.0 * t.tol + t.rounding


def _sign(t: Trial) -> tuple[float, float]:
    return float((-t.alpha).max()) if t.positive else 0.0, 0.0


def _bound(t: Trial) -> tuple[float, float]:
    if not hasattr(t.coder, "residual"):
        return 0.0, 0.0
    above = ((t.X - t.alpha @ t.U) ** 2).sum(axis=1) - t.coder.residual
    full = np.count_nonzero(t.alpha, axis=1) >= min(_limit(t.coder) or t.X.shape[1], *t.U.shape)
    useful = np.abs(t.seen).max(axis=1) / t.size  # nearly 0 for an atom in the span of the selected ones
    return float(np.where((above <= 100.0 * t.rounding * t.size**2) | full, 0.0, useful).max()), math.sqrt(t.rounding)


def _least_squares(t: Trial) -> tuple[float, float]:
    return float((np.where(t.alpha != 0.0, np.abs(t.seen), 0.0) / t.size[:, None]).max()), 10.0 * t.rounding


def _support(t: Trial) -> tuple[float, float]:
    return float(np.diff(t.codes.indptr).max() - (_limit(t.coder) or t.X.shape[1])), 0.0


Law = Callable[[Trial], tuple[float, float]]
SHARED: dict[str, Law] = {
    "codes are a csr_array (n, p)": _form,
    "dtype in = dtype out": _dtype,
    "codes are finite": _finite,
    "indices are sorted in each row": _sorted,
    "a zero patch has an empty code": _zero_patch,
    "zero atoms are not used": _zero_atoms,
    "inputs are not changed": _inputs,
    "threads change no bit": _threads,
    "batches change no bit": _batches,
    "the order of the patches changes no bit": _order,
    "scaling atoms does not change A @ D": _scaling,
    "warm start = cold start": _warm,
    "float32 = float64": _single,
}
LASSO: dict[str, Law] = {
    "codes are not negative": _sign,
    "optimality (KKT, weights |d_j|)": _optimal,
    "duality gap": _gap,
}
GREEDY: dict[str, Law] = {
    "residual below its bound": _bound,
    "least squares on the support": _least_squares,
    "support at most n_nonzero": _support,
}
