"""What commands on collections share: their options, how far they are, and what failed."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from epitomes.cli.batch import MOST_NAMED
from epitomes.cli.denoise_store import ProgressForm
from epitomes.cli.errors import PARTIAL, CommandError, tell
from epitomes.cli.help import SCALE
from epitomes.cli.progress import progress

if TYPE_CHECKING:
    from epitomes.scale import Collection, FailedShard, Skipped, Status

MaxFailed = Annotated[
    float,
    typer.Option(metavar="X", min=0, max=1, help="largest fraction of shards that may fail", rich_help_panel=SCALE),
]
ShardSize = Annotated[
    int | None,
    typer.Option(
        "--shard", metavar="N", min=1, help="pictures or planes in one task [default: 50]", rich_help_panel=SCALE
    ),
]
ProgressOption = Annotated[
    ProgressForm,
    typer.Option("--progress", metavar="FORM", help="bar, or json: a line on stderr per round", rich_help_panel=SCALE),
]


def opened(files: Sequence[Path], n_axes: int, shard_size: int | None) -> Collection:
    """Find the pictures, and name the files that are none."""
    from epitomes.scale import collection
    from epitomes.scale._collection import SHARD

    found = collection(list(files), n_axes=n_axes, shard_size=shard_size or SHARD)
    if found.ignored:
        tell(f"note: {len(found.ignored)} files have no suffix of an image and are left out: {_some(found.ignored)}")
    return found


@contextmanager
def watching_shards(label: str, form: ProgressForm) -> Iterator[Callable[[Status], None] | None]:
    """Yield a callback that draws a bar, or prints a line per round for batch systems."""
    if form is ProgressForm.json:
        yield _lines(label)
        return
    with progress(label) as bar:
        yield None if bar is None else lambda status: bar(status.done / status.total, _words(status))


def tell_skipped(n_skipped: int, skipped: Sequence[Skipped]) -> None:
    """Name pictures that could not be used."""
    if n_skipped:
        tell(f"warning: {n_skipped} pictures cannot be used and were skipped")
        for each in skipped[:MOST_NAMED]:
            tell(f"  {each.reason if each.name in each.reason else f'{each.name}: {each.reason}'}")
        if n_skipped > MOST_NAMED:
            tell(f"  and {n_skipped - MOST_NAMED} more")


@contextmanager
def failures_explained() -> Iterator[None]:
    """Turn the error for too many failed shards into that of a command."""
    from epitomes.scale import TooManyFailedError

    try:
        yield
    except TooManyFailedError as error:
        words = str(error).replace("max_failed=", "--max-failed ")
        raise CommandError(PARTIAL, words, "--max-failed", f"{error.needed:g}") from error


def raise_failed(failed: Sequence[FailedShard], n_shards: int) -> None:
    """End with the exit code for work that was done in part, if shards failed."""
    if failed:
        raise CommandError(PARTIAL, f"{len(failed)} of {n_shards} shards failed: {'; '.join(map(str, failed))}")


def _lines(label: str) -> Callable[[Status], None]:
    last = -1

    def line(status: Status) -> None:
        nonlocal last
        rounds = 0 if status.progress is None else status.progress.index
        if rounds == last and status.done < status.total:
            return
        last = rounds
        rate, left = _pace(status)
        facts = {
            "progress": label,
            "shards": status.done,
            "of": status.total,
            "shards_per_second": rate,
            "seconds_left": left,
            "patches": status.n_patches,
            "failed": status.n_failed,
            "skipped": status.n_skipped,
            "objective": None if status.progress is None else status.progress.objective,
        }
        print(json_text.dumps(facts, allow_nan=False), file=sys.stderr, flush=True)

    return line


def _pace(status: Status) -> tuple[float, float]:
    """Return shards per second since the run was started or resumed, and the seconds that are left."""
    rate = status.here / max(status.seconds, 1e-9)
    return rate, (status.total - status.done) / max(rate, 1e-9)


def _words(status: Status) -> str:
    rate, _ = _pace(status)
    words = f"{status.done} of {status.total} shards, {rate:.3g} per second"
    words += f", objective {status.progress.objective:.6g}" if status.progress is not None else ""
    words += f", {status.n_failed} failed" if status.n_failed else ""
    return words + (f", {status.n_skipped} pictures skipped" if status.n_skipped else "")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (" ..." if len(names) > MOST_NAMED else "")
