"""online: small batches and moments with forgetting, a stochastic alternative mentioned in section 3 of the paper.

The moments of all batches are kept, but older ones count less and less, because their codes belong to an older epitome.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from numpy.typing import ArrayLike

from epitomes.checks import RNG, as_seed, positive, whole
from epitomes.coders import Coder
from epitomes.epitome import Epitome
from epitomes.learn.moments import Moments
from epitomes.learn.samples import Source, as_source, batches, take
from epitomes.learn.steps import Progress, Step, improved, in_full, require_start
from epitomes.learn.update import PreconditionedFista, Update
from epitomes.patches import Patches


def online(
    patches: ArrayLike | Patches,
    start: Epitome,
    *,
    coder: Coder,
    update: Update | None = None,
    batch: int = 2048,
    forget: float = 8.0,
    rng: RNG = 0,
    after: Step | None = None,
    threads: int | None = None,
) -> Iterator[Step]:
    """Learn an epitome from small batches of patches.

    Each step codes one batch and updates the epitome with the moments of all batches so far, of which older ones count
    less. The learner yields steps without end; `run` decides when to stop.

    Parameters
    ----------
    patches : array_like or Patches
        Patches of an image, or patches as rows of an array of shape ``(n, m)``.
    start : Epitome
        Initial epitome.
    coder : Coder
        Sparse coder. Its `lam` is the regularisation parameter lambda of the objective.
    update : Update, optional
        Dictionary step. Default: ``PreconditionedFista(n_steps=2)``.
    batch : int, optional
        Approximate number of patches in a batch. Each pass over the patches uses a new random order.
    forget : float, optional
        How fast older batches are forgotten. With 0, all batches count the same.
    rng : numpy.random.Generator, int or None, optional
        Random number generator or seed of the order.
    after : Step, optional
        Continue from this step of an earlier run. `start` is not used then.
    threads : int, optional
        Number of threads. Default: one per processor. It does not change the result.

    Returns
    -------
    iterator of Step
        Epitome, progress and moments after each batch.

    Raises
    ------
    TypeError
        If an argument has the wrong type.

    See Also
    --------
    alternate : Learn from all patches in each step.
    run : Take steps until a stopping rule is met.

    Notes
    -----
    Before batch t, the moments of the batches before it are multiplied by ``(1 - 1/t)**forget``. The objective of a
    step is that of the weighted moments.

    References
    ----------
    .. [1] J. Mairal, F. Bach, J. Ponce, G. Sapiro, "Online learning for matrix factorization and sparse coding",
       Journal of Machine Learning Research 11, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import Patches
    >>> from epitomes.coders import Lasso
    >>> from epitomes.learn import online, run, smooth_noise
    >>> from epitomes.phi import windows
    >>> image = np.random.default_rng(0).standard_normal((24, 24)).cumsum(axis=0)
    >>> start = smooth_noise(windows((8, 8), (4, 4)))
    >>> fit = run(online(Patches(image, (4, 4)), start, coder=Lasso(lam=1.0), batch=100), max_steps=8)
    >>> fit.epitome.pixels.shape
    (8, 8)
    """
    require_start(start, after)
    whole("batch", batch, least=1)
    positive("forget", forget, zero=True)
    seed = as_seed(rng)
    return _steps(
        as_source(patches), start, coder, update or PreconditionedFista(n_steps=2), batch, forget, seed, after, threads
    )


def n_batches(patches: ArrayLike | Patches, batch: int = 2048) -> int:
    """Return the number of steps in one pass over the patches."""
    return len(batches(as_source(patches), batch, 0, 0))


def _steps(
    source: Source,
    start: Epitome,
    coder: Coder,
    update: Update,
    batch: int,
    forget: float,
    seed: int,
    after: Step | None,
    threads: int | None,
) -> Iterator[Step]:
    epitome = in_full(start if after is None else after.epitome)
    memory = None if after is None else after.moments
    index = 0 if after is None else after.progress.index
    per_pass = len(batches(source, batch, seed, 0))
    while True:
        turn, part = divmod(index, per_pass)
        order = batches(source, batch, seed, turn)
        for chosen in order[part:]:
            began = time.perf_counter()
            drawn = take(source, chosen)
            codes = coder.encode(drawn, epitome.dictionary, threads=threads)
            index += 1
            if memory is None:
                moments = Moments.of(drawn, codes, threads=threads)
            else:
                moments = memory.then(drawn, codes, keep=(1.0 - 1.0 / index) ** forget, threads=threads)
            better = improved(epitome, moments, coder.lam, update, threads)
            epitome, memory = better.epitome, better.moments
            numbers = Progress(
                index=index,
                scale=0,
                objective=better.objective,
                sparsity=codes.nnz / codes.shape[0],
                n_unused=int((~memory.used).sum()),
                seconds=time.perf_counter() - began,
            )
            yield Step(numbers, epitome, moments=memory)
