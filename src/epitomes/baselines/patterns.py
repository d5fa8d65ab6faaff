"""Shift-invariant K-SVD: a signal or image as a sum of patterns at any place (Mailhé et al. 2008).

Occurrences may overlap. Then the best pattern is no singular vector, as in K-SVD, but solves a least-squares problem
whose matrix holds the products of coefficients of occurrences that overlap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.signal
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import spsolve

from epitomes.checks import RNG, Shape, as_floats, as_seed, as_shape, whole

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

TWINS = 0.9  # correlation of two patterns at some shift above which one is replaced
RIDGE = 1e-9  # of the largest diagonal entry, added where pixels of a pattern are not determined


@dataclass(frozen=True, eq=False)
class Occurrences:
    """A signal as a sum of patterns at places.

    Parameters
    ----------
    patterns : ndarray
        Patterns of norm 1, ``(k, ...)``.
    which : ndarray of int
        Number of the pattern of each occurrence, ``(n,)``.
    places : ndarray of int
        First corner of each occurrence, ``(n, axes)``.
    values : ndarray
        Coefficient of each occurrence, ``(n,)``.

    See Also
    --------
    learn_patterns : Learn patterns from a signal.
    find_occurrences : Find given patterns in a signal.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.baselines import Occurrences
    >>> found = Occurrences(np.ones((1, 2)) / np.sqrt(2), np.array([0]), np.array([[3]]), np.array([np.sqrt(2)]))
    >>> found.rebuilt((6,))
    array([0., 0., 0., 1., 1., 0.])
    """

    patterns: Floats
    which: Places
    places: Places
    values: Floats

    def rebuilt(self, shape: Shape) -> Floats:
        """Compute the sum of all occurrences.

        Parameters
        ----------
        shape : int or sequence of int
            Shape of the signal.

        Returns
        -------
        ndarray
            The sum.
        """
        lengths = as_shape("shape", shape, ndim=self.patterns.ndim - 1)
        flat = self.atoms(lengths).T @ self.values
        return np.asarray(flat).reshape(lengths)

    def atoms(self, shape: tuple[int, ...]) -> csr_array:
        """Return the shifted patterns as rows of a sparse matrix.

        Parameters
        ----------
        shape : tuple of int
            Shape of the signal.

        Returns
        -------
        scipy.sparse.csr_array
            Matrix with one row per occurrence and one column per value of the signal.
        """
        n, size = len(self.values), math.prod(self.patterns.shape[1:])
        columns = _starts(self.places, shape)[:, None] + _offsets(self.patterns.shape[1:], shape)
        entries = self.patterns.reshape(len(self.patterns), -1)[self.which].ravel()
        begins = np.arange(n + 1) * size
        return csr_array((entries, columns.ravel(), begins), shape=(n, math.prod(shape)))


@dataclass(frozen=True, eq=False)
class PatternsFit:
    """Learned patterns.

    Parameters
    ----------
    found : Occurrences
        Patterns, and where they occur in the signal.
    errors : tuple of float
        Squared error after each step, over the squared norm of the signal.

    See Also
    --------
    learn_patterns : Make one.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.baselines import learn_patterns
    >>> signal = np.zeros(200)
    >>> signal[[20, 60, 100, 150]] = 1.0, 2.0, -1.0, 1.5
    >>> fit = learn_patterns(np.convolve(signal, [1.0, -2.0, 1.0], "same"), 1, 3, n_occurrences=4, n_steps=5)
    >>> fit.errors[-1] < 1e-9
    True
    """

    found: Occurrences
    errors: tuple[float, ...]

    @property
    def patterns(self) -> Floats:
        """The patterns, of norm 1, ``(k, ...)``."""
        return self.found.patterns


def learn_patterns(
    signal: ArrayLike,
    n_patterns: int,
    shape: Shape,
    *,
    n_occurrences: int,
    n_steps: int = 30,
    start: ArrayLike | None = None,
    rng: RNG = 0,
    callback: Callable[[float], None] | None = None,
) -> PatternsFit:
    """Learn the patterns of which a signal or image is made, at any places (shift-invariant K-SVD).

    Parameters
    ----------
    signal : array_like
        Signal, image or volume.
    n_patterns : int
        Number of patterns.
    shape : int or sequence of int
        Shape of a pattern.
    n_occurrences : int
        Number of occurrences of all patterns together.
    n_steps : int, default: 30
        Number of iterations.
    start : array_like, optional
        Initial patterns, ``(n_patterns, ...)``. Default: parts of the signal, drawn at random where it is strong.
    rng : numpy.random.Generator, int or None, optional
        Random number generator or seed, for the default of `start`.
    callback : callable, optional
        Called with the fraction of the work that is done.

    Returns
    -------
    PatternsFit
        Patterns, occurrences and errors.

    Raises
    ------
    ValueError
        If a pattern does not fit in the signal, or the signal is zero.

    See Also
    --------
    ShiftInvariant : Patches of an image on patterns with shifts.
    epitomes.phi.shift_invariant : Such a dictionary for patches.

    Notes
    -----
    The signal is ``s(t) = sum_o c_o m_k(o)(t - tau_o)``. Each iteration finds the occurrences by matching pursuit, with
    correlations updated where an occurrence was taken off, and fits all coefficients again. Then, for one pattern after
    another, with r the residual without it and P the matrix with ``(P m)(t) = sum_o c_o m(t - tau_o)``, the pattern
    solves ``P'P m = P'r``, which counts overlaps of occurrences correctly [1]_, and its coefficients are fitted to it.
    The pattern is first solved for on a wider support, of which the part with the most energy is kept: a pattern that
    was learned off its centre moves there. Patterns without occurrences, or like another one, are replaced by the part
    of the signal that is explained worst.

    References
    ----------
    .. [1] B. Mailhé, S. Lesage, R. Gribonval, F. Bimbot, P. Vandergheynst, "Shift-invariant dictionary learning for
       sparse representations: extending K-SVD", EUSIPCO 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.baselines import learn_patterns
    >>> rng = np.random.default_rng(0)
    >>> pattern, spikes = np.hanning(9)[1:-1], np.zeros(300)
    >>> spikes[rng.choice(290, 12, replace=False)] = 1.0
    >>> fit = learn_patterns(np.convolve(spikes, pattern)[:300], 1, 7, n_occurrences=12, n_steps=10)
    >>> float(abs(fit.patterns[0] @ pattern) / np.linalg.norm(pattern)) > 0.99
    True
    """
    y = np.asarray(as_floats("signal", signal, dtype=np.float64), np.float64)
    lengths = _fitting(shape, y.shape)
    whole("n_patterns", n_patterns, least=1)
    whole("n_occurrences", n_occurrences, least=1)
    whole("n_steps", n_steps, least=1)
    energy = float(np.sum(y**2))
    if not energy > 0:
        raise ValueError("the signal is zero everywhere: there are no patterns to learn")
    random = np.random.default_rng(as_seed(rng))
    patterns = _drawn(y, n_patterns, lengths, random) if start is None else _given(start, n_patterns, lengths)
    errors = []
    for step in range(n_steps):
        found = find_occurrences(y, patterns, n_occurrences=n_occurrences)
        found = _improved(y, found)
        errors.append(float(np.sum((y - found.rebuilt(y.shape)) ** 2)) / energy)
        if step + 1 < n_steps:
            patterns = _replaced(y, found)
        if callback is not None:
            callback((step + 1) / n_steps)
    return PatternsFit(found, tuple(errors))


def find_occurrences(signal: ArrayLike, patterns: ArrayLike, *, n_occurrences: int) -> Occurrences:
    """Find patterns in a signal by matching pursuit, and fit all their coefficients together.

    Parameters
    ----------
    signal : array_like
        Signal, image or volume.
    patterns : array_like
        Patterns ``(k, ...)``, of as many axes as the signal. They are scaled to norm 1.
    n_occurrences : int
        Number of occurrences, at most.

    Returns
    -------
    Occurrences
        Patterns, places and coefficients, those of one place joined.

    See Also
    --------
    learn_patterns : Learn the patterns as well.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.baselines import find_occurrences
    >>> signal = np.array([0.0, 3.0, 3.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    >>> find_occurrences(signal, [[1.0, 1.0]], n_occurrences=2).places.ravel()
    array([1, 5])
    """
    y = np.asarray(as_floats("signal", signal, dtype=np.float64), np.float64)
    kinds = np.asarray(as_floats("patterns", patterns, ndim=y.ndim + 1, dtype=np.float64), np.float64)
    _fitting(kinds.shape[1:], y.shape)
    kinds = _unit(kinds)
    flat = _pursued(y, kinds, whole("n_occurrences", n_occurrences, least=1))
    which, *places = np.unravel_index(flat, _grid(kinds, y.shape))
    bare = Occurrences(kinds, which, np.stack(places, axis=1), np.zeros(len(flat)))
    return _refitted(y, bare)


def _pursued(y: Floats, patterns: Floats, n_most: int) -> Places:
    """Matching pursuit: the flat indices of pattern and place, each once, in rising order."""
    lengths = patterns.shape[1:]
    correlations = np.stack([scipy.signal.correlate(y, each, mode="valid", method="fft") for each in patterns])
    between = np.stack(  # [k, l, shift]: the products of pattern k, shifted, with pattern l
        [[scipy.signal.correlate(one, other, mode="full", method="direct") for other in patterns] for one in patterns]
    )
    sizes = np.abs(correlations)
    least = 1e-10 * float(sizes.max(initial=0.0))
    taken = set()
    for _ in range(n_most):
        best = int(np.argmax(sizes))
        k, *place = (int(i) for i in np.unravel_index(best, correlations.shape))
        value = correlations[(k, *place)]
        if not abs(value) > least:
            break
        taken.add(best)
        near, part = _overlap(place, lengths, correlations.shape[1:])
        correlations[(slice(None), *near)] -= value * between[k][(slice(None), *part)]
        sizes[(slice(None), *near)] = np.abs(correlations[(slice(None), *near)])
    return np.array(sorted(taken), np.intp)


def _overlap(
    place: list[int], lengths: tuple[int, ...], grid: tuple[int, ...]
) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """The places whose patterns overlap one at `place`, and the shifts that lead to them."""
    near, part = [], []
    for at, length, n in zip(place, lengths, grid, strict=True):
        first, last = max(0, at - length + 1), min(n, at + length)
        near.append(slice(first, last))
        part.append(slice(first - at + length - 1, last - at + length - 1))
    return tuple(near), tuple(part)


def _improved(y: Floats, found: Occurrences) -> Occurrences:
    """Change one pattern after another, with its places and coefficients."""
    shape, lengths = y.shape, found.patterns.shape[1:]
    patterns, places, values = found.patterns.copy(), found.places.copy(), found.values.copy()
    atoms = found.atoms(shape)
    residual = y.ravel() - atoms.T @ values
    for k in range(len(patterns)):
        mine = np.flatnonzero(found.which == k)
        if not len(mine):
            continue
        without = residual + atoms[mine].T @ values[mine]
        pattern, move = _solved(without.reshape(shape), places[mine], values[mine], lengths)
        moved = places[mine] + move
        inside = ((moved >= 0) & (moved <= np.array(shape) - lengths)).all(axis=1)
        if not pattern.any() or not inside.any():
            continue
        patterns[k] = pattern / np.sqrt(np.sum(pattern**2))
        places[mine] = np.clip(moved, 0, np.array(shape) - lengths)
        one = _refitted(
            without.reshape(shape),
            Occurrences(patterns[k : k + 1], np.zeros(len(mine), np.intp), places[mine], values[mine]),
        )
        values[mine] = one.values
        residual = without - one.atoms(shape).T @ one.values
    return Occurrences(patterns, found.which, places, values)


def _solved(residual: Floats, places: Places, values: Floats, lengths: tuple[int, ...]) -> tuple[Floats, Places]:
    """The pattern that fits its occurrences best, and by how much its window moved, to where most of its energy is."""
    wider = tuple(min(length // 2, (n - length) // 2) for length, n in zip(lengths, residual.shape, strict=True))
    window = tuple(length + 2 * extra for length, extra in zip(lengths, wider, strict=True))
    room = [(extra, extra) for extra in wider]
    padded, real = np.pad(residual, room), np.pad(np.ones(residual.shape, bool), room).ravel()
    size = math.prod(window)
    rows = (_starts(places, padded.shape)[:, None] + _offsets(window, padded.shape)).ravel()
    columns, entries = np.tile(np.arange(size), len(places)), np.repeat(values, size)
    inside = real[rows]  # beyond the signal nothing is known
    P = coo_array((entries[inside], (rows[inside], columns[inside])), shape=(padded.size, size)).tocsr()
    normal = (P.T @ P).toarray()
    normal[np.diag_indices(size)] += RIDGE * float(np.diagonal(normal).max())
    wide = np.linalg.solve(normal, P.T @ padded.ravel()).reshape(window)
    held = scipy.signal.correlate(wide**2, np.ones(lengths), mode="valid", method="direct")
    corner = np.array(np.unravel_index(int(np.argmax(held)), held.shape), np.intp)
    kept = wide[tuple(slice(c, c + length) for c, length in zip(corner, lengths, strict=True))]
    return kept, corner - np.array(wider)


def _refitted(y: Floats, found: Occurrences) -> Occurrences:
    """Fit all coefficients together; occurrences at one place, which cannot be told apart, share theirs."""
    if not len(found.which):
        return found
    atoms = found.atoms(y.shape)
    normal = (atoms @ atoms.T).tocsc()
    normal.setdiag(normal.diagonal() * (1 + RIDGE))
    return replace(found, values=np.atleast_1d(spsolve(normal, atoms @ y.ravel())))


def _replaced(y: Floats, found: Occurrences) -> Floats:
    """The patterns, with the part of the signal that is explained worst for one without occurrences or like another."""
    patterns, lengths = found.patterns.copy(), found.patterns.shape[1:]
    residual = y - found.rebuilt(y.shape)
    used = np.bincount(found.which, weights=np.abs(found.values), minlength=len(patterns))
    for k in range(len(patterns)):
        alike = any(
            np.abs(scipy.signal.correlate(patterns[k], other, mode="full", method="direct")).max() > TWINS
            for other in patterns[:k]
        )
        if used[k] > 0 and not alike:
            continue
        window = _strongest(residual, lengths)
        part = residual[window].copy()
        residual[window] = 0.0  # the next one looks elsewhere
        if part.any():
            patterns[k] = part / np.sqrt(np.sum(part**2))
    return patterns


def _strongest(residual: Floats, lengths: tuple[int, ...]) -> tuple[slice, ...]:
    power = scipy.signal.correlate(residual**2, np.ones(lengths), mode="valid", method="direct")
    corner = np.unravel_index(int(np.argmax(power)), power.shape)
    return tuple(slice(int(c), int(c) + length) for c, length in zip(corner, lengths, strict=True))


def _drawn(y: Floats, n: int, lengths: tuple[int, ...], random: np.random.Generator) -> Floats:
    """Parts of the signal, drawn with probabilities that grow with their energy."""
    power = scipy.signal.correlate(y**2, np.ones(lengths), mode="valid", method="direct").ravel()
    corners = random.choice(power.size, n, p=np.maximum(power, 0) / np.maximum(power, 0).sum())
    grid = tuple(side - length + 1 for side, length in zip(y.shape, lengths, strict=True))
    starts = _starts(np.stack(np.unravel_index(corners, grid), axis=1), y.shape)
    return _unit(y.ravel()[starts[:, None] + _offsets(lengths, y.shape)].reshape(n, *lengths))


def _given(start: ArrayLike, n: int, lengths: tuple[int, ...]) -> Floats:
    patterns = np.asarray(as_floats("start", start, dtype=np.float64), np.float64)
    if patterns.shape != (n, *lengths):
        raise ValueError(f"start needs the shape {(n, *lengths)}, one pattern after another, got {patterns.shape}")
    return _unit(patterns)


def _unit(patterns: Floats) -> Floats:
    norms = np.sqrt(np.sum(patterns.reshape(len(patterns), -1) ** 2, axis=1))
    if not norms.min() > 0:
        raise ValueError(f"pattern {int(np.argmin(norms))} is zero: every pattern needs a value that is not")
    return np.asarray(patterns / norms.reshape(-1, *(1,) * (patterns.ndim - 1)))


def _fitting(shape: Shape, signal: tuple[int, ...]) -> tuple[int, ...]:
    lengths = as_shape("shape", shape, ndim=len(signal))
    if any(length > n for length, n in zip(lengths, signal, strict=True)):
        raise ValueError(f"patterns of shape {lengths} do not fit in a signal of shape {signal}: use smaller ones")
    return lengths


def _grid(patterns: Floats, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (len(patterns), *(n - length + 1 for n, length in zip(shape, patterns.shape[1:], strict=True)))


def _starts(places: Places, shape: tuple[int, ...]) -> Places:
    return np.asarray(np.ravel_multi_index(tuple(places.T), shape), np.intp)


def _offsets(lengths: tuple[int, ...], shape: tuple[int, ...]) -> Places:
    return np.asarray(np.ravel_multi_index(tuple(np.indices(lengths).reshape(len(lengths), -1)), shape), np.intp)
