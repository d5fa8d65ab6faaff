"""Moments: all that the dictionary step needs to know of the coded patches (paper, section 3.2).

They are sums over patches. Batches, epochs and workers can therefore be summarised apart and added, and old ones can be
forgotten by degrees. Their size depends on the dictionary alone.
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
    """With patches X `(n, m)` and codes A `(n, p)`: `A'A`, `A'X`, the column sums of `|A|`, `|X|^2` and n."""

    gram: Sums  # A'A, (p, p)
    cross: Sums  # A'X, (p, m)
    mass: Sums  # sum_i |a_ij|, (p,)
    energy: float  # |X|^2
    count: float  # n; not whole once moments have been forgotten by degrees

    @classmethod
    def of(cls, patches: ArrayLike | Patches, codes: Codes, *, threads: int | None = None) -> Moments:
        """Summarise coded patches. Every sum runs in the order of the patches, whatever the number of threads."""
        source = patches if isinstance(patches, Patches) else as_floats("patches", patches, ndim=2)
        size = source.patch_size if isinstance(source, Patches) else int(source.shape[1])
        p = int(codes.shape[1])
        return cls(np.zeros((p, p)), np.zeros((p, size)), np.zeros(p), 0.0, 0.0)._with(source, codes, threads)

    def then(
        self, patches: ArrayLike | Patches, codes: Codes, *, keep: float = 1.0, threads: int | None = None
    ) -> Moments:
        """`self.scaled(keep) + Moments.of(patches, codes)`, up to rounding, with fewer passes over memory."""
        source = patches if isinstance(patches, Patches) else as_floats("patches", patches, ndim=2)
        return self.scaled(keep)._with(source, codes, threads)

    def _with(self, source: Patches | Array, codes: Codes, threads: int | None) -> Moments:
        """Add coded patches to sums that nobody else has seen yet, in place."""
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
            piece = _block(A, first, last, rows)

            def add(
                atoms: tuple[int, int], stop: blocks.Stop, rows: Array = rows, piece: kernels.Start = piece
            ) -> None:
                kernels.summarise(rows, piece, atoms, gram, cross, mass)

            blocks.run(add, shares, threads=threads)
        return Moments(gram, cross, mass, self.energy + energy, self.count + len(source))

    def __add__(self, other: Moments) -> Moments:
        """The moments of both sets of patches together."""
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
        """The moments of patches that count `weight` each: below 1, they are forgotten by degrees."""
        share = positive("weight", weight, zero=True)
        return Moments(
            share * self.gram, share * self.cross, share * self.mass, share * self.energy, share * self.count
        )

    def recoded(self, factor: float) -> Moments:
        """The moments of the codes `factor * A`, for a dictionary divided by `factor`."""
        return Moments(factor**2 * self.gram, factor * self.cross, factor * self.mass, self.energy, self.count)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which atoms some patch uses, `(p,)`."""
        return self.mass > 0


def _checked(codes: Codes, n: int) -> csr_array:
    if not issparse(codes):
        raise TypeError(f"codes must be sparse, as encode returns them, got {type(codes).__name__}")
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
