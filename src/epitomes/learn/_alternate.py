"""alternate: code the patches, improve the epitome, and again (paper, section 3)."""

from __future__ import annotations

import time
from collections.abc import Iterator

from numpy.typing import ArrayLike

from epitomes.checks import RNG, as_seed, whole
from epitomes.coders import Coder
from epitomes.epitome import Epitome
from epitomes.learn.moments import Moments
from epitomes.learn.samples import Source, as_source, batches, take
from epitomes.learn.steps import Progress, Step, improved, in_full
from epitomes.learn.update import PreconditionedFista, Update
from epitomes.patches import Patches


def alternate(
    patches: ArrayLike | Patches,
    start: Epitome,
    *,
    coder: Coder,
    update: Update | None = None,
    sample: int | None = None,
    rng: RNG = 0,
    after: Step | None = None,
    threads: int | None = None,
) -> Iterator[Step]:
    """Block-coordinate descent on Eq. 3, without end.

    Over all patches, each step starts from the codes of the last one and the objective never rises. With `sample`, each
    step draws about that many patches anew, which costs less and sees as much in the long run; its objective is that of
    the sample and goes up and down. `after` goes on from a step of an earlier run.
    """
    if sample is not None:
        whole("sample", sample, least=1)
    seed = as_seed(rng)
    return _steps(as_source(patches), start, coder, update or PreconditionedFista(), sample, seed, after, threads)


def _steps(
    source: Source,
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
        drawn = source if sample is None else take(source, batches(source, sample, seed, index)[0])
        codes = coder.encode(drawn, epitome.dictionary, codes if sample is None else None, threads=threads)
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
