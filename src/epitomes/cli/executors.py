"""Options that say where tasks run: processes of this machine, or a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from epitomes.cli.errors import usage
from epitomes.cli.help import SCALE

if TYPE_CHECKING:
    from epitomes.scale.tasks import Workers as Executors

Workers = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="number of processes [default: threads of one process]", rich_help_panel=SCALE
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Dask scheduler to run on, such as tcp://127.0.0.1:8786", rich_help_panel=SCALE
    ),
]


def require_one_place(workers: int | None, cluster: str | None) -> None:
    """Refuse two places to work at."""
    if workers is not None and cluster is not None:
        raise usage("--workers are processes of this machine, --cluster has its own: leave one of them out")


@contextmanager
def executor_of(workers: int | None, cluster: str | None, threads: int | None = None) -> Iterator[Executors]:
    """Yield where tasks run; without either, on threads of this process."""
    from epitomes.scale import dask_executor, process_pool
    from epitomes.scale.executors import ThreadPools

    if cluster is None:
        if workers is not None:
            yield process_pool(workers)
        else:
            yield None if threads is None else ThreadPools(threads)
        return
    try:
        executor = dask_executor(cluster)
    except (OSError, ValueError) as error:
        raise usage(f"--cluster {cluster}: cannot connect ({' '.join(str(error).split())})") from error
    try:
        yield executor
    finally:
        executor.shutdown(wait=False)
