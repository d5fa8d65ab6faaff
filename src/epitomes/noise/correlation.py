"""Whiteness of the noise: JPEG, demosaicking, resizing and sharpening leave correlated noise.

White noise has the same energy at all frequencies of a patch. Flat patches are selected by their lowest frequencies,
where texture is strong. The correlation of neighbouring pixels is fitted to all other frequencies, which the selection
leaves untouched.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from epitomes.checks import as_floats
from epitomes.layout import Layout
from epitomes.noise.doubts import Doubt
from epitomes.noise.patch_rows import WIDTH, chunks, cosine_basis, patch_view, selected_rows, valid_patches
from epitomes.noise.planes import Flags, Floats, require_side, standardise
from epitomes.noise.valid_pixels import clipped_pixels, constant_pixels
from epitomes.noise.weak_texture import ROUNDING

MAX_LOW_FREQUENCY = 3  # frequencies u + v up to it select flat patches, the others measure the correlation
LAGS = ((0, 1), (1, 0), (0, 2), *((1, j) for j in (-2, -1, 1, 2)), *((2, j) for j in range(-2, 3)))  # up to two pixels
MAX_PATCHES = 2**17  # patches that are measured; of larger images, every k-th line of patches
FLAT_SHARES = (0.002, 0.02, 0.2)  # sets of flattest patches; the least correlated set counts, as texture is correlated
MIN_PATCHES = 256  # in a set
NOTABLE = 0.1  # correlation from which the noise is called correlated
CHANCE = 6.0  # over the root of the number of pixels: correlations up to this happen by chance in small images
BLOCK = 8  # side of a JPEG block, in pixels
GRID_SCORE = 4.0  # standard deviations by which steps between blocks exceed the steps inside them
MAX_LINES = 1024  # lines that are searched for a JPEG grid or a colour filter lattice
LATTICE_RATIO = 1.3  # ratio of fine detail between the four sites of a 2 x 2 lattice


@dataclass(frozen=True)
class NoiseCorrelation:
    """How far the noise of an image is from white.

    Parameters
    ----------
    across : float
        Correlation of the noise of a pixel with that of its right neighbour.
    down : float
        Correlation with the neighbour below.
    largest : float
        The largest correlation in absolute value, with its sign, of all pixels up to two apart.
    jpeg : bool
        Whether the 8 x 8 blocks of JPEG compression are visible.
    demosaicked : bool
        Whether pixels alternate between two kinds, as after the interpolation of a colour filter array.
    warning : str
        A sentence for the user; empty if the noise is white as far as can be measured.

    See Also
    --------
    noise_correlation : Measure the correlation of the noise of an image.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.noise import noise_correlation
    >>> noisy = np.random.default_rng(0).standard_normal((128, 128))
    >>> noise_correlation(noisy).correlated
    False
    """

    across: float
    down: float
    largest: float
    jpeg: bool
    demosaicked: bool
    warning: str

    @property
    def correlated(self) -> bool:
        """Whether there is a warning."""
        return bool(self.warning)


def noise_correlation(image: ArrayLike, *, channel_axis: int | None = None) -> NoiseCorrelation:
    """Measure how far the noise of an image is from white.

    Parameters
    ----------
    image : array_like
        Grey image ``(H, W)`` or, with `channel_axis`, a multichannel image. At least 14 pixels along both axes.
    channel_axis : int, optional
        Axis of the channels. If None, the image is grey.

    Returns
    -------
    NoiseCorrelation
        Correlations of neighbouring pixels, and a warning if the noise is not white. For several channels, those of
        the worst one.

    Raises
    ------
    ValueError
        If the array is not a single image, or is too small.

    See Also
    --------
    estimate_noise : Estimate the noise level; doubts about whiteness are part of the result.
    sample_spectrum : Measure the spectrum of correlated noise on a sample of pure noise.

    Notes
    -----
    Fine texture without any flat area is taken for correlated noise: a single image does not tell them apart.

    Examples
    --------
    Noise that was smoothed is correlated:

    >>> import numpy as np
    >>> from epitomes.noise import noise_correlation
    >>> white = np.random.default_rng(0).standard_normal((128, 129))
    >>> found = noise_correlation(white[:, 1:] + white[:, :-1])
    >>> found.correlated, round(found.across, 1)
    (True, 0.5)
    """
    pixels = as_floats("image", image)
    layout = Layout.of(pixels.shape, channel_axis)
    if layout.spatial != 2:
        raise ValueError(
            f"image must be one image, got shape {pixels.shape} with channel_axis={channel_axis}: "
            "pass channel_axis for colours, or one plane at a time"
        )
    require_side(layout.picture_shape[:2], 2 * WIDTH)
    found = []
    for channel in channels_of(pixels, layout):
        plane = standardise(channel)
        invalid = clipped_pixels(plane.pixels)[1] | constant_pixels(plane.pixels)
        found.append(plane_correlation(plane.pixels, ~invalid))
    return worst(found)


def channels_of(pixels: ArrayLike, layout: Layout) -> list[Floats]:
    """The channels of an image, or of all images of an array in canonical order, as separate arrays."""
    canonical = layout.canonical(np.asarray(pixels))
    return [canonical] if layout.n_channels is None else [canonical[..., each] for each in range(layout.n_channels)]


def worst(found: list[NoiseCorrelation]) -> NoiseCorrelation:
    """The one with a warning and the largest correlation."""
    return max(found, key=lambda one: (one.correlated, abs(one.largest)))


def plane_correlation(pixels: Floats, valid: Flags) -> NoiseCorrelation:
    """The correlation of the noise of a plane of standard deviation 1."""
    lags = _correlations(pixels, valid)
    largest = max(lags, key=abs)
    jpeg = _grid_score(pixels) > GRID_SCORE and _grid_score(pixels.T) > GRID_SCORE
    demosaicked = _lattice_ratio(pixels) > LATTICE_RATIO
    warning = _warning(lags, max(NOTABLE, CHANCE / math.sqrt(pixels.size)), jpeg, demosaicked)
    return NoiseCorrelation(lags[0], lags[1], largest, jpeg, demosaicked, warning)


def correlation_doubt(found: NoiseCorrelation | None) -> Doubt | None:
    """The warning as a doubt; None without one."""
    if found is None or not found.warning:
        return None
    kind = "jpeg" if found.jpeg else "demosaicked" if found.demosaicked else "correlated"
    return Doubt(kind, found.warning)


def _warning(lags: list[float], notable: float, jpeg: bool, demosaicked: bool) -> str:
    if jpeg:
        return "The image shows the 8 x 8 blocks of JPEG, so its noise is not white: use the uncompressed original."
    if demosaicked:
        return "Pixels alternate as in a demosaicked image, so the noise is not white: denoise the raw image."
    if abs(largest := max(lags, key=abs)) > notable:
        cause = "sharpening" if max(lags[:2]) < 0 else "resizing, smoothing, compression or stripes"
        return (
            f"The noise of neighbouring pixels is correlated ({largest:+.2f}), as after {cause}, or fine texture is "
            "everywhere: methods for white noise misjudge it unless its spectrum is given."
        )
    return ""


def _correlations(pixels: Floats, valid: Flags) -> list[float]:
    """Correlations of the noise at `LAGS`, from the set of flat patches in which they are smallest."""
    view, indices = patch_view(pixels, MAX_PATCHES), np.flatnonzero(valid_patches(valid, MAX_PATCHES))
    basis, frequency = cosine_basis()
    low, high = basis[(frequency > 0) & (frequency <= MAX_LOW_FREQUENCY)], basis[frequency > MAX_LOW_FREQUENCY]
    texture = np.concatenate([np.square(rows @ low.T).sum(axis=1) for _, rows in chunks(view)])
    order = indices[np.argsort(texture[indices], kind="stable")]
    sets = []
    for share in FLAT_SHARES:
        flat = order[: max(MIN_PATCHES, int(share * len(order)))]
        covariance = np.zeros((len(high), len(high)))
        for _, rows in selected_rows(view, flat):
            covariance += (rows @ high.T).T @ (rows @ high.T) / len(flat)
        variance, *lags = _autocovariance_map() @ covariance.ravel()
        if variance > ROUNDING:
            sets.append([float(np.clip(lag / variance, -1, 1)) for lag in lags])  # beyond 1: longer than two pixels
    return min(sets, key=lambda lags: max(map(abs, lags)), default=[0.0] * len(LAGS))


@cache
def _autocovariance_map() -> Floats:
    """The least-squares map from a covariance of high frequencies to the autocovariance at lag 0 and `LAGS`."""
    basis, frequency = cosine_basis()
    high = basis[frequency > MAX_LOW_FREQUENCY]
    y, x = np.divmod(np.arange(WIDTH**2), WIDTH)
    down, across = y[:, None] - y, x[:, None] - x
    shifts = [((down == i) & (across == j)) | ((down == -i) & (across == -j)) for i, j in ((0, 0), *LAGS)]
    design = np.stack([(high @ shift @ high.T).ravel() for shift in shifts], axis=1)
    return np.asarray(np.linalg.pinv(design), np.float64)


def _grid_score(pixels: Floats) -> float:
    """How far the steps between two columns stand out every eight columns, in standard deviations of the others."""
    if pixels.shape[1] < 4 * BLOCK:
        return 0.0
    steps = np.abs(np.diff(pixels[:: max(1, pixels.shape[0] // MAX_LINES)], axis=1))
    excess = (steps[:, 1:-1] - (steps[:, :-2] + steps[:, 2:]) / 2).mean(axis=0)
    phases = np.sort([np.median(excess[phase::BLOCK]) for phase in range(BLOCK)])  # one edge is no grid
    spread = float(phases[:-1].std(ddof=1))
    return float(phases[-1] - phases[:-1].mean()) / spread if spread > math.sqrt(ROUNDING) else 0.0


def _lattice_ratio(pixels: Floats) -> float:
    """The largest over the smallest mean detail of the four sites of a 2 x 2 lattice; 1 if all sites are equal."""
    pixels = pixels[:MAX_LINES, :MAX_LINES]
    around = pixels[:-2, 1:-1] + pixels[2:, 1:-1] + pixels[1:-1, :-2] + pixels[1:-1, 2:]
    detail = np.abs(pixels[1:-1, 1:-1] - around / 4)
    sites = [float(detail[i::2, j::2].mean()) for i in (0, 1) for j in (0, 1)]
    return max(sites) / max(min(sites), np.finfo(float).tiny) if max(sites) > math.sqrt(ROUNDING) else 1.0
