"""Planning: choose a method from the noisy image alone, by trials with held-out noise, within a time limit."""

from epitomes.restoration.planning.candidates import Task
from epitomes.restoration.planning.search import TINY, Decision, Trial, by_time, search
from epitomes.restoration.planning.timing import TimeLimitError, seconds_of

__all__ = ["TINY", "Decision", "Task", "TimeLimitError", "Trial", "by_time", "search", "seconds_of"]
