"""K-SVD: atoms one by one, each with its coefficients (Aharon, Elad, Bruckstein 2006), and denoising with it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes import blocks, kernels
from epitomes.baselines.baseline import Scene
from epitomes.baselines.by_dictionary import PATCH, AlternatingBaseline, busy_rows, overcomplete_dct
from epitomes.checks import Array, whole
from epitomes.coders import OMP, Coder, Codes
from epitomes.dictionary import Dictionary
from epitomes.epitome import Epitome
from epitomes.learn import Progress, Step
from epitomes.learn.samples import as_source
from epitomes.learn.steps import require_start
from epitomes.patches import Patches
from epitomes.phi import GatherPhi

TWINS = 0.99  # correlation of two atoms above which one is replaced
FEW_USERS = 3  # an atom with no more is replaced


@dataclass(frozen=True, kw_only=True)
class KSVD(AlternatingBaseline):
    """K-SVD denoising: a flat dictionary learned from the noisy image, patches coded up to the noise and averaged.

    Parameters
    ----------
    peak : float, optional
        Value of white. It sets the default of `blend`.
    residual_factor : float, default: 1.15
        The factor C in the bound of the error of a patch of m pixels, ``m * (C * sigma)**2``.
    blend : float, optional
        Weight of the noisy pixel beside its estimates. Default: ``30 / sigma``, for values from 0 to 255.
    schedule : tuple of pairs, default: ((4000, 10), (8000, 6), (16000, 3), (65000, 1))
        Numbers of patches and of iterations with them, one pair after another. Fewer patches, of a coarser grid, serve
        for the first iterations; ``((65000, 10),)`` is that of the authors.
    n_atoms : int, default: 256
        Number of atoms, of 8 x 8 pixels.
    exact : bool, default: False
        Whether an atom becomes a singular vector, or the result of one step of the power method.

    See Also
    --------
    learn_ksvd : Learn a dictionary by K-SVD from any patches.
    epitomes.restoration.Patchwise : The paper's method: the same with an epitome instead of a flat dictionary.

    Notes
    -----
    It starts from an overcomplete DCT. Each iteration codes the patches by `epitomes.coders.OMP` and then changes one
    atom after another. With E the residual of the patches that use atom j, without this atom, the atom and its
    coefficients become the best ``a_j d_j`` for ``|E - a_j d_j|**2`` [1]_, or are improved by ``d_j = E' a_j / |E'
    a_j|`` and ``a_j = E d_j`` [3]_. Atoms that nearly equal another one, or have three users or fewer, are replaced by
    the patch that is coded worst. Denoising is that of Elad and Aharon [2]_, see `DictionaryBaseline`.

    References
    ----------
    .. [1] M. Aharon, M. Elad, A. Bruckstein, "K-SVD: an algorithm for designing overcomplete dictionaries for sparse
       representation", IEEE Transactions on Signal Processing 54(11), 2006.
    .. [2] M. Elad, M. Aharon, "Image denoising via sparse and redundant representations over learned dictionaries",
       IEEE Transactions on Image Processing 15(12), 2006.
    .. [3] R. Rubinstein, M. Zibulevsky, M. Elad, "Efficient implementation of the K-SVD algorithm using batch
       orthogonal matching pursuit", Technion, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import denoise
    >>> from epitomes.baselines import KSVD
    >>> clean = np.add.outer(np.arange(32.0), np.arange(32.0))
    >>> noisy = clean + np.random.default_rng(0).normal(0, 5, clean.shape)
    >>> estimate = denoise(noisy, 5.0, method=KSVD(n_atoms=64, schedule=((1000, 2),)))
    >>> bool(np.std(estimate - clean) < 3)
    True
    """

    n_atoms: int = 256
    exact: bool = False

    label: ClassVar[str] = "K-SVD"
    least_side: ClassVar[int] = PATCH

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("n_atoms", self.n_atoms, least=1)

    def _start(self, scene: Scene) -> Epitome:
        return overcomplete_dct(self.n_atoms)

    def _steps(self, patches: Patches, start: Epitome, coder: OMP, scene: Scene) -> Iterator[Step]:
        rows = busy_rows(patches, coder.residual)
        return learn_ksvd(rows, start, coder=coder, exact=self.exact, threads=scene.threads)


def learn_ksvd(
    patches: ArrayLike | Patches,
    start: Epitome,
    *,
    coder: Coder,
    exact: bool = False,
    threads: int | None = None,
) -> Iterator[Step]:
    """Learn a flat dictionary by K-SVD.

    The learner yields steps without end; `epitomes.learn.run` decides when to stop.

    Parameters
    ----------
    patches : array_like or Patches
        Patches of an image, or patches as rows of an array of shape ``(n, m)``. They are kept in memory as rows.
    start : Epitome
        Initial dictionary, an epitome whose phi is `epitomes.phi.flat`.
    coder : Coder
        Sparse coder, usually an `epitomes.coders.OMP`.
    exact : bool, default: False
        Whether an atom becomes a singular vector, or the result of one step of the power method.
    threads : int, optional
        Number of threads of the coder. It does not change the result.

    Returns
    -------
    iterator of Step
        Dictionary, progress and codes after each step. The objective is half the squared error per patch.

    Raises
    ------
    ValueError
        If atoms of the start share pixels.

    See Also
    --------
    KSVD : Denoising with it, and the formulas.
    epitomes.learn.alternate : Learn any epitome, from moments.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.baselines import learn_ksvd
    >>> from epitomes.coders import OMP
    >>> from epitomes.learn import cosines, run
    >>> from epitomes.phi import flat
    >>> patches = np.random.default_rng(0).standard_normal((100, 16))
    >>> fit = run(learn_ksvd(patches, cosines(flat(20, (4, 4))), coder=OMP(n_nonzero=3)), max_steps=3)
    >>> fit.history[-1].objective < fit.history[0].objective
    True
    """
    require_start(start, None)
    require_flat(start)
    source = as_source(patches)
    rows = source.rows(0, len(source))[0] if isinstance(source, Patches) else source
    return _steps(rows, start, coder, exact, threads)


def require_flat(start: Epitome) -> None:
    """Refuse epitomes whose atoms share pixels."""
    if not isinstance(start.phi, GatherPhi) or start.phi.counts.max() > 1:
        raise ValueError(f"atoms must share no pixels, got {start.phi!r}: start from one with phi=flat(...)")


def _steps(rows: Array, start: Epitome, coder: Coder, exact: bool, threads: int | None) -> Iterator[Step]:
    atoms = start.dictionary.astype(rows.dtype).unit
    index = 0
    while True:
        began = time.perf_counter()
        codes = coder.encode(rows, Dictionary(atoms), threads=threads)
        atoms, codes, residual = updated(rows, codes, atoms, exact)
        energy = np.einsum("nm,nm->n", residual, residual, dtype=np.float64)
        users = np.bincount(codes.indices, minlength=len(atoms))
        atoms = replaced(atoms, users, rows, energy)
        index += 1
        progress = Progress(
            index=index,
            scale=0,
            objective=0.5 * float(energy.sum()) / len(rows),
            sparsity=codes.nnz / len(rows),
            n_unused=int((users == 0).sum()),
            seconds=time.perf_counter() - began,
        )
        yield Step(progress, Epitome(atoms.reshape(start.phi.epitome_shape), start.phi), codes)


def updated(rows: Array, codes: Codes, atoms: Array, exact: bool) -> tuple[Array, Codes, Array]:
    """Improve unit atoms one after another, each with its coefficients; also return the residual ``X - A D``."""
    by_atom = codes.tocsc()
    better, values = atoms.copy(), by_atom.data.astype(rows.dtype)
    residual = np.ascontiguousarray(rows - codes @ atoms, rows.dtype)
    begin, users = by_atom.indptr.astype(np.int64), by_atom.indices.astype(np.int32, copy=False)
    # On a thread, though it is one task: the main thread must be free to receive Ctrl-C.
    blocks.run(
        lambda piece, stop: kernels.update_atoms(residual, begin, users, values, better, exact, stop), [0], threads=1
    )
    by_atom.data = values
    return better, by_atom.tocsr(), residual


def replaced(atoms: Array, users: NDArray[np.intp], rows: Array, energy: NDArray[np.float64]) -> Array:
    """Put patches that are coded worst in the place of atoms that are hardly used, or nearly equal a later one."""
    likeness = np.abs(np.triu(Dictionary(atoms).gram, 1))
    poor = np.flatnonzero((users <= FEW_USERS) | (likeness > TWINS).any(axis=1))
    if not len(poor):
        return atoms
    better = atoms.copy()
    for j, worst in zip(
        poor, np.argsort(-energy, kind="stable"), strict=False
    ):  # there may be fewer patches than atoms
        row = rows[worst].astype(np.float64)
        length = float(np.sqrt(np.sum(row**2)))
        if length > 0:
            better[j] = row / length
    return better
