"""The contract of a coder: patches and a dictionary in, sparse codes out (paper, section 3.1)."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from epitomes.dictionary import Dictionary
from epitomes.patches import Patches

Codes: TypeAlias = csr_array  # (n, p), sorted indices; codes @ dictionary.atoms approximates the patches


class Coder(Protocol):
    """Protocol of sparse coders: any object with these members can be used.

    See Also
    --------
    OMP : Orthogonal matching pursuit.
    OLS : Orthogonal least squares.
    Lasso : Lasso by an active set.
    LassoLARS : Lasso by least angle regression.
    epitomes.testing.check_coder : Test an implementation of this protocol.

    Notes
    -----
    The code of a patch does not depend on the batch, the tile or the thread in which it is computed: all bits are
    equal.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import Dictionary
    >>> from epitomes.coders import OMP, Coder
    >>> def n_coefficients(coder: Coder) -> int:
    ...     return coder.encode(np.ones((1, 4)), Dictionary(np.eye(4))).nnz
    >>> n_coefficients(OMP(n_nonzero=2))
    2
    """

    @property
    def lam(self) -> float:
        """Regularisation parameter of the lasso; 0.0 for greedy coders."""
        ...

    def encode(
        self,
        patches: ArrayLike | Patches,
        dictionary: Dictionary,
        start: Codes | None = None,
        *,
        mask: ArrayLike | None = None,
        threads: int | None = None,
    ) -> Codes:
        """Compute the sparse codes of patches.

        Parameters
        ----------
        patches : array_like or Patches
            Rows of shape ``(n, m)``, or the patches of an image.
        dictionary : Dictionary
            Atoms of `m` pixels each.
        start : csr_array, optional
            Codes of the same patches from which an iterative coder starts (warm start).
        mask : array_like of bool, optional
            Known pixels, of shape ``(n, m)``. The error counts known pixels only.
        threads : int, optional
            Number of threads. By default the environment variable ``EPITOMES_NUM_THREADS``, or one per available core.

        Returns
        -------
        csr_array
            Codes of shape ``(n, p)``, with sorted indices, in the dtype of the patches.
        """
        ...
