"""The competitors, one file each. To add one: a file that turns a problem into a `Rival`, and a line in the race.

A rival's inputs are laid out as it likes them before the clock starts; turning its output into our codes is not timed
either. A rival that is not installed is named and skipped, never guessed.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.start import PATCH
from epitomes import Epitome, Patches

_NAMED: set[str] = set()


@dataclass(frozen=True, eq=False)
class Problem:
    """All centred patches of a noisy picture, to be coded on the windows of an epitome."""

    noisy: NDArray[np.float32]
    epitome: Epitome
    threads: int
    residual: float = 0.0  # pursuit: stop once |x - a D|^2 is at most this
    lam: float = 0.0  # lasso: price of |d_j| |a_j|

    @cached_property
    def rows(self) -> NDArray[np.float32]:
        patches = Patches(self.noisy, PATCH)
        return np.ascontiguousarray(patches.rows(0, patches.n_patches)[0], np.float32)

    @cached_property
    def atoms(self) -> NDArray[np.float32]:
        return np.ascontiguousarray(self.epitome.phi(self.epitome.pixels), np.float32)

    @cached_property
    def norms(self) -> NDArray[np.float32]:
        return np.linalg.norm(self.atoms, axis=1)

    @cached_property
    def unit(self) -> NDArray[np.float32]:
        return self.atoms / np.maximum(self.norms, np.finfo(np.float32).tiny)[:, None]

    def unscaled(self, codes: csr_array) -> csr_array:
        """Codes of the unit atoms as codes of the atoms as they are."""
        data = codes.data / self.norms[codes.indices]
        return csr_array((data, codes.indices, codes.indptr), shape=codes.shape)


@dataclass(frozen=True, eq=False)
class Rival:
    name: str
    run: Callable[[], Any]  # timed
    codes: Callable[[Any], csr_array]  # not timed: what `run` returned, as codes of the atoms as they are
    chosen: NDArray[np.intp] | None = None  # a slow rival codes only these patches

    @property
    def indices(self) -> slice | NDArray[np.intp]:
        """Selects from all the rows those that this rival coded."""
        return slice(None) if self.chosen is None else self.chosen


def installed(module: str, package: str) -> bool:
    """Whether the module can be imported; if not, says once on stderr that it is left out and how to get it."""
    if importlib.util.find_spec(module) is not None:
        return True
    if package not in _NAMED:
        _NAMED.add(package)
        print(f"# {package} is not installed: skipped (make bench installs it)", file=sys.stderr)
    return False
