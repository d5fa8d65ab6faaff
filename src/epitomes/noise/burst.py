"""Noise of several shots of the same scene, by their differences, and their mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter

from epitomes.checks import Array, as_floats
from epitomes.noise.combine import Estimate
from epitomes.noise.doubts import Doubt
from epitomes.noise.flat_patches import CLIPPING_MARGIN
from epitomes.noise.model import Noise
from epitomes.noise.planes import Flags, Floats
from epitomes.noise.pure_noise import Planar, PureNoise, model_of, planar_images
from epitomes.noise.valid_pixels import clipped_pixels

BRIGHTER = 0.5  # standard deviations of the noise by which the means of shots may differ
SHIFTED = 0.02  # share of the variance of a difference that a shift explains
SIGNIFICANT = 60.0  # pixels that this share must be worth
BLUR = 1.0  # pixels: of the mean of the shots, whose gradient shows a shift
MOST_PIXELS = 2**18  # that show a shift
HEAVY = 1.5  # mean over median of the energies of blocks of the same brightness: differences in a few places
N_BINS, MIN_IN_BIN = 8, 30  # of brightness, equally many blocks in each


class ShotError(ValueError):
    """A shot that does not belong to the others.

    Parameters
    ----------
    shot : int
        Number of the shot, from 0.
    text : str
        What is wrong with it.

    See Also
    --------
    noise_from_burst : Raises it.
    """

    def __init__(self, shot: int, text: str) -> None:
        super().__init__(f"shot {shot} (from 0): {text}")
        self.shot = shot
        self.text = text


def noise_from_burst(shots: Sequence[ArrayLike] | NDArray[np.generic], *, channel_axis: int | None = None) -> Noise:
    """Measure the noise of several shots of the same scene by their differences.

    Parameters
    ----------
    shots : sequence of array_like
        Two or more images ``(H, W)`` of one shape or, with `channel_axis`, with channels, taken with the same camera
        settings from a tripod.
    channel_axis : int, optional
        Axis of colours or channels of a shot. If None, no axis holds channels.

    Returns
    -------
    Noise
        Noise of one shot, by the simplest model that fits: Gaussian, Poisson-Gaussian if the noise is white and its
        variance is a line over brightness, otherwise correlated noise with its level over brightness
        (`Noise.from_blocks`). A doubt of the kind "moved" says that the shots differ in more than noise.

    Raises
    ------
    ShotError
        If a shot has another shape or brightness than the others. It is a ValueError.
    ValueError
        If there are fewer than two shots, they are smaller than 16 x 16 pixels, equal, or not finite.

    See Also
    --------
    merge_burst : Average the shots.
    noise_from_flat : Measure the noise of a flat region or of a dark frame.

    Notes
    -----
    The noise of ``n`` shots is ``sqrt(n / (n - 1))`` times their deviations from their mean, whose brightness it is
    assigned to. Shots may differ in their means by up to half the noise, as under flickering light; this is removed.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.noise import noise_from_burst
    >>> light = np.add.outer(np.arange(20.0, 148.0), np.arange(128.0))
    >>> noise_from_burst(np.random.default_rng(0).poisson(light, (4, 128, 128)))
    <Noise: Poisson-Gaussian, gain 1.009 (90 % interval 0.9858 to 1.033), offset 0.4237, read noise 0>
    """
    planar = _aligned(shots, channel_axis)
    return _noise_of(planar, planar.mean(axis=0))


def merge_burst(
    shots: Sequence[ArrayLike] | NDArray[np.generic], *, channel_axis: int | None = None
) -> tuple[Array, Noise]:
    """Average several shots of the same scene.

    Parameters
    ----------
    shots, channel_axis : see `noise_from_burst`
        The shots and the axis of their channels.

    Returns
    -------
    image : ndarray
        Mean of the shots, of floats.
    noise : Noise
        Noise that is left in it: that of one shot, divided by the square root of their number.

    See Also
    --------
    noise_from_burst : Measure the noise of one shot.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.noise import merge_burst
    >>> shots = 100 + 8 * np.random.default_rng(0).standard_normal((4, 64, 64))
    >>> image, noise = merge_burst(shots)
    >>> round(noise.level, 1), round(float(image.std()), 1)
    (4.0, 4.0)
    """
    planar = _aligned(shots, channel_axis)
    mean = planar.mean(axis=0)
    noise = _noise_of(planar, mean).times(len(planar) ** -0.5)
    return (mean[0] if channel_axis is None else np.ascontiguousarray(np.moveaxis(mean, 0, channel_axis))), noise


def _aligned(shots: Sequence[ArrayLike] | NDArray[np.generic], channel_axis: int | None) -> Array:
    """The shots as `(shots, channels, height, width)`, checked."""
    floats = [as_floats(f"shot {number}", shot) for number, shot in enumerate(shots)]
    if len(floats) < 2:
        raise ValueError(f"a burst needs two shots of the same scene or more, got {len(floats)}")
    for number, shot in enumerate(floats):
        if shot.shape != floats[0].shape:
            raise ShotError(
                number, f"it has shape {shot.shape}, the first one {floats[0].shape}: crop the shots to the same size"
            )
    if floats[0].ndim != (2 if channel_axis is None else 3):
        raise ValueError(
            f"a shot must be one image, (height, width) or with channel_axis, got shape {floats[0].shape}: measure "
            "the planes of a volume one by one"
        )
    return np.stack([planar_images("shot", shot, channel_axis) for shot in floats])


def _noise_of(shots: Array, mean: Array) -> Noise:
    n = len(shots)
    freedom = (n - 1) / n
    frames = (shots - mean) / np.sqrt(freedom)
    if not frames.any():
        raise ValueError(f"the {n} shots are equal and show no noise: pass different shots, not copies of one")
    means = frames.mean(axis=(2, 3), keepdims=True)
    frames -= means
    sigma = np.sqrt(np.mean(np.square(frames), axis=(0, 2, 3)))
    _require_same_exposure(shots.mean(axis=(2, 3), dtype=np.float64), sigma)
    valid = np.ones(mean.shape[1:], np.bool_)
    for plane, shot, level in zip(mean, shots[0], sigma, strict=True):
        for limit in clipped_pixels(shot)[0]:
            valid &= np.abs(plane - limit) > CLIPPING_MARGIN * level
    noise = PureNoise(frames.astype(np.float32), mean.astype(np.float32), valid, freedom)
    doubt = _moved(noise)
    return Estimate(model_of(noise), () if doubt is None else (doubt,)).finished()


def _require_same_exposure(means: Floats, sigma: Floats) -> None:
    """Refuse the shot whose mean, `(shots, channels)`, is furthest from that of the others."""
    middle = np.stack([np.median(np.delete(means, number, axis=0), axis=0) for number in range(len(means))])
    distance = np.abs(means - middle) / np.maximum(sigma, np.finfo(np.float64).tiny)
    shot, channel = np.unravel_index(int(np.argmax(distance[::-1])), distance.shape)
    shot = len(means) - 1 - shot  # the last of equals: of two shots, the second
    if distance[shot, channel] > BRIGHTER:
        raise ShotError(
            int(shot),
            f"its mean is {means[shot, channel]:.4g}, that of the others {middle[shot, channel]:.4g}, and the noise "
            f"({sigma[channel]:.3g}) does not explain that: use shots of the same exposure",
        )


def _moved(noise: PureNoise) -> Doubt | None:
    """Whether differences follow the gradient of the picture, or are large in a few places."""
    scene = gaussian_filter(noise.brightness, BLUR)
    inside = noise.valid & _thinned(noise.valid.shape)
    slopes = np.stack([slope[inside] for slope in np.gradient(scene)], axis=1)
    shifts = []
    for frame in noise.frames:
        difference = frame[:, inside].mean(axis=0)
        shift = np.linalg.lstsq(slopes, difference, rcond=None)[0]
        share = np.square(slopes @ shift).sum() / max(np.square(difference).sum(), np.finfo(np.float32).tiny)
        shifts.append((float(share), float(np.hypot(*shift))))
    share, far = max(shifts)
    if share > SHIFTED and share * len(slopes) > SIGNIFICANT:
        shot = shifts.index((share, far))
        which = f"Shot {shot + 1} of {len(shifts)}"
        return Doubt("moved", f"{which} has moved by about {far:.2g} pixels: its edges count as noise.")
    if any(_has_places(frame, noise) for frame in noise.frames):
        return Doubt("moved", "The shots differ much more in some places than in others: something has moved.")
    return None


def _thinned(shape: tuple[int, ...]) -> Flags:
    """Every k-th pixel along both axes: enough to see a shift."""
    step = max(1, round((shape[0] * shape[1] / MOST_PIXELS) ** 0.5))
    kept = np.zeros(shape, np.bool_)
    kept[::step, ::step] = True
    return kept


def _has_places(frame: Planar, noise: PureNoise) -> bool:
    """Whether blocks of the same brightness have very different energies."""
    blocks = noise.blocks(frame)
    energy = np.square(blocks.coefficients[:, 1:]).mean(axis=(1, 2))
    order = np.argsort(blocks.brightness, kind="stable")
    bins = [energy[inside] for inside in np.array_split(order, N_BINS) if len(inside) >= MIN_IN_BIN]
    return any(float(each.mean()) > HEAVY * float(np.median(each)) for each in bins)
