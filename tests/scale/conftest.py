"""Executors for the tests: threads, processes, and a cluster of two processes on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def dask_client() -> Iterator[Any]:
    """A cluster on the loopback address, without a dashboard.

    A task may kill two workers before it is given up, not four: on a busy machine each takes seconds to start.
    """
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            worker_dashboard_address=None,
            memory_limit=None,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
