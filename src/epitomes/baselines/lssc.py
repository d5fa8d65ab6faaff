"""LSSC: learned simultaneous sparse coding (Mairal, Bach, Ponce, Sapiro and Zisserman, 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from epitomes.baselines._groups import Search, collaborate
from epitomes.baselines.baseline import Baseline, Found, Scene
from epitomes.checks import positive, whole
from epitomes.epitome import RESIDUAL_FACTOR, Epitome
from epitomes.groups import SharedAtoms
from epitomes.learn import natural
from epitomes.phi import windows
from epitomes.restoration.method import within
from epitomes.restoration.patchwise.coding import coded, patches_of
from epitomes.restoration.patchwise.recipe import Recipe


class Profile(NamedTuple):
    """Settings for one range of noise levels."""

    below: float  # noise level, for values from 0 to 255
    patch: int
    group_size: int
    threshold: float
    bound: float
    n_atoms: int


# Chosen here, on parts of house, peppers and cameraman at 10, 25 and 50; bounds on house and peppers at 10 to 50; atoms
# on parts of the five images of Table 2 at 10 to 50.
PROFILES = (
    Profile(12.5, 8, 64, 1.5, 0.82, 768),
    Profile(17.5, 8, 64, 1.5, 0.87, 512),
    Profile(22.5, 9, 64, 0.3, 0.93, 512),
    Profile(40.0, 9, 64, 0.3, 0.97, 512),
    Profile(np.inf, 9, 80, 0.3, 0.97, 512),
)
SHIPPED = (2, 46, 46)  # epitomes of natural images whose windows are the first dictionary
LEAST_MEMBERS = 8
LEARNED, PILOT = 0.3, 0.4  # of the progress, when these are done


@dataclass(frozen=True, kw_only=True)
class LSSC(Baseline):
    """Learned simultaneous sparse coding: similar patches share atoms of a dictionary adapted to the noisy image.

    Parameters
    ----------
    peak : float, optional
        Value of white. The noise level relative to it chooses sizes of patches and groups. Default: by the contrast of
        the image.
    n_atoms : int, optional
        Number of atoms of the flat dictionary. Default: 512, and 768 for faint noise.
    bound : float, optional
        Error up to which a group is coded, for each pixel and in variances of the noise. Default: 0.97, and less for
        faint noise.
    strength : float, default: 2.0
        How strongly the codes of a group are shrunk to low rank, see `epitomes.groups.LowRank`. The authors do not do
        this: their method is ``strength=0`` with a bound of about 1.03, and 0.1 to 0.2 dB worse here.
    threshold : float, optional
        Largest mean squared difference of members in the last estimate, in variances of the noise; the nearest 8 belong
        to a group in any case. Default: 0.3, and more for faint noise.
    stride : int, default: 2
        Distance of references in pixels.
    search_radius : int, default: 16
        How far similar patches are looked for, in pixels.
    rounds : int, default: 2
        How often groups are found and coded, each time on the last estimate.

    See Also
    --------
    epitomes.groups.SharedAtoms : The step on one group.
    epitomes.restoration.NonLocal : The same with an epitome, and codes of low rank.

    Notes
    -----
    The dictionary starts from windows of an epitome of natural images, and is adapted to the noisy image by online
    dictionary learning. Patches are coded one by one, which gives a first estimate. On it, groups S of similar patches
    are found. Their noisy patches y are coded together by the fewest atoms such that
    ``sum(|y_j - D a_j|**2 for j in S) <= bound * |S| * m * sigma**2``: all members use the same atoms [1]_. Every pixel
    becomes the mean of its estimates.

    References
    ----------
    .. [1] J. Mairal, F. Bach, J. Ponce, G. Sapiro, A. Zisserman, "Non-local sparse models for image restoration",
       ICCV 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import denoise
    >>> from epitomes.baselines import LSSC
    >>> clean = np.add.outer(np.arange(32.0), np.arange(32.0))
    >>> noisy = clean + np.random.default_rng(0).normal(0, 5, clean.shape)
    >>> bool(np.std(denoise(noisy, 5.0, method=LSSC(n_atoms=64)) - clean) < 2)
    True
    """

    n_atoms: int | None = None
    bound: float | None = None
    strength: float = 2.0
    threshold: float | None = None
    stride: int = 2
    search_radius: int = 16
    rounds: int = 2

    label: ClassVar[str] = "LSSC"
    least_side: ClassVar[int] = PROFILES[-1].patch

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_atoms is not None:
            whole("n_atoms", self.n_atoms, least=2)
        positive("strength", self.strength, zero=True)
        if self.bound is not None:
            positive("bound", self.bound)
        if self.threshold is not None:
            positive("threshold", self.threshold, zero=True)
        for name in ("stride", "search_radius", "rounds"):
            whole(name, getattr(self, name), least=1)

    def _denoised(self, scene: Scene) -> Found:
        profile = next(each for each in PROFILES if scene.sigma < each.below)
        noisy = scene.noisy
        start = natural_dictionary(profile.patch, profile.n_atoms if self.n_atoms is None else self.n_atoms)
        schedule = Recipe(start=start).settle(noisy[0, 0], 1.0)
        told, n_steps = scene.advance("learning the dictionary", 0.0, LEARNED), schedule.n_steps
        watch = None if told is None else lambda step: told(step.progress.index / n_steps)
        patches = patches_of(noisy[0, 0], schedule.start)
        fit = schedule.learn(patches, seed=scene.seed, threads=scene.threads, callback=watch)
        clean, atoms = np.empty_like(noisy), 0.0
        for c, channel in enumerate(noisy[:, 0]):
            first, last = (LEARNED + (PILOT - LEARNED) * (c + k) / len(noisy) for k in (0, 1))
            part = within(scene.callback, first, last)
            clean[c, 0], used = coded(channel, 1.0, fit.epitome, RESIDUAL_FACTOR, 0.0, scene.threads, part)
            atoms += used / len(noisy)
        shrinker = SharedAtoms(
            atoms=fit.epitome.dictionary.atoms,
            bound=profile.bound if self.bound is None else self.bound,
            selection_size=profile.group_size,
            most_atoms=profile.patch**2 // 2,
            strength=self.strength,
        )
        apart = profile.threshold if self.threshold is None else self.threshold
        search = Search(profile.patch, profile.group_size, self.stride, self.search_radius, apart, LEAST_MEMBERS)
        for number in range(self.rounds):
            first, last = (PILOT + (1 - PILOT) * (number + k) / self.rounds for k in (0, 1))
            stage = f"coding groups, round {number + 1} of {self.rounds}"
            clean = collaborate(scene, noisy, search, shrinker, stage, (first, last), match_on=clean)
        return Found(clean, fit.epitome, fit, atoms)


def natural_dictionary(side: int, n_atoms: int) -> Epitome:
    """A flat dictionary for natural images: windows of a shipped epitome, evenly spread over it."""
    atoms = natural(windows(SHIPPED, (side, side))).dictionary.atoms
    chosen = np.unique(np.linspace(0, len(atoms) - 1, n_atoms).round().astype(int))
    return Epitome(atoms[chosen].reshape(-1, side, side), windows((len(chosen), side, side), (side, side)))
