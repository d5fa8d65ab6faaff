"""alternate: sparse coding and dictionary steps in turn (paper, section 3)."""

from __future__ import annotations

import time
from collections.abc import Iterator

from numpy.typing import ArrayLike

from epitomes.checks import RNG, as_mask, as_seed, whole
from epitomes.coders import Coder
from epitomes.epitome import Epitome
from epitomes.learn.missing import Known, completed
from epitomes.learn.moments import Moments
from epitomes.learn.samples import Source, as_source, batches, take
from epitomes.learn.steps import Progress, Step, improved, in_full, require_start
from epitomes.learn.update import PreconditionedFista, Update
from epitomes.patches import Patches


def alternate(
    patches: ArrayLike | Patches,
    start: Epitome,
    *,
    coder: Coder,
    update: Update | None = None,
    sample: int | None = None,
    mask: ArrayLike | None = None,
    rng: RNG = 0,
    after: Step | None = None,
    threads: int | None = None,
) -> Iterator[Step]:
    """Learn an epitome by alternating between sparse coding and dictionary steps.

    This is block-coordinate descent on the objective. The learner yields steps without end; `run` decides when to stop.

    Parameters
    ----------
    patches : array_like or Patches
        Patches of an image, or patches as rows of an array of shape ``(n, m)``.
    start : Epitome
        Initial epitome.
    coder : Coder
        Sparse coder. Its `lam` is the regularisation parameter lambda of the objective.
    update : Update, optional
        Dictionary step. Default: ``PreconditionedFista()``.
    sample : int, optional
        Draw about this many patches at random in each step. Default: use all patches in every step.
    mask : array_like of bool, optional
        Known pixels, of shape ``(n, m)``, for patches given as rows. The error counts known pixels only.
    rng : numpy.random.Generator, int or None, optional
        Random number generator or seed for `sample`.
    after : Step, optional
        Continue from this step of an earlier run. `start` is not used then.
    threads : int, optional
        Number of threads. Default: one per processor. It does not change the result.

    Returns
    -------
    iterator of Step
        Epitome, progress and codes after each step.

    Raises
    ------
    TypeError
        If an argument has the wrong type.

    See Also
    --------
    online : Learn from small batches, usually faster.
    run : Take steps until a stopping rule is met.

    Notes
    -----
    The objective (paper, Eq. 3) over n patches ``x_i`` with codes ``a_i`` and atoms ``d_j`` of ``D = phi(E)`` is::

        1/n sum_i [ 1/2 |x_i - a_i D|^2 + lam sum_j |d_j| |a_ij| ]

    Without `sample` it never increases, and each coding starts from the previous codes. With `sample`, the objective of
    a step is that of its sample and fluctuates.

    With `mask`, unknown pixels are completed by the codes before each dictionary step, which cannot raise the objective
    of the known ones.

    References
    ----------
    .. [1] L. Benoît, J. Mairal, F. Bach, J. Ponce, "Sparse image representation with epitomes", CVPR 2011, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import Patches
    >>> from epitomes.coders import Lasso
    >>> from epitomes.learn import alternate, smooth_noise
    >>> from epitomes.phi import windows
    >>> image = np.random.default_rng(0).standard_normal((24, 24)).cumsum(axis=0)
    >>> learner = alternate(Patches(image, (4, 4)), smooth_noise(windows((8, 8), (4, 4))), coder=Lasso(lam=1.0))
    >>> first, second = next(learner), next(learner)
    >>> second.progress.objective < first.progress.objective
    True
    """
    require_start(start, after)
    if sample is not None:
        whole("sample", sample, least=1)
    seed = as_seed(rng)
    source, known = as_source(patches), None
    if mask is not None:
        if isinstance(source, Patches):
            raise TypeError("mask needs patches as rows, less the means of their known pixels, got Patches of an image")
        known = as_mask("mask", mask, source.shape)
    return _steps(source, known, start, coder, update or PreconditionedFista(), sample, seed, after, threads)


def _steps(
    source: Source,
    known: Known | None,
    start: Epitome,
    coder: Coder,
    update: Update,
    sample: int | None,
    seed: int,
    after: Step | None,
    threads: int | None,
) -> Iterator[Step]:
    epitome = in_full(start if after is None else after.epitome)
    codes = None if after is None else after.codes
    index = 0 if after is None else after.progress.index
    while True:
        began = time.perf_counter()
        lines = None if sample is None else batches(source, sample, seed, index)[0]
        drawn = source if lines is None else take(source, lines)
        seen = known if known is None or lines is None else known[lines]
        warm = codes if sample is None else None
        codes = coder.encode(drawn, epitome.dictionary, warm, mask=seen, threads=threads)
        if seen is not None:
            assert not isinstance(drawn, Patches)
            drawn = completed(drawn, seen, codes, epitome.dictionary)
        moments = Moments.of(drawn, codes, threads=threads)
        better = improved(epitome, moments, coder.lam, update, threads)
        epitome, codes, index = better.epitome, codes * better.factor, index + 1
        numbers = Progress(
            index=index,
            scale=0,
            objective=better.objective,
            sparsity=codes.nnz / codes.shape[0],
            n_unused=int((~moments.used).sum()),
            seconds=time.perf_counter() - began,
        )
        yield Step(numbers, epitome, codes if sample is None else None)
