"""WNNM: weighted nuclear norm minimisation (Gu, Zhang, Zuo and Feng, 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from epitomes.baselines._groups import Search, collaborate
from epitomes.baselines.baseline import Baseline, Found, Scene
from epitomes.checks import positive, whole
from epitomes.groups import LowRank
from epitomes.groups._estimate import Level
from epitomes.restoration.non_local.passes import mean_squares


class Profile(NamedTuple):
    """Settings for one range of noise levels."""

    below: float  # noise level, for values from 0 to 255
    patch: int
    group_size: int
    rounds: int
    trust: float


# The authors' settings. They change at 20, 40 and 60 there; noise levels that follow the contrast need some room.
PROFILES = (
    Profile(22.5, 6, 70, 8, 0.54),
    Profile(43.0, 7, 90, 12, 0.56),
    Profile(62.5, 8, 120, 14, 0.58),
    Profile(np.inf, 9, 140, 14, 0.58),
)
FEWER, EVERY = 10, 2  # members less, at the first round and every second one after it
LEAST_MEMBERS = 10


@dataclass(frozen=True, kw_only=True)
class WNNM(Baseline):
    """Weighted nuclear norm minimisation: groups of similar patches have low rank, in rounds with residual feedback.

    Parameters
    ----------
    peak : float, optional
        Value of white. The noise level relative to it chooses patch, group size and number of rounds. Default: by the
        contrast of the image.
    rounds : int, optional
        Number of rounds. Default: 8 to 14, more for stronger noise.
    stride : int, optional
        Distance of references in pixels. Default: half a patch less one, as the authors do.
    search_radius : int, default: 30
        How far similar patches are looked for, in pixels.
    strength : float, default: 1.8
        How strongly singular values are shrunk, see `epitomes.groups.LowRank`. The authors' constant is 1.41; 1.8 was
        chosen here, on parts of house and peppers.
    feedback : float, default: 0.1
        Share of the residual that is added back before each round.

    See Also
    --------
    epitomes.groups.LowRank : The shrinkage of one group.
    epitomes.restoration.NonLocal : Ends with one pass of this kind, after passes over atoms.

    Notes
    -----
    With the noisy image y and the estimate x so far, each round works on ``u = x + feedback * (y - x)``. The noise left
    in u is taken as ``trust * sqrt(abs(sigma**2 - mean((y - u)**2)))``, the mean over the pixels of the reference patch
    (sigma itself in the first round). Groups of the nearest patches of u, less their mean patch, have their singular
    values s shrunk to ``(s + sqrt(s**2 - 4 * C)) / 2`` with ``C = 2 * strength * sqrt(n) * level**2`` [1]_.

    References
    ----------
    .. [1] S. Gu, L. Zhang, W. Zuo, X. Feng, "Weighted nuclear norm minimization with application to image denoising",
       CVPR 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import denoise
    >>> from epitomes.baselines import WNNM
    >>> clean = np.add.outer(np.arange(32.0), np.arange(32.0))
    >>> noisy = clean + np.random.default_rng(0).normal(0, 5, clean.shape)
    >>> estimate = denoise(noisy, 5.0, method=WNNM(rounds=2))
    >>> bool(np.std(estimate - clean) < 2)
    True
    """

    rounds: int | None = None
    stride: int | None = None
    search_radius: int = 30
    strength: float = 1.8
    feedback: float = 0.1

    label: ClassVar[str] = "WNNM"
    least_side: ClassVar[int] = PROFILES[-1].patch

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rounds", "stride"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), least=1)
        whole("search_radius", self.search_radius, least=1)
        positive("strength", self.strength, zero=True)
        if positive("feedback", self.feedback, zero=True) > 1:
            raise ValueError(f"feedback is a share of the residual, at most 1, got {self.feedback}")

    def _denoised(self, scene: Scene) -> Found:
        profile = next(each for each in PROFILES if scene.sigma < each.below)
        side = profile.patch
        shrinker = LowRank(strength=self.strength)
        rounds = self.rounds or profile.rounds
        noisy, clean, size = scene.noisy, scene.noisy, profile.group_size
        for number in range(rounds):
            if number % EVERY == 0:
                size = max(LEAST_MEMBERS, size - FEWER)
            mixed = clean + np.float32(self.feedback) * (noisy - clean)
            if number == 0:
                level: list[Level] = [1.0] * len(noisy)
            else:
                errors = (mean_squares(y, u, (side, side)) for y, u in zip(noisy, mixed, strict=True))
                level = [np.float32(profile.trust) * np.sqrt(np.abs(1 - error)) for error in errors]
            search = Search(side, size, self.stride or side // 2 - 1, self.search_radius)
            stage, part = f"round {number + 1} of {rounds}", (number / rounds, (number + 1) / rounds)
            clean = collaborate(scene, mixed, search, shrinker, stage, part, level=level)
        return Found(clean)
