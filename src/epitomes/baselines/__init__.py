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
from epitomes.baselines.lssc import LSSC
from epitomes.baselines.nl_bayes import NLBayes
from epitomes.baselines.nl_ridge import NLRidge
from epitomes.baselines.registry import METHODS
from epitomes.baselines.wnnm import WNNM

__all__ = ["BM3D", "LSSC", "METHODS", "WNNM", "Baseline", "Found", "NLBayes", "NLRidge", "Scene"]
