"""A Dask cluster in a process of its own, which can always be ended: closing one in the process of a test may hang."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

ALLOWED_FAILURES = (
    1  # a task may kill two workers before it is given up, not four: on a busy machine each takes seconds
)


@dataclass(frozen=True)
class Cluster:
    """Where the scheduler listens, and its process."""

    address: str
    process: subprocess.Popen[str]

    def end(self) -> None:
        """End the scheduler and all workers."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def cluster(workers: int = 2) -> Iterator[Cluster]:
    """A cluster on the loopback address, without a dashboard."""
    command = [sys.executable, "-m", "dask_cluster", str(workers)]
    folder = os.path.dirname(__file__)
    paths = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": paths},
    ) as process:
        assert process.stdout is not None
        found = Cluster("", process)
        try:
            found = Cluster(json.loads(process.stdout.readline()), process)
            yield found
        finally:
            if process.poll() is None:
                found.end()


def main() -> None:
    """Run a cluster until the standard input ends: with the test that started it, however that ends."""
    import dask
    from distributed import LocalCluster

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": ALLOWED_FAILURES}),
        LocalCluster(
            n_workers=int(sys.argv[1]),
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            worker_dashboard_address=None,
            memory_limit=None,
        ) as running,
    ):
        print(json.dumps(running.scheduler_address), flush=True)
        sys.stdin.read()
        os.killpg(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
