"""Scale: images and collections that are larger than memory, on threads, processes or a cluster."""

from epitomes.scale.executors import dask_executor, process_pool
from epitomes.scale.progress import StoreProgress
from epitomes.scale.store import StoreResult, denoise_store
from epitomes.scale.tasks import Failure, run_tasks

__all__ = [
    "Failure",
    "StoreProgress",
    "StoreResult",
    "dask_executor",
    "denoise_store",
    "process_pool",
    "run_tasks",
]
