"""online: small batches, and moments that forget (the stochastic alternative that section 3 of the paper leaves open).

After Mairal, Bach, Ponce and Sapiro (JMLR 2010): the moments of all batches are kept, the older ones by degrees
forgotten because their codes belong to an epitome long gone. Where time matters it is ahead of `alternate`, whose every
step codes all patches.
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
from epitomes.learn.steps import Progress, Step, improved, in_full
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
    """Steps over batches of about `batch` patches, pass after pass in a new order, without end.

    Before batch t the moments so far are multiplied by `(1 - 1/t)^forget`: 0 remembers everything alike. The objective
    of a step is that of the remembered moments.
    """
    whole("batch", batch, least=1)
    positive("forget", forget, zero=True)
    seed = as_seed(rng)
    return _steps(
        as_source(patches), start, coder, update or PreconditionedFista(n_steps=2), batch, forget, seed, after, threads
    )


def n_batches(patches: ArrayLike | Patches, batch: int = 2048) -> int:
    """How many steps make one pass over the patches."""
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
        for units in order[part:]:
            began = time.perf_counter()
            drawn = take(source, units)
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
