"""Scale: images and collections that are larger than memory, on threads, processes or a cluster."""

from epitomes.scale._collection import Collection, Kind, Member, Shard, collection
from epitomes.scale.executors import dask_executor, process_pool
from epitomes.scale.learn import dictionary_step, learn_from, statistics_of
from epitomes.scale.outcome import FailedShard, Learned, Status, TooManyFailedError
from epitomes.scale.progress import StoreProgress
from epitomes.scale.shards import code_shard
from epitomes.scale.start import start_for
from epitomes.scale.statistics import Skipped, Statistics, merge, pairwise
from epitomes.scale.statistics_file import load_statistics, save_statistics
from epitomes.scale.store import StoreResult, denoise_store
from epitomes.scale.tasks import Failure, run_tasks

__all__ = [
    "Collection",
    "FailedShard",
    "Failure",
    "Kind",
    "Learned",
    "Member",
    "Shard",
    "Skipped",
    "Statistics",
    "Status",
    "StoreProgress",
    "StoreResult",
    "TooManyFailedError",
    "code_shard",
    "collection",
    "dask_executor",
    "denoise_store",
    "dictionary_step",
    "learn_from",
    "load_statistics",
    "merge",
    "pairwise",
    "process_pool",
    "run_tasks",
    "save_statistics",
    "start_for",
    "statistics_of",
]
