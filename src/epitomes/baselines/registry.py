"""The registry: all baselines by the name that commands and benchmarks use. A new method is one line here."""

from __future__ import annotations

from epitomes.baselines.baseline import Baseline
from epitomes.baselines.bm3d import BM3D
from epitomes.baselines.isd import ISD
from epitomes.baselines.jojic import Jojic
from epitomes.baselines.ksvd import KSVD
from epitomes.baselines.lssc import LSSC
from epitomes.baselines.mod import MOD
from epitomes.baselines.nl_bayes import NLBayes
from epitomes.baselines.nl_ridge import NLRidge
from epitomes.baselines.odl import ODL
from epitomes.baselines.shift_invariant import ShiftInvariant
from epitomes.baselines.wnnm import WNNM

METHODS: dict[str, type[Baseline]] = {
    "bm3d": BM3D,
    "isd": ISD,
    "jojic": Jojic,
    "ksvd": KSVD,
    "lssc": LSSC,
    "mod": MOD,
    "nl-bayes": NLBayes,
    "nl-ridge": NLRidge,
    "odl": ODL,
    "shift-invariant": ShiftInvariant,
    "wnnm": WNNM,
}
