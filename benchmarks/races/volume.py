"""`race-volume`: see `sequences`."""

from benchmarks.races.sequences import run_volumes as run

__all__ = ["run"]
