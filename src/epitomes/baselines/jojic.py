"""Jojic: denoising with the probabilistic epitome of Jojic, Frey and Kannan (2003)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from epitomes.baselines.baseline import Baseline, Found, Scene
from epitomes.baselines.by_dictionary import require_sizes
from epitomes.baselines.density import learn_density
from epitomes.checks import whole
from epitomes.epitome import Epitome
from epitomes.phi import windows
from epitomes.restoration.method import Callback, within

LEARNING = 0.5  # of the progress: when learning is done


@dataclass(frozen=True, kw_only=True)
class Jojic(Baseline):
    """Denoising with a probabilistic epitome: patches become what the epitome, learned from the image, expects.

    Parameters
    ----------
    peak : float, optional
        Value of white. Not used: no setting depends on the noise level.
    side : int, default: 48
        Height and width of the epitome, at most half of those of the image, or 12.
    sizes : tuple of int, default: (12, 8)
        Widths of the patches to learn from, one after another. The last is that of the patches that are denoised.
    n_steps : int, default: 8
        Steps of expectation maximisation for each size.
    most_patches : int, default: 4000
        Patches to learn from.
    stride : int, default: 2
        Distance of the patches that are denoised.
    wiener : bool, default: True
        Whether a patch keeps the share of its difference from the mean that is no noise. Otherwise it becomes the mean,
        as the authors reconstruct images.

    See Also
    --------
    learn_density : Learn such an epitome from an image, volume or clip.

    Notes
    -----
    With q(T) the probability that a patch z comes from position T, pixel i becomes ``sum_T q(T) (m + w (z_i - m))``,
    where m and v are mean and variance at ``T + i`` and ``w = max(0, v - sigma**2) / v``. Variances are at least that
    of the noise. See `Density` for the model.

    References
    ----------
    .. [1] N. Jojic, B. Frey, A. Kannan, "Epitomic analysis of appearance and shape", ICCV 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import denoise
    >>> from epitomes.baselines import Jojic
    >>> clean = np.add.outer(np.arange(32.0), np.arange(32.0))
    >>> noisy = clean + np.random.default_rng(0).normal(0, 5, clean.shape)
    >>> estimate = denoise(noisy, 5.0, method=Jojic(side=24, n_steps=3))
    >>> bool(np.std(estimate - clean) < 4)
    True
    """

    side: int = 48
    sizes: tuple[int, ...] = (12, 8)
    n_steps: int = 8
    most_patches: int = 4000
    stride: int = 2
    wiener: bool = True

    label: ClassVar[str] = "Jojic"
    least_side: ClassVar[int] = 12

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("side", "n_steps", "most_patches", "stride"):
            whole(name, getattr(self, name), least=1)
        require_sizes(self.sizes, self.side)
        if self.stride > self.sizes[-1]:
            raise ValueError(f"stride {self.stride} leaves pixels out: use at most {self.sizes[-1]}, the last of sizes")

    def _denoised(self, scene: Scene) -> Found:
        channels, _, height, width = scene.noisy.shape
        # An epitome that is not much smaller than the image remembers every patch, with its noise.
        shape = tuple(min(self.side, max(self.least_side, side // 2)) for side in (height, width))
        sizes = [(min(size, *shape), min(size, *shape)) for size in self.sizes]
        planes, epitome = [], None
        for c, plane in enumerate(scene.noisy[:, 0].astype(np.float64)):
            tell = within(scene.callback, c / channels, (c + 1) / channels)
            learning, denoising = within(tell, 0.0, LEARNING), within(tell, LEARNING, 1.0)
            fit = learn_density(
                plane,
                shape,
                sizes,
                n_steps=self.n_steps,
                most_patches=self.most_patches,
                least_variance=1.0,
                rng=scene.seed,
                threads=scene.threads,
                callback=_stage(learning, "learning"),
            )
            planes.append(
                fit.density.denoised(
                    plane,
                    sizes[-1],
                    noise_variance=1.0 if self.wiener else 0.0,
                    stride=self.stride,
                    threads=scene.threads,
                    callback=_stage(denoising, "denoising"),
                )
            )
            if epitome is None:
                epitome = Epitome(fit.density.mean, windows(shape, sizes[-1], border="periodic"))
        return Found(np.stack(planes)[:, None].astype(np.float32), epitome)


def _stage(callback: Callback | None, stage: str) -> Callable[[float], None] | None:
    return None if callback is None else lambda fraction: callback(fraction, stage)
