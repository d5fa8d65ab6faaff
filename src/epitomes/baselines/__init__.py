"""Baselines: the methods that the paper compares itself with, and the best of their time, as methods of `restore`.

>>> import numpy as np
>>> from epitomes import denoise
>>> from epitomes.baselines import METHODS
>>> noisy = np.random.default_rng(0).normal(100, 10, (32, 32))
>>> denoise(noisy, 10.0, method=METHODS["bm3d"]()).shape
(32, 32)

`docs/baselines.md` has a section on each: its formula, its figures beside ours, and when to use it.
"""

from epitomes.baselines.baseline import Baseline, Found, Scene
from epitomes.baselines.bm3d import BM3D
from epitomes.baselines.by_dictionary import AlternatingBaseline, DictionaryBaseline
from epitomes.baselines.comparison import Comparison, Contender, compare, method_named
from epitomes.baselines.density import Density, DensityFit, learn_density
from epitomes.baselines.isd import ISD
from epitomes.baselines.jojic import Jojic
from epitomes.baselines.ksvd import KSVD, learn_ksvd
from epitomes.baselines.lssc import LSSC
from epitomes.baselines.mod import MOD, learn_mod
from epitomes.baselines.nl_bayes import NLBayes
from epitomes.baselines.nl_ridge import NLRidge
from epitomes.baselines.odl import ODL, learn_dictionary
from epitomes.baselines.patterns import Occurrences, PatternsFit, find_occurrences, learn_patterns
from epitomes.baselines.registry import METHODS
from epitomes.baselines.shift_invariant import ShiftInvariant
from epitomes.baselines.wnnm import WNNM

__all__ = [
    "BM3D",
    "ISD",
    "KSVD",
    "LSSC",
    "METHODS",
    "MOD",
    "ODL",
    "WNNM",
    "AlternatingBaseline",
    "Baseline",
    "Comparison",
    "Contender",
    "Density",
    "DensityFit",
    "DictionaryBaseline",
    "Found",
    "Jojic",
    "NLBayes",
    "NLRidge",
    "Occurrences",
    "PatternsFit",
    "Scene",
    "ShiftInvariant",
    "compare",
    "find_occurrences",
    "learn_density",
    "learn_dictionary",
    "learn_ksvd",
    "learn_mod",
    "learn_patterns",
    "method_named",
]
