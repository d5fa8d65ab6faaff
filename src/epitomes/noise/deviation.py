"""The standard deviation of the noise of every pixel, for every noise model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from epitomes.layout import Layout
from epitomes.noise import _rician
from epitomes.noise.parameters import for_image
from epitomes.noise.planes import Floats

if TYPE_CHECKING:
    from epitomes.noise.model import Noise


def deviations(noise: Noise, means: Floats, layout: Layout | None) -> Floats:
    """Standard deviations of the shape of `means`, which are those of the pixels; `Noise.std` has the documentation."""
    sigma, gain, offset = (
        for_image(name, getattr(noise, name), means.shape, layout) for name in ("sigma", "gain", "offset")
    )
    if noise.magnitude:
        return _rician.deviation(means, sigma)
    deviation = np.broadcast_to(deviation_at(means, sigma, gain, offset), means.shape)
    if noise.blocks is None:
        return deviation
    if layout is not None and layout.channel_axis is not None:
        means = np.moveaxis(means, layout.channel_axis, -1)
    if noise.blocks.n_channels == 1:
        return deviation * noise.blocks.level_map(means)
    axis = -1 if layout is None or layout.channel_axis is None else layout.channel_axis
    return deviation * np.expand_dims(noise.blocks.level_map(means.mean(axis=-1)), axis)


def deviation_at(means: Floats, sigma: Floats, gain: Floats, offset: Floats) -> Floats:
    """Standard deviation at these means, at one count or above."""
    if not gain.any():
        return sigma
    return np.asarray(np.hypot(sigma, np.sqrt(gain) * np.sqrt(np.maximum(means - offset, gain))))
