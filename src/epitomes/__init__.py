"""Sparse image representation with epitomes.

An epitome is a small picture whose overlapping patches are all the atoms of a dictionary. Four nouns: patches X,
epitome E, dictionary D, codes A. Three arrows: phi (E -> D), coding ((X, D) -> A), learning (X -> E).

Names are imported when they are first used, so that `epitomes --help` does not wait for the numerical libraries.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from epitomes.aggregate import Aggregator as Aggregator
    from epitomes.coders import OLS as OLS
    from epitomes.coders import OMP as OMP
    from epitomes.coders import Coder as Coder
    from epitomes.coders import Codes as Codes
    from epitomes.coders import Lasso as Lasso
    from epitomes.coders import LassoLARS as LassoLARS
    from epitomes.dictionary import Dictionary as Dictionary
    from epitomes.epitome import Epitome as Epitome
    from epitomes.learn import Fista as Fista
    from epitomes.learn import Fit as Fit
    from epitomes.learn import Moments as Moments
    from epitomes.learn import PreconditionedFista as PreconditionedFista
    from epitomes.learn import Progress as Progress
    from epitomes.learn import ProjectedGradient as ProjectedGradient
    from epitomes.learn import Scale as Scale
    from epitomes.learn import Step as Step
    from epitomes.learn import Update as Update
    from epitomes.learn import Updated as Updated
    from epitomes.learn import run as run
    from epitomes.learn import scales as scales
    from epitomes.learn.alternate import alternate as alternate
    from epitomes.learn.checkpoint import load_step as load_step
    from epitomes.learn.checkpoint import save_step as save_step
    from epitomes.learn.multiscale import multiscale as multiscale
    from epitomes.learn.online import online as online
    from epitomes.learn.start import cosines as cosines
    from epitomes.learn.start import natural as natural
    from epitomes.learn.start import pieces as pieces
    from epitomes.learn.start import smooth_noise as smooth_noise
    from epitomes.model_file import ModelError as ModelError
    from epitomes.model_file import Provenance as Provenance
    from epitomes.model_file import inspect as inspect
    from epitomes.model_file import load as load
    from epitomes.model_file import save as save
    from epitomes.patches import Patches as Patches
    from epitomes.phi import GatherPhi as GatherPhi
    from epitomes.phi import MatrixPhi as MatrixPhi
    from epitomes.phi import Phi as Phi
    from epitomes.phi import UnionPhi as UnionPhi
    from epitomes.phi import as_matrix as as_matrix
    from epitomes.phi import flat as flat
    from epitomes.phi import project as project
    from epitomes.phi import rotated as rotated
    from epitomes.phi import scaled as scaled
    from epitomes.phi import shift_invariant as shift_invariant
    from epitomes.phi import split as split
    from epitomes.phi import subpixel as subpixel
    from epitomes.phi import support_of as support_of
    from epitomes.phi import turned as turned
    from epitomes.phi import union as union
    from epitomes.phi import windows as windows
    from epitomes.restore import Recipe as Recipe
    from epitomes.restore import Restored as Restored
    from epitomes.restore import several as several
    from epitomes.restore import single as single
    from epitomes.restore.denoise import denoise as denoise
    from epitomes.testing import check_coder as check_coder
    from epitomes.testing import check_phi as check_phi

_HOMES = {
    "epitomes.aggregate": ("Aggregator",),
    "epitomes.coders": ("OLS", "OMP", "Coder", "Codes", "Lasso", "LassoLARS"),
    "epitomes.dictionary": ("Dictionary",),
    "epitomes.epitome": ("Epitome",),
    "epitomes.learn": (
        *("Fista", "Fit", "Moments", "PreconditionedFista", "Progress", "ProjectedGradient", "Scale", "Step"),
        *("Update", "Updated", "alternate", "multiscale", "online", "run", "scales"),
    ),
    "epitomes.learn.checkpoint": ("load_step", "save_step"),
    "epitomes.learn.start": ("cosines", "natural", "pieces", "smooth_noise"),
    "epitomes.model_file": ("ModelError", "Provenance", "inspect", "load", "save"),
    "epitomes.patches": ("Patches",),
    "epitomes.phi": (
        *("GatherPhi", "MatrixPhi", "Phi", "UnionPhi", "as_matrix", "flat", "project", "rotated", "scaled"),
        *("shift_invariant", "split", "subpixel", "support_of", "turned", "union", "windows"),
    ),
    "epitomes.restore": ("Recipe", "Restored", "denoise", "several", "single"),
    "epitomes.testing": ("check_coder", "check_phi"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'epitomes' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
