"""What a run over a collection says: how far it is, what it learned, what failed, and what the next round needs."""

from __future__ import annotations

from dataclasses import dataclass

from epitomes.display import repr_html
from epitomes.epitome import Epitome
from epitomes.learn import Moments, Progress
from epitomes.scale.statistics import Skipped


@dataclass(frozen=True)
class FailedShard:
    """A shard that was given up: it raised an error or killed its worker each time it was tried.

    Parameters
    ----------
    index : int
        Number of the shard.
    name : str
        Its first and its last picture.
    reason : str
        What happened, on one line.

    Examples
    --------
    >>> from epitomes.scale import FailedShard
    >>> print(FailedShard(3, "shard 3 (a.tif to b.tif)", "its worker died whenever it ran"))
    shard 3 (a.tif to b.tif): its worker died whenever it ran
    """

    index: int
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


class TooManyFailedError(RuntimeError):
    """More shards failed than `learn_from` was allowed to leave out. The message names them.

    Examples
    --------
    >>> from epitomes.scale import TooManyFailedError
    >>> issubclass(TooManyFailedError, RuntimeError)
    True
    """

    needed: float = 1.0  # the fraction that would have been enough so far


@dataclass(frozen=True)
class Status:
    """How far a run is, after each shard.

    Parameters
    ----------
    done : int
        Number of shards done since the beginning of the run, failed ones included.
    here : int
        Number of them since the run was started or resumed.
    total : int
        Number of shards of all epochs.
    n_patches : int
        Number of patches coded since the run was started or resumed.
    seconds : float
        Time since then.
    n_failed : int
        Number of shards that failed.
    n_skipped : int
        Number of pictures that were skipped in the first epoch.
    progress : Progress or None
        Numbers of the last round.

    Examples
    --------
    >>> from epitomes.scale import Status
    >>> Status(3, 3, 10, 1500, 2.0, 0, 0, None).done
    3
    """

    done: int
    here: int
    total: int
    n_patches: int
    seconds: float
    n_failed: int
    n_skipped: int
    progress: Progress | None


@dataclass(frozen=True, eq=False)
class Learned:
    """An epitome learned from a collection, as returned by `learn_from`.

    Parameters
    ----------
    epitome : Epitome
        The learned epitome.
    history : tuple of Progress
        Progress of all rounds.
    failed : tuple of FailedShard
        Shards that were left out.
    n_skipped : int
        Number of pictures that could not be used.
    skipped : tuple of Skipped
        Their names and reasons, at most a thousand.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.phi import windows
    >>> from epitomes.scale import learn_from
    >>> images = np.random.default_rng(0).normal(0, 9, (40, 20, 20))
    >>> learned = learn_from(images, windows((8, 8), (4, 4)), lam=9.0, sample=50, epochs=2)
    >>> learned.epitome.pixels.shape, len(learned.history), learned.failed
    ((8, 8), 2, ())
    """

    epitome: Epitome
    history: tuple[Progress, ...]
    failed: tuple[FailedShard, ...] = ()
    n_skipped: int = 0
    skipped: tuple[Skipped, ...] = ()

    _repr_html_ = repr_html


@dataclass(frozen=True, eq=False)
class State:
    """All that the next round needs: what a checkpoint holds."""

    epitome: Epitome
    memory: Moments | None = None  # of all rounds so far, older ones with less weight
    history: tuple[Progress, ...] = ()
    failed: tuple[FailedShard, ...] = ()
    n_skipped: int = 0
    skipped: tuple[Skipped, ...] = ()

    @property
    def n_rounds(self) -> int:
        """Number of rounds done."""
        return len(self.history)
