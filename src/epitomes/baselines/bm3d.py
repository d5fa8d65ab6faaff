"""BM3D: block matching and 3-D collaborative filtering (Dabov, Foi, Katkovnik and Egiazarian, 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from epitomes.baselines._groups import Search, collaborate
from epitomes.baselines.baseline import Baseline, Found, Scene
from epitomes.checks import positive, whole
from epitomes.groups import Collaborative


class Profile(NamedTuple):
    """Settings of both steps. Distances are mean squared differences of pixels with values from 0 to 255."""

    transform: str
    patch: int
    group_size: int
    stride: int
    distance: float
    threshold: float
    wiener_patch: int
    wiener_group_size: int
    wiener_stride: int
    wiener_distance: float


NORMAL = Profile("bior1.5", 8, 16, 2, 3000.0, 2.7, 8, 32, 2, 400.0)
STRONG = NORMAL._replace(distance=25000.0)  # noise alone makes patches differ by 2 sigma^2
STRONG_NOISE = 40.0  # noise level, for values from 0 to 255, from which the second profile is used
RADIUS = 19
# Factors of the threshold in turned channels. Differences of colours are smoother than the lightness, and most of what
# passes the threshold there is noise. Chosen on crops of five Kodak images at 25 and 50.
LIGHTNESS, DIFFERENCE = 0.96, 1.2


@dataclass(frozen=True, kw_only=True)
class BM3D(Baseline):
    """Block matching and 3-D filtering: groups are shrunk in a fixed transform, first by a threshold, then by Wiener.

    Parameters
    ----------
    peak : float, optional
        Value of white. The noise level relative to it chooses between the profiles for normal and for strong noise.
        Default: by the contrast of the image.
    threshold : float, optional
        Hard threshold of the first step, in standard deviations of the noise. Default: 2.7. In colour images it is
        taken 0.96 times for the lightness and 1.2 times for differences of colours.
    stride : int, optional
        Distance of references in pixels, in both steps. Default: 2; the authors use 3, which takes half the time.
    search_radius : int, default: 19
        How far similar patches are looked for, in pixels.

    See Also
    --------
    epitomes.groups.Collaborative : The step on one group.
    epitomes.restoration.NonLocal : Our method on groups, with atoms of an epitome in place of the fixed transform.

    Notes
    -----
    Step one finds up to 16 similar patches of 8 x 8 for references on a grid, transforms the group by a spline wavelet
    along patches and Haar's along members, and sets coefficients below the threshold to zero [1]_. Step two finds up to
    32 on the result of step one, and multiplies the coefficients y of the noisy group by ``g**2 / (g**2 + sigma**2)``,
    with g those of the result of step one. For strong noise, noisy patches may differ by more [2]_. Groups are found on
    the lightness of colour images and used for all three channels.

    References
    ----------
    .. [1] K. Dabov, A. Foi, V. Katkovnik, K. Egiazarian, "Image denoising by sparse 3-D transform-domain collaborative
       filtering", IEEE Transactions on Image Processing 16(8), 2007.
    .. [2] Y. Hou, C. Zhao, D. Yang, Y. Cheng, "Comments on 'Image denoising by sparse 3-D transform-domain
       collaborative filtering'", IEEE Transactions on Image Processing 20(1), 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import denoise
    >>> from epitomes.baselines import BM3D
    >>> clean = np.add.outer(np.arange(32.0), np.arange(32.0))
    >>> noisy = clean + np.random.default_rng(0).normal(0, 5, clean.shape)
    >>> bool(np.std(denoise(noisy, 5.0, method=BM3D()) - clean) < 2)
    True
    """

    threshold: float | None = None
    stride: int | None = None
    search_radius: int = RADIUS

    label: ClassVar[str] = "BM3D"
    least_side: ClassVar[int] = NORMAL.patch

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold is not None:
            positive("threshold", self.threshold, zero=True)
        if self.stride is not None:
            whole("stride", self.stride, least=1)
        whole("search_radius", self.search_radius, least=1)

    def _denoised(self, scene: Scene) -> Found:
        p, variance = STRONG if scene.sigma >= STRONG_NOISE else NORMAL, scene.lightness_sigma**2
        first = Search(p.patch, p.group_size, self.stride or p.stride, self.search_radius, p.distance / variance)
        cut = Collaborative(
            patch=(p.patch, p.patch),
            transform=p.transform,
            threshold=p.threshold if self.threshold is None else self.threshold,
        )
        levels = [LIGHTNESS] + [DIFFERENCE] * (len(scene.noisy) - 1) if scene.turned else None
        basic = collaborate(scene, scene.noisy, first, cut, "thresholding groups", (0.0, 0.5), level=levels)
        second = Search(
            p.wiener_patch,
            p.wiener_group_size,
            self.stride or p.wiener_stride,
            self.search_radius,
            p.wiener_distance / variance,
        )
        wiener = Collaborative(patch=(p.wiener_patch, p.wiener_patch))
        return Found(collaborate(scene, scene.noisy, second, wiener, "filtering groups", (0.5, 1.0), guide=basic))
