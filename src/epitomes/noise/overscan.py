"""Overscan: columns or rows at the border of a CCD frame that saw no light.

They show the offset and the read noise. The flat parts of the rest show what light adds to it, and thus the gain: two
levels of noise are then one model instead of two regions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from epitomes.noise.combine import Estimate
from epitomes.noise.doubts import Doubt
from epitomes.noise.flat_patches import flat_patches
from epitomes.noise.level_function import grows
from epitomes.noise.model import Noise
from epitomes.noise.planes import Floats, Plane, standardise
from epitomes.noise.poisson_gaussian import poisson_gaussian_noise
from epitomes.noise.weak_texture import noise_floor

MIN_LINES = 8
MAX_SHARE = 0.25  # of the lines of the frame
MIN_LENGTH = 64  # pixels of a line
NORMAL = 1.4826  # standard deviation over median absolute deviation
MEDIAN_ERROR = 1.25  # of a median, times the deviation over the root of the number of values
SAME = 6.0  # errors within which lines have the same median
DARKER = 3.0  # read noises by which the overscan is darker than the rest
NOISIER = 1.3  # variance of the rest over that of the overscan
STEADY = 1.2  # median deviation of the means of squares, in errors of these means; 0.67 for white noise
GAIN_ERROR = 0.1  # relative, of a gain from two levels


@dataclass(frozen=True)
class Strip:
    """The overscan of a frame and the rest of it."""

    offset: float
    read_noise: float
    body: tuple[slice, slice]


def overscan_noise(plane: Plane) -> Estimate | None:
    """The Poisson-Gaussian noise of a frame with overscan; None if it has none."""
    image = plane.scale * plane.pixels + plane.mean
    strip = find_overscan(image)
    if strip is None:
        return None
    found = flat_patches(standardise(image[strip.body]))
    if isinstance(found, Doubt):
        return None
    if grows(found.line, found.points):
        return poisson_gaussian_noise(found, strip.offset)
    floor, scale = noise_floor(found.statistics), found.plane.scale
    variance, mean = scale**2 * floor.variance, found.plane.mean + scale * floor.mean
    if variance < NOISIER * strip.read_noise**2 or mean <= strip.offset:
        return None
    gain = (variance - strip.read_noise**2) / (mean - strip.offset)
    noise = Noise(
        gain=np.asarray(gain),
        offset=np.asarray(strip.offset),
        sigma=np.asarray(strip.read_noise),
        brightness=np.asarray(mean),
        gain_interval=(gain * (1 - GAIN_ERROR), gain * (1 + GAIN_ERROR)),
        correlation=found.correlation,
        estimated=True,
    )
    spread = noise.level * 1.645 * floor.error / 2
    return Estimate(replace(noise, interval=(noise.level - spread, noise.level + spread)), found.doubts)


def find_overscan(image: Floats) -> Strip | None:
    """The widest strip of equal, quiet and dark lines at one of the four borders."""
    strips = []
    for axis in (0, 1):
        lines = np.moveaxis(image, axis, 0)
        if lines.shape[1] < MIN_LENGTH or len(lines) < 2 * MIN_LINES:
            continue
        medians = np.median(lines, axis=1)
        spreads = NORMAL * np.median(np.abs(lines - medians[:, None]), axis=1)
        for order in (slice(None), slice(None, None, -1)):
            n = _equal_lines(medians[order], spreads[order], lines.shape[1])
            if MIN_LINES <= n <= MAX_SHARE * len(lines):
                inside = slice(n, None) if order.step is None else slice(None, len(lines) - n)
                dark = lines[:n] if order.step is None else lines[len(lines) - n :]
                strips.append((n * lines.shape[1], axis, inside, dark))
    if not strips:
        return None
    _, axis, inside, dark = max(strips, key=lambda each: each[0])
    everything = slice(None)
    body = (inside, everything) if axis == 0 else (everything, inside)
    offset = float(np.median(dark))
    near = dark[np.abs(dark - offset) < 5 * NORMAL * float(np.median(np.abs(dark - offset)))]
    if near.size == 0:
        return None
    offset, read_noise = float(near.mean()), float(near.std())
    darker = float(np.median(image[body])) > offset + DARKER * read_noise
    return Strip(offset, read_noise, body) if darker and _is_noise(dark, read_noise) else None


def _is_noise(dark: Floats, read_noise: float) -> bool:
    """Whether the means of squares vary as those of white noise do; structure would show in them."""
    down, across = (side // MIN_LINES for side in dark.shape)
    squares = dark[: down * MIN_LINES, : across * MIN_LINES].reshape(down, MIN_LINES, across, MIN_LINES)
    return 0 < float(np.median(np.abs(squares.mean(axis=(1, 3)) - dark.mean()))) < STEADY * read_noise / MIN_LINES


def _equal_lines(medians: Floats, spreads: Floats, length: int) -> int:
    """How many lines from the border on have one median; 0 if those at the border differ."""
    first, spread = float(np.median(medians[:MIN_LINES])), float(np.median(spreads[:MIN_LINES]))
    most = SAME * MEDIAN_ERROR * spread / math.sqrt(length) + 0.51 * min(1.0, spread)  # whole numbers are rounded
    same = np.abs(medians - first) <= most
    return int(np.argmin(same)) if not same.all() else 0
