"""The contract of a coder: patches and a dictionary in, sparse codes out (paper, section 3.1)."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from epitomes.dictionary import Dictionary
from epitomes.patches import Patches

Codes: TypeAlias = csr_array  # (n, p), atoms rising in each row; codes @ dictionary.atoms ~ patches


class Coder(Protocol):
    """Anything that codes patches. A patch gets the same bits alone, in a batch, in a tile or on another thread."""

    @property
    def lam(self) -> float: ...  # price of |a_j| |d_j|; 0.0 for greedy coders

    def encode(
        self,
        patches: ArrayLike | Patches,
        dictionary: Dictionary,
        start: Codes | None = None,
        *,
        mask: ArrayLike | None = None,
        threads: int | None = None,
    ) -> Codes:
        """Code rows `(n, m)` or the patches of an image; `start` has codes to begin with, `mask` the known pixels."""
