"""The lasso with the weights of Eq. 2, `1/2 |x - a D|^2 + lam sum_j |d_j| |a_j|`, by an active set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes import blocks
from epitomes.checks import as_mask, positive
from epitomes.coders._encode import encode
from epitomes.coders.gap import duality_gap
from epitomes.coders.protocol import Codes
from epitomes.dictionary import Dictionary
from epitomes.kernels import Engine, Packed, Source, Start
from epitomes.patches import Patches


@dataclass(frozen=True, kw_only=True)
class Lasso:
    """Sparse codes that minimise `1/2 |x - a D|^2 + lam sum_j |d_j| |a_j|`, exactly up to `tol`.

    At the end no atom correlates with the residual by more than `lam (1 + tol) |d_j|`. `gap` certifies the result: the
    objective is never further above its minimum than the gap says. With a mask the error counts known pixels only; the
    penalty keeps the norms of the whole atoms.

    In float32 a correlation is known to about a millionth of `|x|`. Where lam is below a thousandth of the largest
    correlation and atoms are nearly parallel, that is coarse: give float64 patches there.
    """

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
        """Code patches. `start`, codes of the same patches on atoms nearby, saves time and changes no optimum."""

        def work(engine: Engine, source: Source, begin: Start | None, stop: blocks.Stop) -> Packed:
            return engine.lasso(source, self.lam, self.tol, self.positive, begin, stop)

        return encode(work, patches, dictionary, start, mask, threads)

    def gap(
        self, patches: ArrayLike | Patches, dictionary: Dictionary, codes: Codes, *, mask: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """`(n,)` duality gaps in float64: bounds on how far the codes are from optimal, whoever made them."""
        known = None if mask is None else as_mask("mask", mask, (codes.shape[0], dictionary.patch_size))
        return duality_gap(patches, dictionary, codes, self.lam, positive=self.positive, mask=known)
