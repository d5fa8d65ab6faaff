"""Moments: all that the dictionary step needs to know about the coded patches (paper, section 3.2).

They are sums over patches. Batches, epochs and workers can therefore be summarised separately and added, and older ones
can be given less weight. Their size depends on the dictionary alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from epitomes import blocks, kernels
from epitomes.checks import Array, as_floats, positive
from epitomes.coders import Codes
from epitomes.patches import Patches

Sums = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over coded patches that determine the dictionary step.

    With patches X of shape ``(n, m)`` as rows and codes A of shape ``(n, p)``. `Moments.of` computes them.

    Parameters
    ----------
    gram : ndarray of shape (p, p)
        ``A'A``.
    cross : ndarray of shape (p, m)
        ``A'X``.
    mass : ndarray of shape (p,)
        Column sums of ``|A|``.
    energy : float
        ``|X|^2``, the sum of squares of the patches.
    count : float
        Number of patches n; a fraction when patches are weighted.

    See Also
    --------
    cost : Objective of the dictionary step.
    gradient : Gradient of the objective.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from epitomes.learn import Moments
    >>> X, A = np.array([[1.0, 2.0], [3.0, 4.0]]), csr_array([[1.0], [-2.0]])
    >>> moments = Moments.of(X, A)
    >>> moments.cross, moments.mass, moments.energy, moments.count
    (array([[-5., -6.]]), array([3.]), 30.0, 2.0)
    """

    gram: Sums
    cross: Sums
    mass: Sums
    energy: float
    count: float

    @classmethod
    def of(cls, patches: ArrayLike | Patches, codes: Codes, *, threads: int | None = None) -> Moments:
        """Compute the moments of coded patches.

        Every sum runs in the order of the patches, so the number of threads does not change the result.

        Parameters
        ----------
        patches : array_like or Patches
            Patches of an image, or patches as rows of an array of shape ``(n, m)``.
        codes : scipy.sparse.csr_array of shape (n, p)
            Codes of the patches, as a coder returns them.
        threads : int, optional
            Number of threads. Default: one per processor.

        Returns
        -------
        Moments
            The moments.
        """
        source = patches if isinstance(patches, Patches) else as_floats("patches", patches, ndim=2)
        size = source.patch_size if isinstance(source, Patches) else int(source.shape[1])
        p = int(codes.shape[1])
        return cls(np.zeros((p, p)), np.zeros((p, size)), np.zeros(p), 0.0, 0.0)._with(source, codes, threads)

    def then(
        self, patches: ArrayLike | Patches, codes: Codes, *, keep: float = 1.0, threads: int | None = None
    ) -> Moments:
        """Weight these moments and add those of more coded patches.

        Parameters
        ----------
        patches : array_like or Patches
            Patches of an image, or patches as rows of an array of shape ``(n, m)``.
        codes : scipy.sparse.csr_array of shape (n, p)
            Codes of the patches.
        keep : float, optional
            Weight of the moments so far.
        threads : int, optional
            Number of threads. Default: one per processor.

        Returns
        -------
        Moments
            ``self.scaled(keep) + Moments.of(patches, codes)`` up to rounding, with fewer passes over memory.
        """
        source = patches if isinstance(patches, Patches) else as_floats("patches", patches, ndim=2)
        return self.scaled(keep)._with(source, codes, threads)

    def _with(self, source: Patches | Array, codes: Codes, threads: int | None) -> Moments:
        """Add coded patches to these sums in place; the sums must be new."""
        A = _checked(codes, len(source))
        gram, cross, mass = self.gram, self.cross, self.mass
        n_atoms = len(mass)
        if A.shape[1] != n_atoms:
            raise ValueError(f"codes need {n_atoms} columns, one per atom of the moments, got {A.shape[1]}")
        shares = blocks.shares(n_atoms, threads)
        energy = 0.0
        for first, last in blocks.split(len(source)):
            rows = source.rows(first, last)[0] if isinstance(source, Patches) else source[first:last]
            energy += math.fsum(np.einsum("nm,nm->n", rows, rows, dtype=np.float64))
            block = _block(A, first, last, rows)

            def add(
                atoms: tuple[int, int], stop: blocks.Stop, rows: Array = rows, block: kernels.Start = block
            ) -> None:
                kernels.summarise(rows, block, atoms, gram, cross, mass)

            blocks.run(add, shares, threads=threads)
        return Moments(gram, cross, mass, self.energy + energy, self.count + len(source))

    def __add__(self, other: Moments) -> Moments:
        """Return the moments of both sets of patches together."""
        if self.cross.shape != other.cross.shape:
            raise ValueError(
                f"moments of {other.cross.shape} (atoms, pixels) cannot be added to those of {self.cross.shape}"
            )
        return Moments(
            self.gram + other.gram,
            self.cross + other.cross,
            self.mass + other.mass,
            self.energy + other.energy,
            self.count + other.count,
        )

    def scaled(self, weight: float) -> Moments:
        """Return the moments of the same patches, each counted `weight` times.

        Parameters
        ----------
        weight : float
            Weight of a patch, at least 0.

        Returns
        -------
        Moments
            All sums multiplied by `weight`.
        """
        share = positive("weight", weight, zero=True)
        return Moments(
            share * self.gram, share * self.cross, share * self.mass, share * self.energy, share * self.count
        )

    def recoded(self, factor: float) -> Moments:
        """Return the moments of the codes ``factor * A``, which belong to a dictionary divided by `factor`.

        Parameters
        ----------
        factor : float
            Factor of the codes.

        Returns
        -------
        Moments
            Moments of the same patches with rescaled codes.
        """
        return Moments(factor**2 * self.gram, factor * self.cross, factor * self.mass, self.energy, self.count)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Mask of the atoms that at least one patch uses, of shape ``(p,)``."""
        return self.mass > 0


def _checked(codes: Codes, n: int) -> csr_array:
    if not issparse(codes):
        raise TypeError(f"codes must be a sparse array, as encode returns it, got {type(codes).__name__}")
    if codes.shape[0] != n:
        raise ValueError(f"codes need one row per patch, {n}, got {codes.shape[0]}")
    return csr_array(codes)


def _block(A: csr_array, first: int, last: int, rows: Array) -> kernels.Start:
    low, high = int(A.indptr[first]), int(A.indptr[last])
    return (
        A.indptr[first : last + 1].astype(np.int64) - low,
        A.indices[low:high].astype(np.int32),
        A.data[low:high].astype(rows.dtype),
    )
