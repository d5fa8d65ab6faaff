"""The lasso by least angle regression (LARS), as in the paper (section 3.1), and its regularisation path."""

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
    """Lasso by least angle regression (LARS): slower than `Lasso`, but gives the regularisation path.

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
    Lasso : The same codes, computed faster.

    Notes
    -----
    The codes minimise ``1/2 |x - a D|^2 + lam sum_j |d_j| |a_j|``.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import Dictionary
    >>> from epitomes.coders import LassoLARS
    >>> dictionary = Dictionary(np.eye(3))
    >>> lams, codes = LassoLARS(lam=1.0).path(np.array([5.0, 0.5, -2.0]), dictionary)
    >>> lams
    array([5., 2., 1.])
    >>> codes.toarray()
    array([[ 0.,  0.,  0.],
           [ 3.,  0.,  0.],
           [ 4.,  0., -1.]])
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
            Ignored, apart from a check of its shape: a path always begins with an empty code.
        mask : None, optional
            Masks are not supported: use `Lasso` for patches with unknown pixels.
        threads : int, optional
            Number of threads. By default the environment variable ``EPITOMES_NUM_THREADS``, or one per available core.

        Returns
        -------
        csr_array
            Codes of shape ``(n, p)``, with sorted indices, in the dtype of the patches.
        """
        if mask is not None:
            raise ValueError("LassoLARS does not support mask: use Lasso, which solves the same problem")

        def work(engine: Engine, source: Source, begin: Start | None, stop: blocks.Stop) -> Packed:
            return engine.lasso_lars(source, self.lam, self.tol, self.positive, stop)

        return encode(work, patches, dictionary, start, mask, threads)

    def path(self, patch: ArrayLike, dictionary: Dictionary) -> tuple[NDArray[np.float64], Codes]:
        """Compute the regularisation path of one patch, from an empty code down to `lam`.

        Parameters
        ----------
        patch : array_like
            Patch of `m` pixels, as a vector.
        dictionary : Dictionary
            Atoms of `m` pixels each.

        Returns
        -------
        lams : ndarray of float64
            Knots of the path, in decreasing order, of shape ``(k,)``: the values at which an atom enters or leaves. The
            first is the largest correlation, the last is `lam`.
        codes : csr_array
            Codes at the knots, of shape ``(k, p)``, in float64. Between two knots, the code is linear in `lam`.
        """
        row = as_floats("patch", patch, ndim=1, dtype=np.float64)
        if len(row) != dictionary.patch_size:
            raise ValueError(f"the patch has {len(row)} pixels, the atoms {dictionary.patch_size}")
        full = dictionary.astype(np.dtype(np.float64))
        lams, counts, atoms, values = full.engine.path(row, self.lam, self.tol, self.positive)
        begins = np.concatenate([[0], np.cumsum(counts)])
        shape = (len(lams), full.n_atoms)
        return lams, csr_array((values / full.norms[atoms], atoms, begins), shape=shape)
