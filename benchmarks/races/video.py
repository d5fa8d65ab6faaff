"""`race-video`: see `sequences`."""

from benchmarks.races.sequences import run_clips as run

__all__ = ["run"]
