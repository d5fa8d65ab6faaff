"""A Dask cluster of two processes on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from dask_cluster import cluster


@pytest.fixture(scope="session")
def dask_client() -> Iterator[Any]:
    """A client of a cluster."""
    distributed = pytest.importorskip("distributed")
    with cluster() as running:
        client = distributed.Client(running.address, set_as_default=False)
        yield client
        client.close(timeout=5)
