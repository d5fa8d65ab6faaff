"""`learn_from`: learn an epitome from a collection of pictures, on threads, processes or a cluster.

Two laboratories that may not share their pictures take the same road in parts: `statistics_of` at each of them,
`merge`, and `dictionary_step`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from epitomes.checks import RNG, as_seed, positive, whole
from epitomes.epitome import Epitome
from epitomes.learn import PreconditionedFista, Update, natural, smooth_noise
from epitomes.learn._natural import NotShippedError
from epitomes.learn.steps import improved, in_full
from epitomes.phi import Phi
from epitomes.scale._collection import SHARD, collection
from epitomes.scale.checkpoint import load_state, save_state
from epitomes.scale.outcome import FailedShard, Learned, State, Status
from epitomes.scale.rounds import Clock, Run
from epitomes.scale.shards import SAMPLE
from epitomes.scale.statistics import Statistics
from epitomes.scale.tasks import Workers

ROUND = 16  # shards
ROUNDS = 30  # that a run has at least: as many steps as `epitomes.learn_epitome` takes
FORGET = 8.0  # as `epitomes.learn.online`


def learn_from(
    source: Any,
    start: Epitome | Phi,
    *,
    lam: float,
    epochs: int | None = None,
    sample: int | None = SAMPLE,
    shard_size: int = SHARD,
    round_shards: int = ROUND,
    forget: float = FORGET,
    update: Update | None = None,
    executor: Workers = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    max_failed: float = 0.01,
    rng: RNG = 0,
    threads: int | None = None,
    callback: Callable[[Status], None] | None = None,
) -> Learned:
    """Learn an epitome from a collection of pictures that need not fit in memory.

    Parameters
    ----------
    source : str, path-like, array, iterable of these or Collection
        Directories, patterns such as ``"images/**/*.tif"``, files with many planes, or arrays, as `collection` takes
        them.
    start : Epitome or Phi
        Initial epitome. With a phi: the shipped epitome of natural images, or smooth noise if none has that shape.
    lam : float
        Regularisation parameter lambda, in the units of the pictures.
    epochs : int, optional
        Number of passes over the collection. Each one draws other patches and takes the shards in another order.
        Default: as many as 30 rounds need, one for large collections.
    sample : int, optional
        Number of patches drawn from each picture in each epoch. None: all of them.
    shard_size : int, default: 50
        Number of pictures or planes in a shard, the work of one task.
    round_shards : int, default: 16
        Number of shards between two dictionary steps.
    forget : float, default: 8
        How fast older rounds are forgotten, as in `epitomes.learn.online`. With 0, all rounds count the same.
    update : Update, optional
        Dictionary step. Default: `PreconditionedFista`.
    executor : Executor or callable, optional
        Where shards are coded: any `concurrent.futures.Executor`, or a function that makes one, such as
        ``process_pool(4)`` or a Dask executor. Default: threads of this process. It does not change the result.
    checkpoint : str or path-like, optional
        File in which each round is saved.
    resume : bool, optional
        Whether to continue from `checkpoint`, if that file exists. The result has the same bits as without the
        interruption.
    max_failed : float, default: 0.01
        Largest fraction of shards that may fail. They are named in the result.
    rng : numpy.random.Generator, int or None, optional
        Random number generator or seed.
    threads : int, optional
        Number of threads of the dictionary step. Default: one per processor. It does not change the result.
    callback : callable, optional
        Called with a `Status` after each shard.

    Returns
    -------
    Learned
        The epitome, the progress of all rounds, the shards that failed and the pictures that were skipped.

    Raises
    ------
    TooManyFailedError
        If more than `max_failed` of the shards failed. The checkpoint holds the rounds before.
    ModelError
        If the checkpoint is damaged or belongs to other arguments.
    ValueError
        If a parameter is out of range, or no picture of a round can be used.

    See Also
    --------
    epitomes.learn_epitome : Learn from images in memory.
    statistics_of : Sum up a collection without a dictionary step.

    Notes
    -----
    Before round t, the moments of the rounds before it are multiplied by ``(1 - 1/t)**forget``.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.phi import windows
    >>> from epitomes.scale import learn_from
    >>> images = np.random.default_rng(0).normal(0, 9, (40, 20, 20)).cumsum(axis=1)
    >>> learned = learn_from(images, windows((8, 8), (4, 4)), lam=9.0, sample=100, epochs=4, shard_size=10)
    >>> learned.history[-1].objective < learned.history[0].objective
    True
    """
    if resume and checkpoint is None:
        raise ValueError("resume=True needs checkpoint, the file to resume from")
    seed = as_seed(rng)
    first = start if isinstance(start, Epitome) else _natural_or_noise(start, seed)
    pictures = collection(source, n_axes=len(first.phi.patch_shape), shard_size=shard_size)
    run = Run(
        pictures,
        pictures.kind(len(first.phi.patch_shape)),
        positive("lam", lam),
        _enough_epochs(len(pictures), round_shards) if epochs is None else whole("epochs", epochs, least=1),
        sample,
        whole("round_shards", round_shards, least=1),
        positive("forget", forget, zero=True),
        update or PreconditionedFista(),
        positive("max_failed", max_failed, zero=True),
        seed,
        threads,
        callback,
    )
    state = State(in_full(first))
    settings = run.settings(first)
    if resume and checkpoint is not None and Path(checkpoint).exists():
        state = load_state(checkpoint, first.phi, settings)
    for state in run.rounds(state, executor):  # noqa: B020  # each state follows from the one before
        if checkpoint is not None:
            save_state(checkpoint, state, settings)
    return Learned(state.epitome, state.history, state.failed, state.n_skipped, state.skipped)


def statistics_of(
    source: Any,
    epitome: Epitome,
    *,
    lam: float,
    sample: int | None = SAMPLE,
    shard_size: int = SHARD,
    executor: Workers = None,
    max_failed: float = 0.01,
    rng: RNG = 0,
    callback: Callable[[Status], None] | None = None,
) -> tuple[Statistics, tuple[FailedShard, ...]]:
    """Sum up a collection of pictures: code patches of all pictures and add their statistics.

    Parameters
    ----------
    source : str, path-like, array, iterable of these or Collection
        Pictures, as `collection` takes them.
    epitome : Epitome
        Epitome to code with.
    lam : float
        Regularisation parameter lambda, in the units of the pictures.
    sample : int, optional
        Number of patches drawn from each picture. None: all of them.
    shard_size : int, default: 50
        Number of pictures or planes in a shard.
    executor : Executor or callable, optional
        Where shards are coded, as in `learn_from`.
    max_failed : float, default: 0.01
        Largest fraction of shards that may fail.
    rng : numpy.random.Generator, int or None, optional
        Random number generator or seed.
    callback : callable, optional
        Called with a `Status` after each shard.

    Returns
    -------
    statistics : Statistics
        The sums over all pictures.
    failed : tuple of FailedShard
        Shards that were left out.

    Raises
    ------
    TooManyFailedError
        If more than `max_failed` of the shards failed.
    ValueError
        If no picture can be used.

    See Also
    --------
    merge : Add the statistics of several collections.
    dictionary_step : From statistics to an epitome.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.learn import smooth_noise
    >>> from epitomes.phi import windows
    >>> from epitomes.scale import statistics_of
    >>> images = np.random.default_rng(0).normal(0, 9, (40, 20, 20))
    >>> statistics, failed = statistics_of(images, smooth_noise(windows((8, 8), (4, 4))), lam=9.0, sample=50)
    >>> statistics.count, failed
    (2000, ())
    """
    pictures = collection(source, n_axes=len(epitome.phi.patch_shape), shard_size=shard_size)
    run = Run(
        pictures,
        pictures.kind(len(epitome.phi.patch_shape)),
        positive("lam", lam),
        1,
        sample,
        len(pictures),
        0.0,
        PreconditionedFista(),
        positive("max_failed", max_failed, zero=True),
        as_seed(rng),
        None,
        callback,
    )
    failed: dict[int, FailedShard] = {}
    total = run.summed(epitome, 0, range(len(pictures)), failed, Clock(), executor)
    return total, tuple(failed.values())


def dictionary_step(statistics: Statistics, *, update: Update | None = None, threads: int | None = None) -> Epitome:
    """Take the dictionary step that statistics ask for.

    Parameters
    ----------
    statistics : Statistics
        Statistics of coded patches, and the epitome that they were coded with.
    update : Update, optional
        Dictionary step. Default: `PreconditionedFista`.
    threads : int, optional
        Number of threads. Default: one per processor. It does not change the result.

    Returns
    -------
    Epitome
        The improved epitome, in float64.

    Raises
    ------
    ValueError
        If the statistics are those of no patch.

    See Also
    --------
    merge : Add statistics before the step.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.learn import smooth_noise
    >>> from epitomes.phi import windows
    >>> from epitomes.scale import dictionary_step, statistics_of
    >>> images = np.random.default_rng(0).normal(0, 9, (40, 20, 20))
    >>> statistics, _ = statistics_of(images, smooth_noise(windows((8, 8), (4, 4))), lam=9.0, sample=50)
    >>> dictionary_step(statistics)
    Epitome((8, 8) float64, GatherPhi((8, 8) -> 25 atoms of (4, 4)))
    """
    if not statistics.count:
        raise ValueError("these statistics are those of no patch: code pictures first")
    used = update or PreconditionedFista()
    return improved(in_full(statistics.epitome), statistics.moments, statistics.lam, used, threads).epitome


def _enough_epochs(n_shards: int, round_shards: int) -> int:
    """Return the number of epochs that have at least ROUNDS rounds."""
    per_epoch = -(-n_shards // whole("round_shards", round_shards, least=1))
    return -(-ROUNDS // per_epoch)


def _natural_or_noise(phi: Phi, seed: int) -> Epitome:
    try:
        return natural(phi)
    except NotShippedError:
        return smooth_noise(phi, rng=seed)
