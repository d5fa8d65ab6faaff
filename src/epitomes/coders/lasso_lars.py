"""The lasso by LARS, as in the paper (section 3.1), and its whole path from an empty code down to lam."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from epitomes import blocks
from epitomes.checks import as_floats, positive
from epitomes.coders._encode import encode
from epitomes.coders.protocol import Codes
from epitomes.dictionary import Dictionary
from epitomes.kernels import Engine, Packed, Source, Start
from epitomes.patches import Patches


@dataclass(frozen=True, kw_only=True)
class LassoLARS:
    """The same codes as `Lasso`, found by following the path of solutions: slower, but the path is there to be read."""

    lam: float  # price of |a_j| |d_j|
    tol: float = 1e-4  # how far a correlation may stay above lam, relatively
    positive: bool = False  # codes >= 0

    def __post_init__(self) -> None:
        positive("lam", self.lam)
        positive("tol", self.tol)

    def encode(
        self,
        patches: ArrayLike | Patches,
        dictionary: Dictionary,
        start: Codes | None = None,
        *,
        mask: ArrayLike | None = None,
        threads: int | None = None,
    ) -> Codes:
        """Code patches. A path begins with nothing, so `start` is checked and otherwise left alone."""
        if mask is not None:
            raise ValueError("LassoLARS takes no mask: Lasso solves the same problem with one")

        def work(engine: Engine, source: Source, begin: Start | None, stop: blocks.Stop) -> Packed:
            return engine.lasso_lars(source, self.lam, self.tol, self.positive, stop)

        return encode(work, patches, dictionary, start, mask, threads)

    def path(self, patch: ArrayLike, dictionary: Dictionary) -> tuple[NDArray[np.float64], Codes]:
        """The falling values of lam where an atom enters or leaves, `(k,)`, and the codes there, `(k, p)`, in float64.

        The first knot is the largest correlation, where the code is still empty; the last is `lam`. Between two knots
        the code is linear in lam. Where lam is above the largest correlation, the only knot is lam with an empty code.
        """
        row = as_floats("patch", patch, ndim=1, dtype=np.float64)
        if len(row) != dictionary.patch_size:
            raise ValueError(f"the patch has {len(row)} pixels, the atoms {dictionary.patch_size}")
        full = dictionary.astype(np.dtype(np.float64))
        lams, counts, atoms, values = full.engine.path(row, self.lam, self.tol, self.positive)
        begins = np.concatenate([[0], np.cumsum(counts)])
        shape = (len(lams), full.n_atoms)
        return lams, csr_array((values / full.norms[atoms], atoms, begins), shape=shape)
