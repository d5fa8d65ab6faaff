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
    """Lasso by an active set, with the weights of the paper (Eq. 2).

    Parameters
    ----------
    lam : float
        Regularisation parameter: the penalty is ``lam * |d_j| * |a_j|``, summed over the atoms.
    tol : float, optional
        Relative tolerance of the optimality conditions.
    positive : bool, optional
        Whether coefficients must not be negative.

    See Also
    --------
    LassoLARS : The same codes, with the path of solutions.

    Notes
    -----
    The codes minimise ``1/2 |x - a D|^2 + lam sum_j |d_j| |a_j|``. At the solution, no atom correlates with the
    residual by more than ``lam * (1 + tol) * |d_j|``. `gap` bounds the distance of the objective from its minimum.

    With a mask, the error counts known pixels only; the penalty uses the norms of the whole atoms.

    In float32, correlations have a precision of about ``1e-6 * |x|``. Use float64 patches if `lam` is smaller than a
    thousandth of the largest correlation and atoms are nearly parallel.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import Dictionary
    >>> from epitomes.coders import Lasso
    >>> dictionary = Dictionary(np.eye(3))
    >>> coder, patches = Lasso(lam=1.0), np.array([[5.0, 0.5, -2.0]])
    >>> codes = coder.encode(patches, dictionary)
    >>> codes.toarray()
    array([[ 4.,  0., -1.]])
    >>> bool(coder.gap(patches, dictionary, codes).max() < 1e-9)
    True
    """

    lam: float  # penalty of |a_j| |d_j|
    tol: float = 1e-4  # relative tolerance of the optimality conditions
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
        """Compute the sparse codes of patches.

        Parameters
        ----------
        patches : array_like or Patches
            Rows of shape ``(n, m)``, or the patches of an image.
        dictionary : Dictionary
            Atoms of `m` pixels each.
        start : csr_array, optional
            Codes of the same patches on similar atoms (warm start). It saves time and does not change the optimum.
        mask : array_like of bool, optional
            Known pixels, of shape ``(n, m)``. The error counts known pixels only.
        threads : int, optional
            Number of threads. By default the environment variable ``EPITOMES_NUM_THREADS``, or one per available core.

        Returns
        -------
        csr_array
            Codes of shape ``(n, p)``, with sorted indices, in the dtype of the patches.
        """

        def work(engine: Engine, source: Source, begin: Start | None, stop: blocks.Stop) -> Packed:
            return engine.lasso(source, self.lam, self.tol, self.positive, begin, stop)

        return encode(work, patches, dictionary, start, mask, threads)

    def gap(
        self, patches: ArrayLike | Patches, dictionary: Dictionary, codes: Codes, *, mask: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Compute the duality gap of each patch: an upper bound of its distance from the optimum.

        Parameters
        ----------
        patches : array_like or Patches
            Rows of shape ``(n, m)``, or the patches of an image.
        dictionary : Dictionary
            Atoms of `m` pixels each.
        codes : csr_array
            Codes of shape ``(n, p)``, from any coder.
        mask : array_like of bool, optional
            Known pixels, of shape ``(n, m)``, as in `encode`.

        Returns
        -------
        ndarray of float64
            Gaps of shape ``(n,)``: the objective is at most this much above its minimum.
        """
        known = None if mask is None else as_mask("mask", mask, (codes.shape[0], dictionary.patch_size))
        return duality_gap(patches, dictionary, codes, self.lam, positive=self.positive, mask=known)
