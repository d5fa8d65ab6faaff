"""Sparse image representation with epitomes.

An epitome is a small picture whose overlapping patches are all the atoms of a dictionary. Four nouns: patches X,
epitome E, dictionary D, codes A. Three arrows: phi (E -> D), coding ((X, D) -> A), learning (X -> E).
"""

from epitomes.aggregate import Aggregator
from epitomes.coders import OLS, OMP, Coder, Codes, Lasso, LassoLARS
from epitomes.dictionary import Dictionary
from epitomes.epitome import Epitome
from epitomes.patches import Patches
from epitomes.phi import (
    GatherPhi,
    MatrixPhi,
    Phi,
    UnionPhi,
    as_matrix,
    flat,
    project,
    rotated,
    scaled,
    shift_invariant,
    split,
    subpixel,
    support_of,
    turned,
    union,
    windows,
)
from epitomes.testing import check_coder, check_phi

__version__ = "0.1.0"

__all__ = [
    "OLS",
    "OMP",
    "Aggregator",
    "Coder",
    "Codes",
    "Dictionary",
    "Epitome",
    "GatherPhi",
    "Lasso",
    "LassoLARS",
    "MatrixPhi",
    "Patches",
    "Phi",
    "UnionPhi",
    "as_matrix",
    "check_coder",
    "check_phi",
    "flat",
    "project",
    "rotated",
    "scaled",
    "shift_invariant",
    "split",
    "subpixel",
    "support_of",
    "turned",
    "union",
    "windows",
]
