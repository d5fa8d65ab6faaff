"""Greedy coders: select one atom after another until the residual is small (paper, section 5.4).

Both update the coefficients of all selected atoms after each selection. `OMP` selects the atom that correlates most
with the residual, `OLS` the one that leaves the smallest residual, which needs fewer atoms for the same error. The
function `omp` of SPAMS is an OLS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from epitomes.blocks import Stop
from epitomes.checks import positive, whole
from epitomes.coders._encode import Work, encode, require_dictionary
from epitomes.coders.protocol import Codes
from epitomes.dictionary import Dictionary
from epitomes.kernels import Engine, Packed, Source, Start
from epitomes.patches import Patches


@dataclass(frozen=True, kw_only=True)
class OMP:
    """Orthogonal matching pursuit.

    Parameters
    ----------
    residual : float, optional
        Stop as soon as the squared error ``|x - a D|^2`` is at most this value.
    n_nonzero : int, optional
        Largest number of atoms per patch. None means as many as the patch has pixels.

    See Also
    --------
    OLS : Needs fewer atoms for the same error.

    Notes
    -----
    The next atom maximises ``|<r, d_j>| / |d_j|`` for the residual ``r = x - a D``; then all coefficients are fitted
    again by least squares. If several atoms are equally good, the first is selected (for windows of pictures, the one
    in the first column).

    With a mask, the error counts known pixels only, the bound becomes ``residual * known / m``, and atoms are compared
    by their known pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import Dictionary
    >>> from epitomes.coders import OMP
    >>> dictionary = Dictionary(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]]))
    >>> OMP(n_nonzero=1).encode([[6.0, 8.0], [5.0, 0.1]], dictionary).toarray()
    array([[0., 0., 2.],
           [5., 0., 0.]])
    """

    residual: float = 0.0  # stop as soon as |x - a D|^2 <= residual
    n_nonzero: int | None = None  # None: as many as the patch has pixels
    lam: ClassVar[float] = 0.0  # no penalty

    def __post_init__(self) -> None:
        _check(self.residual, self.n_nonzero)

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
            Ignored, apart from a check of its shape: a pursuit always begins with an empty code.
        mask : array_like of bool, optional
            Known pixels, of shape ``(n, m)``. The error counts known pixels only.
        threads : int, optional
            Number of threads. By default the environment variable ``EPITOMES_NUM_THREADS``, or one per available core.

        Returns
        -------
        csr_array
            Codes of shape ``(n, p)``, with sorted indices, in the dtype of the patches.
        """
        work = _pursuit(self.residual, self.n_nonzero, dictionary, least_squares=False)
        return encode(work, patches, dictionary, start, mask, threads)


@dataclass(frozen=True, kw_only=True)
class OLS:
    """Orthogonal least squares.

    Parameters
    ----------
    residual : float, optional
        Stop as soon as the squared error ``|x - a D|^2`` is at most this value.
    n_nonzero : int, optional
        Largest number of atoms per patch. None means as many as the patch has pixels.

    See Also
    --------
    OMP : Cheaper selection of atoms.

    Notes
    -----
    The next atom is the one that lowers ``|x - a D|^2`` most after all coefficients have been fitted again. Ties and
    masks are treated as in `OMP`.

    Examples
    --------
    Code patches up to the noise level, as for denoising (paper, section 5.4):

    >>> import numpy as np
    >>> from epitomes import Epitome, Patches
    >>> from epitomes.coders import OLS
    >>> from epitomes.phi import windows
    >>> rng = np.random.default_rng(0)
    >>> epitome = Epitome(rng.standard_normal((20, 20)), windows((20, 20), (8, 8)))
    >>> patches = Patches(10 * rng.standard_normal((32, 32)), (8, 8))
    >>> codes = OLS(residual=64 * 5.0**2).encode(patches, epitome.dictionary)
    >>> error = patches.rows(0, 625)[0] - codes @ epitome.dictionary.atoms
    >>> bool(((error**2).sum(axis=1) < 64 * 5.01**2).all())
    True
    """

    residual: float = 0.0  # stop as soon as |x - a D|^2 <= residual
    n_nonzero: int | None = None  # None: as many as the patch has pixels
    lam: ClassVar[float] = 0.0  # no penalty

    def __post_init__(self) -> None:
        _check(self.residual, self.n_nonzero)

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
            Ignored, apart from a check of its shape: a pursuit always begins with an empty code.
        mask : array_like of bool, optional
            Known pixels, of shape ``(n, m)``. The error counts known pixels only.
        threads : int, optional
            Number of threads. By default the environment variable ``EPITOMES_NUM_THREADS``, or one per available core.

        Returns
        -------
        csr_array
            Codes of shape ``(n, p)``, with sorted indices, in the dtype of the patches.
        """
        work = _pursuit(self.residual, self.n_nonzero, dictionary, least_squares=True)
        return encode(work, patches, dictionary, start, mask, threads)


def _check(residual: float, n_nonzero: int | None) -> None:
    positive("residual", residual, zero=True)
    if n_nonzero is not None:
        whole("n_nonzero", n_nonzero, least=1)


def _pursuit(residual: float, n_nonzero: int | None, dictionary: Dictionary, *, least_squares: bool) -> Work:
    require_dictionary(dictionary)
    if n_nonzero is not None and n_nonzero > dictionary.patch_size:
        raise ValueError(
            f"n_nonzero must be at most {dictionary.patch_size}, the number of pixels of a patch, got {n_nonzero}"
        )
    n_most = min(n_nonzero or dictionary.patch_size, dictionary.patch_size, dictionary.n_atoms)

    def work(engine: Engine, source: Source, start: Start | None, stop: Stop) -> Packed:
        return engine.pursue(source, residual, n_most, least_squares, stop)

    return work
