"""NL-Ridge: members of a group as linear combinations of each other (Herbreteau and Kervrann, 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from epitomes.baselines._groups import Search, collaborate
from epitomes.baselines.baseline import Baseline, Found, Scene
from epitomes.checks import positive, whole
from epitomes.groups import Ridge


class Profile(NamedTuple):
    """Settings for one range of noise levels."""

    below: float  # noise level, for values from 0 to 255
    patch: int
    group_size: int
    second_patch: int
    second_group_size: int


# The authors' settings. They change at 15, 35 and 50 there; noise levels that follow the contrast need some room.
PROFILES = (
    Profile(17.5, 7, 18, 7, 55),
    Profile(42.0, 9, 18, 9, 90),
    Profile(np.inf, 11, 20, 9, 120),
)


@dataclass(frozen=True, kw_only=True)
class NLRidge(Baseline):
    """NL-Ridge: each patch becomes the best linear combination of the patches similar to it, in two steps.

    Parameters
    ----------
    peak : float, optional
        Value of white. The noise level relative to it chooses sizes of patches and groups. Default: by the contrast of
        the image.
    extra : float, default: 0.05
        Noise that is assumed beside that which there is, in the first step.
    affine : bool, default: True
        Whether the factors of a combination sum to one. That gains 0.1 dB on average over combinations without this
        constraint, the other variant of the authors.
    stride : int, default: 4
        Distance of references in pixels.
    search_radius : int, default: 18
        How far similar patches are looked for, in pixels.

    See Also
    --------
    epitomes.groups.Ridge : The step on one group.

    Notes
    -----
    With the n patches of a group as rows of Y, of m pixels each, the estimate is ``T @ Y``. The T of least expected
    error is ``I - m * sigma**2 * inv(X @ X.T + m * sigma**2 * I)`` for clean patches X [1]_. The first step replaces
    ``X @ X.T`` by an unbiased estimate from noisy patches, the second takes X from the result of the first.

    References
    ----------
    .. [1] S. Herbreteau, C. Kervrann, "Towards a unified view of unsupervised non-local methods for image denoising:
       the NL-Ridge approach", ICIP 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import denoise
    >>> from epitomes.baselines import NLRidge
    >>> clean = np.add.outer(np.arange(32.0), np.arange(32.0))
    >>> noisy = clean + np.random.default_rng(0).normal(0, 5, clean.shape)
    >>> bool(np.std(denoise(noisy, 5.0, method=NLRidge()) - clean) < 2)
    True
    """

    extra: float = 0.05
    affine: bool = True
    stride: int = 4
    search_radius: int = 18

    label: ClassVar[str] = "NL-Ridge"
    least_side: ClassVar[int] = PROFILES[-1].patch

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("extra", self.extra)
        whole("stride", self.stride, least=1)
        whole("search_radius", self.search_radius, least=1)

    def _denoised(self, scene: Scene) -> Found:
        p = next(each for each in PROFILES if scene.sigma < each.below)
        noisy = scene.noisy
        first = Search(p.patch, p.group_size, self.stride, self.search_radius)
        second = Search(p.second_patch, p.second_group_size, self.stride, self.search_radius)
        noisier = Ridge(in_guide=1.0, extra=self.extra, affine=self.affine)
        basic = collaborate(scene, noisy, first, noisier, "combining patches, step 1 of 2", (0.0, 0.3))
        ridge = Ridge(affine=self.affine)
        return Found(
            collaborate(scene, noisy, second, ridge, "combining patches, step 2 of 2", (0.3, 1.0), guide=basic)
        )
