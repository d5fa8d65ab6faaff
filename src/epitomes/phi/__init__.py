"""Maps phi from the pixels of an epitome to the atoms of its dictionary: index tables, sparse matrices and unions."""

from epitomes.phi._union import UnionPhi, split, union
from epitomes.phi._windows import flat, shift_invariant, turned, windows
from epitomes.phi.gather import GatherPhi
from epitomes.phi.matrix import MatrixPhi
from epitomes.phi.protocol import Phi, as_matrix, project, support_of
from epitomes.phi.resampled import rotated, scaled, subpixel

__all__ = [
    "GatherPhi",
    "MatrixPhi",
    "Phi",
    "UnionPhi",
    "as_matrix",
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
