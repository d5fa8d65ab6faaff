"""Regression: estimates corrected by linear maps that were learned from natural images."""

from epitomes.regression.anchored import AnchoredRegression
from epitomes.regression.shipped import ROUNDS, natural_regressions

__all__ = ["ROUNDS", "AnchoredRegression", "natural_regressions"]
