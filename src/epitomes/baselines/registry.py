"""The registry: all baselines by the name that commands and benchmarks use. A new method is one line here."""

from __future__ import annotations

from epitomes.baselines.baseline import Baseline
from epitomes.baselines.bm3d import BM3D
from epitomes.baselines.lssc import LSSC
from epitomes.baselines.nl_bayes import NLBayes
from epitomes.baselines.nl_ridge import NLRidge
from epitomes.baselines.wnnm import WNNM

METHODS: dict[str, type[Baseline]] = {
    "bm3d": BM3D,
    "lssc": LSSC,
    "nl-bayes": NLBayes,
    "nl-ridge": NLRidge,
    "wnnm": WNNM,
}
