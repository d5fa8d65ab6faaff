"""estimate_noise: the noise model of an image, volume or stack, estimated from the array itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from epitomes.checks import Array, as_floats, one_of
from epitomes.layout import Layout
from epitomes.noise.combine import Estimate, over_channels, over_pictures, over_planes
from epitomes.noise.correlated import estimate_correlated
from epitomes.noise.gaussian import estimate_gaussian
from epitomes.noise.model import Noise
from epitomes.noise.patch_rows import WIDTH
from epitomes.noise.planes import MAX_PLANES, Plane, evenly_spaced, require_side, standardise
from epitomes.noise.poisson_gaussian import estimate_poisson_gaussian
from epitomes.noise.white import estimate_white

Callback = Callable[[int, int], object]

MODELS = ("auto", "gaussian", "poisson-gaussian", "correlated")


def estimate_noise(
    image: ArrayLike,
    *,
    model: Literal["auto", "gaussian", "poisson-gaussian", "correlated"] = "auto",
    offset: float | None = None,
    channel_axis: int | None = None,
    spatial: int | None = None,
    callback: Callback | None = None,
) -> Noise:
    """Estimate the noise of an image, volume or stack from the array itself.

    Everything that varies in flat areas counts as noise, including what was there before you received the image.

    Parameters
    ----------
    image : array_like
        Grey image ``(H, W)``, volume ``(D, H, W)`` or, with `channel_axis`, a multichannel array. Any real dtype and
        scale.
    model : {"auto", "gaussian", "poisson-gaussian", "correlated"}, optional
        "gaussian" is white noise of one level. "poisson-gaussian" is white noise that grows with brightness as that of
        counted light does; it needs brightness that is linear in light (no gamma correction) and not clipped.
        "correlated" is the noise of photographs, scans and resized or compressed images, whose neighbouring pixels
        and colours have similar noise, with any level over brightness. By default the image decides.
    offset : float, optional
        Brightness without light, for the Poisson-Gaussian model: the mean of a dark frame. If None, it is estimated.
    channel_axis : int, optional
        Axis of colours or channels. If None, no axis holds channels.
    spatial : int, optional
        Number of spatial axes: 2 for images, 3 for volumes. Axes before them count independent pictures. If None, all
        axes but that of the channels are spatial.
    callback : callable, optional
        Called as ``callback(done, total)`` after each grey plane.

    Returns
    -------
    Noise
        The noise model. Channels are estimated one by one: Gaussian noise has the root mean square of their levels,
        and there are parameters per channel if the noise of any channel grows with brightness. Of a volume, up to 32
        evenly spaced planes are estimated, and the medians taken over those with the more frequent model. A stack has
        parameters per picture. Without noise, the level is 0 and a doubt says why.

    Raises
    ------
    ValueError
        If the planes are smaller than 7 x 7 pixels (14 x 14 for the Poisson-Gaussian model), the array holds signals,
        or `offset` is given for another model than the Poisson-Gaussian one.

    See Also
    --------
    Noise : The noise model.
    noise_correlation : Measure how far the noise is from white.

    Notes
    -----
    The Gaussian level is measured on weakly textured patches, in the directions of patch space that texture reaches
    least [1]_ [2]_; these are learned on one half of the image and used on the other, which avoids bias. The
    Poisson-Gaussian model is a robust line through the variances of such patches at different brightness: with
    ``b = read_noise**2 - gain * offset``, one image determines ``variance = gain * mean + b`` only. Without `offset`,
    the offset is 0 if ``b`` is positive, and the read noise is 0 if it is negative. Large images are sampled regularly.

    Correlated noise is measured at the frequencies of 8 x 8 blocks, at two scales, on the flattest blocks; they are
    chosen by some frequencies and measured at others, which avoids bias. Whether it is noise or fine texture is decided
    by how alike flat blocks are, and by the shape of the spectrum; the weights were fitted to real photographs.

    The Gaussian level is not that of a quiet corner: where flat areas of at least a quarter of the image agree on a
    larger level than the flattest patches, as beside an overscan strip or around the air of a scan, the larger level is
    used, and a doubt names both.

    References
    ----------
    .. [1] X. Liu, M. Tanaka, M. Okutomi, "Single-image noise level estimation for blind denoising", IEEE Transactions
           on Image Processing 22 (12), 2013.
    .. [2] G. Chen, F. Zhu, P. A. Heng, "An efficient statistical method for image noise level estimation", ICCV 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import estimate_noise
    >>> y, x = np.mgrid[0:128, 0:128] / 128
    >>> noisy = 80 * np.sin(3 * x + 2 * y) + 5 * np.random.default_rng(0).standard_normal((128, 128))
    >>> noise = estimate_noise(noisy)
    >>> round(noise.level), noise.reliable
    (5, True)
    """
    one_of("model", model, MODELS)
    poisson = model == "poisson-gaussian"
    if offset is not None and not poisson:
        raise ValueError('offset belongs to model="poisson-gaussian": choose that model, or leave offset out')
    zero = None if offset is None else float(as_floats("offset", offset, ndim=0))
    pixels = as_floats("image", image)
    layout = Layout.of(pixels.shape, channel_axis, spatial)
    if layout.spatial == 1:
        raise ValueError(
            f"noise cannot be estimated from signals (shape {pixels.shape}, one spatial axis): give its standard "
            "deviation as sigma"
        )
    require_side(layout.picture_shape[: layout.spatial][-2:], 2 * WIDTH if poisson else WIDTH)
    canonical = layout.canonical(pixels)
    done, total = 0, _count(layout)
    of_plane: Callable[[Plane], Estimate] = estimate_gaussian if model == "gaussian" else estimate_white
    if poisson:
        of_plane = partial(estimate_poisson_gaussian, offset=zero)

    def estimate(plane: Array) -> Estimate:
        nonlocal done
        found = of_plane(standardise(plane))
        done += 1
        if callback is not None:
            callback(done, total)
        return found

    def of_channels(picture: Array) -> Estimate:
        if layout.n_channels is None:
            return estimate(picture)
        return over_channels([estimate(picture[..., each]) for each in range(layout.n_channels)])

    def of_image(picture: Array) -> Estimate:
        if model in ("auto", "correlated"):
            return estimate_correlated(picture, partial(of_channels, picture), certain=model == "correlated")
        return of_channels(picture)

    def of_picture(picture: Array) -> Estimate:
        if layout.spatial == 2:
            return of_image(picture)
        return over_planes([of_image(picture[each]) for each in evenly_spaced(len(picture), MAX_PLANES)])

    found = [of_picture(canonical[place]) for place in layout.places()]
    return (over_pictures(found, layout) if layout.stack_shape else found[0]).finished()


def _count(layout: Layout) -> int:
    """How many grey planes are estimated."""
    planes = len(evenly_spaced(layout.picture_shape[0], MAX_PLANES)) if layout.spatial == 3 else 1
    return int(np.prod(layout.stack_shape, dtype=int)) * planes * (layout.n_channels or 1)
