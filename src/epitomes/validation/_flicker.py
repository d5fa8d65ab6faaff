"""Flicker: how much a denoised volume or clip changes from plane to plane where nothing happens.

Still areas are found in the noisy planes: blocks in which neighbouring planes differ by no more than noise does. There
a perfect result would not change at all.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epitomes.checks import as_floats
from epitomes.layout import Layout
from epitomes.noise.model import Noise
from epitomes.validation.planes import Floats, as_noise

BLOCK = 8  # pixels: side of the blocks that are still or not
PAIRS = 64  # of neighbouring planes at most, evenly spaced
CHANCE = 2.0  # standard deviations by which the differences of still blocks may exceed those of noise
LEAST_STILL = 0.01  # share of blocks, below which there is nothing to measure


@dataclass(frozen=True, kw_only=True)
class Flicker:
    """Change from plane to plane in still areas, as root mean squares in the units of the image.

    Parameters
    ----------
    noisy : float
        Change of the noisy planes.
    restored : float
        Change of the denoised planes.
    still : float
        Share of the image that is still.

    See Also
    --------
    flicker : Measure it.

    Examples
    --------
    >>> from epitomes.validation import Flicker
    >>> print(Flicker(noisy=14.1, restored=1.41, still=0.5))
    flicker 1.41 in still areas (50% of the blocks), 10% of the noisy planes' 14.1
    """

    noisy: float
    restored: float
    still: float

    @property
    def share(self) -> float:
        """Flicker of the denoised planes, relative to that of the noisy ones."""
        return self.restored / self.noisy if self.noisy else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON.

        Returns
        -------
        dict
            The fields and `share`.
        """
        return {**asdict(self), "share": self.share}

    def __str__(self) -> str:
        return (
            f"flicker {self.restored:.3g} in still areas ({self.still:.0%} of the blocks), "
            f"{self.share:.0%} of the noisy planes' {self.noisy:.3g}"
        )


def flicker(
    noisy: ArrayLike,
    restored: ArrayLike,
    noise: Noise | ArrayLike,
    *,
    channel_axis: int | None = None,
    spatial: int | None = None,
) -> Flicker | None:
    """Measure how much a denoised volume or clip changes from plane to plane where nothing happens.

    Parameters
    ----------
    noisy : array_like
        The noisy volume or clip, or a stack of them.
    restored : array_like
        The denoised one, of the same shape.
    noise : Noise or array_like
        Noise model, or standard deviation of the noise.
    channel_axis : int, optional
        Axis of the channels. If None, no axis holds channels.
    spatial : int, optional
        Number of spatial axes, 3. If None, all axes but that of the channels.

    Returns
    -------
    Flicker or None
        The change in still areas before and after. None if there are no two planes, no noise, or nothing is still.

    Raises
    ------
    ValueError
        If the shapes differ.

    See Also
    --------
    audit : Judge a result by its residual.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.validation import flicker
    >>> noisy = np.random.default_rng(0).normal(100, 10, (6, 32, 32))
    >>> found = flicker(noisy, np.full((6, 32, 32), 100.0), 10.0)
    >>> round(found.noisy), found.restored, found.still > 0.9
    (14, 0.0, True)
    """
    before, after = as_floats("noisy", noisy), as_floats("restored", restored)
    if before.shape != after.shape:
        raise ValueError(f"restored needs the shape of noisy, {before.shape}, got {after.shape}")
    layout, model = Layout.of(before.shape, channel_axis, spatial), as_noise(noise)
    if layout.spatial != 3 or layout.picture_shape[0] < 2 or model.level == 0:
        return None
    before, after = layout.canonical(before), layout.canonical(after)
    sums, n_still, n_blocks = np.zeros(2), 0, 0
    for place in layout.places():
        clip, result, levels = before[place], after[place], model.at(place, layout)
        std = levels.std(result, Layout.of(result.shape, None if layout.channel_axis is None else -1))
        pairs = np.unique(np.linspace(0, len(clip) - 2, min(PAIRS, len(clip) - 1)).astype(int))
        for k in pairs:
            change = np.square(clip[k + 1] - clip[k])
            expected = np.square(std[k]) + np.square(std[k + 1])
            still = _blocks(change / np.maximum(expected, 1e-300)) < _limit(change.shape)
            n_still, n_blocks = n_still + int(still.sum()), n_blocks + still.size
            sums += [_blocks(each)[still].sum() for each in (change, np.square(result[k + 1] - result[k]))]
    if n_still <= LEAST_STILL * n_blocks:
        return None
    first, second = np.sqrt(sums / n_still)
    return Flicker(noisy=float(first), restored=float(second), still=n_still / n_blocks)


def _limit(shape: tuple[int, ...]) -> float:
    """What mean squares of noise hardly exceed in a block."""
    values = min(BLOCK, shape[0]) * min(BLOCK, shape[1]) * math.prod(shape[2:])
    return 1 + CHANCE * math.sqrt(2 / values)


def _blocks(plane: Floats) -> Floats:
    """Means of whole blocks, over the channels, too."""
    flat = plane if plane.ndim == 2 else plane.mean(axis=2)
    sides = [min(BLOCK, size) for size in flat.shape]
    counts = [size // side for size, side in zip(flat.shape, sides, strict=True)]
    whole = flat[: counts[0] * sides[0], : counts[1] * sides[1]]
    return np.asarray(whole.reshape(counts[0], sides[0], counts[1], sides[1]).mean(axis=(1, 3)))
