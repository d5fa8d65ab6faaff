"""estimate_noise: the noise model of an image, volume or stack, estimated from the array itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from epitomes.checks import Array, as_floats, one_of, require_real
from epitomes.filling import filled, missing_values
from epitomes.layout import Layout
from epitomes.noise.channels import Offsets, of_channels
from epitomes.noise.combine import Estimate, over_channels, over_pictures, over_planes
from epitomes.noise.correlated import estimate_correlated
from epitomes.noise.model import Noise
from epitomes.noise.patch_rows import WIDTH
from epitomes.noise.planes import Plane, require_side, standardise
from epitomes.noise.sheets import Sheet, laid_out, noun_of, sheets_of

Callback = Callable[[int, int], object]

MODELS = ("auto", "gaussian", "poisson-gaussian", "sensor", "rician", "correlated")


def estimate_noise(
    image: ArrayLike,
    *,
    model: Literal["auto", "gaussian", "poisson-gaussian", "sensor", "rician", "correlated"] = "auto",
    offset: ArrayLike | None = None,
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
        scale. NaN is a missing value, and is not used.
    model : {"auto", "gaussian", "poisson-gaussian", "sensor", "rician", "correlated"}, optional
        "gaussian" is white noise of one level. "poisson-gaussian" is white noise that grows with brightness as that of
        counted light does; it needs brightness that is linear in light (no gamma correction) and not clipped.
        "sensor" is the same with one gain and read noise for all channels, as the colours of a Bayer sensor have it.
        "rician" is the noise of magnitude MR images.
        "correlated" is the noise of photographs, scans and resized or compressed images, whose neighbouring pixels
        and colours have similar noise, with any level over brightness. By default the image decides.
    offset : float or sequence of float, optional
        Brightness without light, for the Poisson-Gaussian and sensor models: the mean of a dark frame, or the black
        level, one number or one per channel. If None, it is estimated.
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
        and there are parameters per channel if the noise of any channel grows with brightness. They share a gain if
        their noise lies on one line over brightness, as that of the colours of a sensor does. Of a volume, up to 12
        evenly spaced planes are estimated, and the medians taken over those with the more frequent model; of planes
        with less than 160 x 160 pixels, several are measured side by side. A stack has parameters per picture. Without
        noise, the level is 0 and a doubt says why.

    Raises
    ------
    ValueError
        If the planes are smaller than 7 x 7 pixels (14 x 14 for the Poisson-Gaussian model), the array holds signals,
        or `offset` is given for a model without it.

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
    counted = model in ("poisson-gaussian", "sensor")
    if offset is not None and not counted:
        raise ValueError('offset belongs to model="poisson-gaussian" and "sensor": choose one, or leave offset out')
    given = require_real("image", image)
    layout = Layout.of(given.shape, channel_axis, spatial)
    missing = missing_values(given)
    pixels = as_floats("image", given if missing is None else filled(given, missing, layout))
    if layout.spatial == 1:
        raise ValueError(
            f"noise cannot be estimated from signals (shape {pixels.shape}, one spatial axis): give its standard "
            "deviation as sigma"
        )
    require_side(layout.picture_shape[: layout.spatial][-2:], 2 * WIDTH if counted else WIDTH)
    canonical = layout.canonical(pixels)
    done, total = 0, _count(layout)
    offsets = _offsets(offset, layout.n_channels or 1)

    def advance(planes: int) -> None:
        nonlocal done
        done += planes
        if callback is not None:
            callback(done, total)

    def told(planes: Iterable[Array]) -> Iterator[Plane]:
        for plane in planes:
            yield standardise(plane)
            advance(1)

    def of_white(picture: Array) -> Estimate:
        channels = [picture] if layout.n_channels is None else np.moveaxis(picture, -1, 0)
        found = of_channels(model, told(channels), offsets)
        return found[0] if layout.n_channels is None else over_channels(found)

    def of_image(picture: Array) -> Estimate:
        if model not in ("auto", "correlated"):
            return of_white(picture)
        before = done
        found = estimate_correlated(picture, partial(of_white, picture), certain=model == "correlated")
        if done == before:  # white noise was not looked for
            advance(layout.n_channels or 1)
        return found

    def of_sheet(image: Array, sheet: Sheet) -> Estimate:
        alone = np.size(sheet) == 1
        return of_image(image) if alone or model == "correlated" else of_white(image)

    def of_picture(picture: Array) -> Estimate:
        if layout.spatial == 2:
            return of_image(picture)
        found = [of_sheet(laid_out(picture, each), each) for each in sheets_of(picture.shape)]
        return over_planes(found, noun_of(picture.shape))

    found = [of_picture(canonical[place]) for place in layout.places()]
    return (over_pictures(found, layout) if layout.stack_shape else found[0]).finished()


def _offsets(offset: ArrayLike | None, n_channels: int) -> Offsets:
    """The offset of each channel, checked."""
    if offset is None:
        return [None] * n_channels
    values = as_floats("offset", offset, dtype=np.float64)
    if values.shape not in ((), (n_channels,)):
        raise ValueError(
            f"offset must be one number, or one for each of {n_channels} channels, got shape {values.shape}"
        )
    return [float(each) for each in np.broadcast_to(values, n_channels)]


def _count(layout: Layout) -> int:
    """How many grey images are estimated."""
    planes = len(sheets_of(layout.picture_shape)) if layout.spatial == 3 else 1
    return int(np.prod(layout.stack_shape, dtype=int)) * planes * (layout.n_channels or 1)
