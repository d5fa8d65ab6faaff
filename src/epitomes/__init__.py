"""Sparse image representation with epitomes.

An epitome is a small picture whose overlapping patches are all the atoms of a dictionary. Four nouns: patches X,
epitome E, dictionary D, codes A. Three arrows: phi (E -> D), coding ((X, D) -> A), learning (X -> E).

Names are imported when they are first used, so that `epitomes --help` does not wait for the numerical libraries.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from epitomes.adaptors import Prior as Prior
    from epitomes.adaptors import Proximal as Proximal
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
    from epitomes.noise import NoiseCorrelation as NoiseCorrelation
    from epitomes.noise import NoiseEstimate as NoiseEstimate
    from epitomes.noise import PoissonFit as PoissonFit
    from epitomes.noise import PoissonGaussian as PoissonGaussian
    from epitomes.noise import Stabilised as Stabilised
    from epitomes.noise import Whitened as Whitened
    from epitomes.noise import anscombe as anscombe
    from epitomes.noise import estimate_noise as estimate_noise
    from epitomes.noise import fit_poisson_gaussian as fit_poisson_gaussian
    from epitomes.noise import inverse_anscombe as inverse_anscombe
    from epitomes.noise import kernel_spectrum as kernel_spectrum
    from epitomes.noise import noise_correlation as noise_correlation
    from epitomes.noise import sample_spectrum as sample_spectrum
    from epitomes.noise import stabilised as stabilised
    from epitomes.noise import whitened as whitened
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
    from epitomes.restore import Choice as Choice
    from epitomes.restore import Recipe as Recipe
    from epitomes.restore import Restored as Restored
    from epitomes.restore import several as several
    from epitomes.restore import single as single
    from epitomes.restore.choose import choose as choose
    from epitomes.restore.denoise import denoise as denoise
    from epitomes.testing import check_coder as check_coder
    from epitomes.testing import check_phi as check_phi

_HOMES = {
    "epitomes.adaptors": ("Prior", "Proximal"),
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
    "epitomes.noise": (
        *("NoiseCorrelation", "NoiseEstimate", "PoissonFit", "PoissonGaussian", "Stabilised", "Whitened", "anscombe"),
        *("estimate_noise", "fit_poisson_gaussian", "inverse_anscombe", "kernel_spectrum", "noise_correlation"),
        *("sample_spectrum", "stabilised", "whitened"),
    ),
    "epitomes.patches": ("Patches",),
    "epitomes.phi": (
        *("GatherPhi", "MatrixPhi", "Phi", "UnionPhi", "as_matrix", "flat", "project", "rotated", "scaled"),
        *("shift_invariant", "split", "subpixel", "support_of", "turned", "union", "windows"),
    ),
    "epitomes.restore": ("Choice", "Recipe", "Restored", "choose", "denoise", "several", "single"),
    "epitomes.testing": ("check_coder", "check_phi"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

# Parts with names of their own, `epitomes.plot.epitome`; both need more than the library does.
_ROOMS = ("estimators", "plot")

# What notebooks show as a picture. These classes lie below the drawing and know nothing of it; here both are at hand.
_PICTURED = {"epitomes.epitome": "Epitome", "epitomes.learn.steps": "Fit", "epitomes.restore.result": "Restored"}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return importlib.import_module(f"epitomes.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'epitomes' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_HOME_OF[name]), name)
    for home, kind in _PICTURED.items():
        if (pictured := getattr(sys.modules.get(home), kind, None)) is not None:
            pictured._repr_html_ = _repr_html_
    globals()[name] = value
    return value


def _repr_html_(self: object) -> str:
    """What a notebook shows of a value."""
    from epitomes.notebook import html

    return html(self)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF, *_ROOMS})
