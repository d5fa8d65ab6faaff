"""Noise of a flat region, or of a dark or flat frame, that the user can show."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainccinv

from epitomes.checks import Array, as_floats
from epitomes.noise.combine import Estimate
from epitomes.noise.dct_blocks import ORDER
from epitomes.noise.doubts import Doubt
from epitomes.noise.flat_blocks import MEDIAN
from epitomes.noise.flat_patches import MAX_CLIPPED
from epitomes.noise.model import Noise
from epitomes.noise.planes import MAX_PLANES, Floats, evenly_spaced
from epitomes.noise.pure_noise import Planar, PureNoise, model_of, planar_images
from epitomes.noise.valid_pixels import clipped_pixels

LEAST_DEGREE, MOST_DEGREE = 2, 4  # of the shading along each axis
PIXELS_PER_DEGREE = 32
FAR = 6.0  # standard deviations from the rest: hot pixels, not noise
MOST_FAR = 0.005  # share of the pixels; more are structure
EDGES = (ORDER >= 1) & (ORDER <= 3)  # frequencies that edges reach most
RARE = 1e-4  # chance that a block of noise has so much energy at these frequencies
MOST_RARE = 0.035  # share of the blocks; the noise of cameras in flat regions reaches 0.033


def noise_from_flat(sample: ArrayLike, *, channel_axis: int | None = None) -> Noise:
    """Measure the noise of a flat region, or of a dark or flat frame.

    Everything that varies in the sample counts as noise, except for a smooth shading.

    Parameters
    ----------
    sample : array_like
        Image ``(H, W)`` of at least 16 x 16 pixels or, with `channel_axis`, one with channels. Further axes count
        independent samples, such as several dark frames.
    channel_axis : int, optional
        Axis of colours or channels. If None, no axis holds channels.

    Returns
    -------
    Noise
        White Gaussian noise, with one level per channel, if the spectrum is flat and the channels are independent
        within the error of the measurement; otherwise correlated noise (`Noise.from_blocks`). The 90 % interval
        follows from the size of the sample.

    Raises
    ------
    ValueError
        If the sample is smaller than 16 x 16 pixels, constant, or not finite.

    See Also
    --------
    noise_from_burst : Measure the noise of several shots of a scene, and how it depends on brightness.
    estimate_noise : Estimate the noise of an image that has structure.

    Notes
    -----
    A polynomial of degree 2 to 4 along each axis, by the size of the sample, is subtracted. Pixels beyond 6 standard
    deviations, such as hot ones, are then set to 0. An edge or texture in the sample, or clipped values, give a doubt.
    The noise is that of one brightness: a dark frame has no shot noise.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.noise import noise_from_flat
    >>> dark = 100 + 3 * np.random.default_rng(0).standard_normal((200, 200))
    >>> noise_from_flat(dark)
    <Noise: Gaussian, sigma 3.006 (90 % interval 2.989 to 3.024)>
    """
    pixels = as_floats("sample", sample)
    canonical = planar_images("sample", pixels, channel_axis)
    every = canonical.reshape(-1, *canonical.shape[-3:])
    shading, frames, doubts = [], [], []
    n_far, n_clipped = 0, 0
    for number in evenly_spaced(len(every), MAX_PLANES):
        image = every[number]
        _require_varying(image, "sample")
        smooth = np.stack([_smooth(plane) for plane in image])
        rest, far = _without_far(image - smooth)
        n_far += far
        n_clipped += int(sum(clipped_pixels(plane)[1].sum() for plane in image))
        shading.append(smooth)
        frames.append(rest)
    size = len(frames) * frames[0].size
    sides = every.shape[-2:]
    noise = PureNoise(
        frames,
        np.mean(shading, axis=0).astype(np.float32),
        np.ones(sides, np.bool_),
        removed=math.prod(_degree(side) + 1 for side in sides),
    )
    if n_far > MOST_FAR * size or _has_edges(noise):
        text = "The sample has structure, such as an edge or texture, which counts as noise: choose a flatter region."
        doubts.append(Doubt("texture", text))
    if n_clipped > MAX_CLIPPED * size:
        text = (
            f"{n_clipped / size:.0%} of the sample is clipped at its lowest or highest value: noise is cut off there."
        )
        doubts.append(Doubt("clipped", text))
    return Estimate(model_of(noise, by_brightness=False), tuple(doubts)).finished()


def _require_varying(image: Array, name: str) -> None:
    for number, plane in enumerate(image):
        if plane.min() == plane.max():
            which = f"channel {number} of {name}" if len(image) > 1 else name
            raise ValueError(f"{which} is constant ({plane.flat[0]:g}) and shows no noise: use one that is not clipped")


def _degree(side: int) -> int:
    return min(MOST_DEGREE, max(LEAST_DEGREE, side // PIXELS_PER_DEGREE))


def _smooth(plane: Array) -> Floats:
    """The polynomial nearest to a plane: products of polynomials down and across."""
    down, across = (np.linalg.qr(np.vander(np.linspace(-1, 1, side), _degree(side) + 1))[0] for side in plane.shape)
    return np.asarray(down @ (down.T @ plane.astype(np.float64) @ across) @ across.T)


def _without_far(rest: Floats) -> tuple[Planar, int]:
    """What is left without pixels that are far from the others, and their number."""
    squares = np.square(rest)
    typical = np.maximum(np.median(squares, axis=(1, 2)) / MEDIAN, squares.mean(axis=(1, 2)) / FAR**2)
    far = squares > FAR**2 * typical[:, None, None]
    return np.where(far, 0, rest).astype(np.float32), int(far.sum())


def _has_edges(noise: PureNoise) -> bool:
    """Whether more blocks than chance allows have far more energy at low frequencies than most."""
    for frame in noise.frames:
        squares = np.square(noise.blocks(frame).coefficients[:, EDGES])
        even = squares / np.maximum(np.median(squares, axis=0) / MEDIAN, np.finfo(np.float32).tiny)
        freedom = even.shape[1] * even.shape[2]
        if (even.sum(axis=(1, 2)) > 2 * gammainccinv(freedom / 2, RARE)).mean() > MOST_RARE:
            return True
    return False
