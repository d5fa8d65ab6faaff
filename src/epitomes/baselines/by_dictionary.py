"""What the baselines with a dictionary share: learned from each channel, patches coded up to the noise and averaged."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from epitomes.baselines.baseline import Baseline, Found, Scene
from epitomes.checks import Array, as_floats, positive, whole
from epitomes.coders import OMP
from epitomes.epitome import Epitome
from epitomes.learn import Fit, Progress, Step, cosines, run
from epitomes.learn.samples import Source
from epitomes.patches import Patches
from epitomes.phi import flat
from epitomes.restoration.method import Callback, within
from epitomes.restoration.patchwise.coding import coded

NOISY = 30.0  # weight of the noisy pixel, times the noise level of bytes (Elad and Aharon, 2006)
LEARNING = 0.8  # of the progress: when learning is done
PATCH = 8  # pixels along a side
GROWING = ((4_000, 10), (8_000, 6), (16_000, 3), (65_000, 1))  # better than ten iterations with all, in half the time

Schedule = tuple[tuple[int, int], ...]
SPARE = 1000  # patches among which first atoms are looked for, at least: some are zero


@dataclass(frozen=True, kw_only=True)
class DictionaryBaseline(Baseline):
    """Base of the baselines that learn a dictionary from the noisy image and code every patch by orthogonal pursuit.

    A baseline of this kind defines `label`, `least_side` and ``_learned``.

    Parameters
    ----------
    peak : float, optional
        Value of white. It sets the default of `blend`.
    residual_factor : float, default: 1.15
        The factor C in the bound of the error of a patch of m pixels, ``m * (C * sigma)**2``.
    blend : float, optional
        Weight of the noisy pixel beside its estimates, of which there are as many as a patch has pixels. Default:
        ``30 / sigma``, for values from 0 to 255.

    See Also
    --------
    KSVD : The first of them.

    Notes
    -----
    With patches R_i y of the noisy image y, less their means, and codes a_i of error ``m * (C * sigma)**2`` at most,
    the estimate is ``(blend * y + sum_i R_i' D a_i) / (blend + sum_i R_i' R_i)``, means included. Channels are denoised
    one by one.

    Examples
    --------
    >>> from epitomes.baselines import KSVD, DictionaryBaseline
    >>> isinstance(KSVD(), DictionaryBaseline)
    True
    """

    residual_factor: float = 1.15
    blend: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("residual_factor", self.residual_factor)
        if self.blend is not None:
            positive("blend", self.blend, zero=True)

    @abstractmethod
    def _learned(self, plane: Array, scene: Scene, callback: Callback | None) -> Fit:
        """Learn a dictionary from a plane, whose noise has standard deviation 1."""

    def _coding(self, epitome: Epitome) -> tuple[Epitome, ...]:
        """The dictionaries that code the patches; the result is the mean over them."""
        return (epitome,)

    def _bound(self, size: int) -> float:
        """The largest squared error of a patch of so many pixels."""
        return size * self.residual_factor**2

    def _denoised(self, scene: Scene) -> Found:
        n = len(scene.noisy)
        parts = [
            self._plane(np.ascontiguousarray(plane), scene, within(scene.callback, c / n, (c + 1) / n))
            for c, plane in enumerate(scene.noisy[:, 0])
        ]
        clean = np.stack([part.clean for part in parts])[:, None]
        return Found(clean, parts[0].epitome, parts[0].fit, sum(part.atoms_per_patch for part in parts) / n)

    def _plane(self, plane: Array, scene: Scene, callback: Callback | None) -> Found:
        fit = self._learned(plane, scene, within(callback, 0.0, LEARNING))
        blend = NOISY / scene.sigma if self.blend is None else self.blend
        kinds = self._coding(fit.epitome)
        found = [
            coded(
                plane,
                1.0,
                epitome,
                self.residual_factor,
                blend,
                scene.threads,
                within(callback, *(LEARNING + (1 - LEARNING) * at / len(kinds) for at in (number, number + 1))),
                pursuit=OMP,
            )
            for number, epitome in enumerate(kinds)
        ]
        clean = np.asarray(np.mean([image for image, _ in found], axis=0, dtype=np.float64), np.float32)
        return Found(clean, fit.epitome, fit, sum(count for _, count in found) / len(found))


@dataclass(frozen=True, kw_only=True)
class AlternatingBaseline(DictionaryBaseline):
    """Base of the baselines that learn by coding and dictionary steps in turn, on more and more patches.

    A baseline of this kind defines `label`, `least_side`, ``_start`` and ``_steps``.

    Parameters
    ----------
    peak : float, optional
        Value of white. It sets the default of `blend`.
    residual_factor : float, default: 1.15
        The factor C in the bound of the error of a patch of m pixels, ``m * (C * sigma)**2``.
    blend : float, optional
        Weight of the noisy pixel beside its estimates. Default: ``30 / sigma``, for values from 0 to 255.
    schedule : tuple of pairs, default: ((4000, 10), (8000, 6), (16000, 3), (65000, 1))
        Numbers of patches and of iterations with them, one pair after another. Patches are those of a grid.

    See Also
    --------
    KSVD : One of them.

    Examples
    --------
    >>> from epitomes.baselines import ISD, AlternatingBaseline
    >>> isinstance(ISD(), AlternatingBaseline)
    True
    """

    schedule: Schedule = GROWING

    def __post_init__(self) -> None:
        super().__post_init__()
        parts: object = self.schedule
        pairs = isinstance(parts, tuple) and all(isinstance(each, tuple) and len(each) == 2 for each in parts)
        if not pairs or not self.schedule:
            raise TypeError(f"schedule must be a tuple of pairs (patches, iterations), got {self.schedule!r}")
        for n_patches, count in self.schedule:
            whole("patches of schedule", n_patches, least=1)
            whole("iterations of schedule", count, least=1)

    @abstractmethod
    def _start(self, scene: Scene) -> Epitome:
        """The dictionary that learning starts from."""

    @abstractmethod
    def _steps(self, patches: Patches, start: Epitome, coder: OMP, scene: Scene) -> Iterator[Step]:
        """A learner of the patches."""

    def _n_steps(self, patches: Patches, count: int) -> int:
        """How many steps make so many iterations."""
        return count

    def _learned(self, plane: Array, scene: Scene, callback: Callback | None) -> Fit:
        start = self._start(scene)
        coder = OMP(residual=self._bound(start.phi.patch_size))
        history: tuple[Progress, ...] = ()
        whole_count, done = sum(count for _, count in self.schedule), 0
        for most, count in self.schedule:
            patches = training_patches(plane, start.phi.patch_shape, most)
            part = within(callback, done / whole_count, (done + count) / whole_count)
            n_steps = self._n_steps(patches, count)
            fit = run(self._steps(patches, start, coder, scene), max_steps=n_steps, callback=watch(n_steps, part))
            start, before, done = fit.epitome, len(history), done + count
            history += tuple(replace(each, index=before + each.index) for each in fit.history)
        return replace(fit, history=history)


@lru_cache(maxsize=4)
def overcomplete_dct(n_atoms: int) -> Epitome:
    """A flat dictionary of cosines of 8 x 8 pixels, made once for all channels and planes."""
    return cosines(flat(n_atoms, (PATCH, PATCH)))


def first_dictionary(source: Source, n_atoms: int | None, start: ArrayLike | None, seed: int) -> Epitome:
    """The flat dictionary that learning starts from: the given atoms, or patches drawn at random."""
    size = source.patch_size if isinstance(source, Patches) else int(source.shape[1])
    if start is not None:
        atoms = as_floats("start", start, ndim=2, dtype=np.float64)
        if atoms.shape[1] != size:
            raise ValueError(f"start needs {size} values per atom, as the patches have, got shape {atoms.shape}")
        if n_atoms is not None and n_atoms != len(atoms):
            raise ValueError(f"start has {len(atoms)} atoms, but n_atoms is {n_atoms}: leave one of them out")
    elif n_atoms is None:
        raise ValueError("n_atoms is needed, the number of atoms, or start, the initial atoms as rows")
    else:
        atoms = _drawn(source, whole("n_atoms", n_atoms, least=1), seed)
    patch = (size,) if not isinstance(source, Patches) or source.support is not None else source.patch_shape
    return Epitome(atoms.reshape(-1, *patch), flat(len(atoms), patch))


def _drawn(source: Source, n_atoms: int, seed: int) -> Array:
    """Unit rows of patches, each another one as long as there are enough that are not zero."""
    order = np.random.default_rng([seed, 1]).permutation(len(source))[: max(SPARE, 4 * n_atoms)]
    rows = source.at_index(order)[0] if isinstance(source, Patches) else source[order]
    norms = np.sqrt(np.einsum("nm,nm->n", rows, rows, dtype=np.float64))
    used = np.flatnonzero(norms > 0)
    if not len(used):
        raise ValueError("the patches are zero, so no atoms can be drawn from them: pass start")
    used = np.resize(used, n_atoms)
    return np.asarray(rows[used] / norms[used, None], np.float64)


def busy_rows(patches: Patches, bound: float) -> Array:
    """The patches whose squared norm is above the bound of the error: the others get no atoms, and teach none."""
    rows = patches.rows(0, len(patches))[0]
    busy = np.einsum("nm,nm->n", rows, rows) > bound
    return rows[busy] if busy.any() else rows[:1]


def require_sizes(sizes: Sequence[int], side: int) -> None:
    """Refuse widths of patches that do not fit in a square epitome."""
    if not isinstance(sizes, tuple) or not sizes:
        raise TypeError(f"sizes must be a tuple of widths of patches, such as (8,), got {sizes!r}")
    for size in sizes:
        if whole("each of sizes", size, least=2) > side:
            raise ValueError(f"patches of {size} pixels do not fit in an epitome of side {side}: enlarge it")


def training_patches(plane: Array, patch: tuple[int, ...], most: int) -> Patches:
    """The patches to learn from: all, or those of a grid, about `most` of them."""
    n = math.prod(side - width + 1 for side, width in zip(plane.shape, patch, strict=True))
    stride = max(1, math.ceil(math.sqrt(n / most)))
    return Patches(plane, patch, stride=stride)


def watch(n_steps: int, callback: Callback | None) -> Callable[[Step], None] | None:
    """A callback for the steps of a learner."""
    if callback is None:
        return None
    return lambda step: callback(step.progress.index / n_steps, f"learning, step {step.progress.index} of {n_steps}")
