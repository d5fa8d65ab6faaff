"""Planning: choose a method from the noisy image alone, by trials with held-out noise, within a time budget."""

from epitomes.restoration.planning.search import TINY, Decision, Trial, search

__all__ = ["TINY", "Decision", "Trial", "search"]
