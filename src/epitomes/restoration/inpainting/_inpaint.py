"""Inpaint: complete the missing pixels of images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import RNG, as_dtype, as_seed, one_of, positive, require_finite
from epitomes.epitome import Epitome
from epitomes.formats import Picture
from epitomes.restoration._arguments import Request
from epitomes.restoration._plan import require_run
from epitomes.restoration.inpainting.level import level_of
from epitomes.restoration.inpainting.picture import ROUNDS, Completion
from epitomes.restoration.method import Callback, within
from epitomes.restoration.non_local import NonLocal
from epitomes.restoration.non_local.method import shipped_epitome


def inpaint(
    image: ArrayLike | Picture,
    mask: ArrayLike | None = None,
    *,
    sigma: float | None = 0.0,
    channel_axis: int | None = None,
    spatial: int | None = None,
    epitome: Epitome | None = None,
    preset: str = "balanced",
    rng: RNG = 0,
    threads: int | None = None,
    callback: Callback | None = None,
) -> NDArray[Any]:
    """Complete the missing pixels of an image from groups of similar patches.

    Scattered pixels, dead lines, text and scratches are estimated from the known pixels beside them. Large holes are
    completed by patches of their surroundings. Which is which is decided for each region.

    Parameters
    ----------
    image : array_like or Picture
        Image ``(H, W)``, or with channels or a stack of images: see `channel_axis` and `spatial`. Any real dtype.
    mask : array_like, optional
        Non-zero at missing pixels. It has the shape of `image`, with or without channels, or that of one image of a
        stack. NaN are missing, too; without a mask, they alone are.
    sigma : float or None, default: 0.0
        Standard deviation of white noise in the known pixels. With 0, these are returned as they are; otherwise the
        noise is removed. None: it is estimated.
    channel_axis : int, optional
        Axis of the channels or colours. If None, there are none.
    spatial : int, optional
        Number of spatial axes, 2. Axes before them count independent images.
    epitome : Epitome, optional
        Epitome with two-dimensional patches. Default: a shipped one, learned from natural images.
    preset : {"fast", "balanced", "best"}, default: "balanced"
        Speed and quality. "fast" codes every patch by itself with the epitome; "best" takes about four times as long as
        "balanced".
    rng : Generator, int or None, default: 0
        Random number generator or seed, for the search in holes.
    threads : int, optional
        Number of threads, by default one per core. It changes no bit of the result.
    callback : callable, optional
        Called as ``callback(fraction, stage)`` with the fraction of the work that is done and a few words.

    Returns
    -------
    ndarray
        The completed image, with the shape and dtype of `image`.

    Raises
    ------
    ValueError
        If the mask does not fit the image, nothing is known of an image or channel, or the image is a volume.

    See Also
    --------
    denoise : Remove noise where no pixels are missing.
    learn_epitome : Learn an epitome, also from images with missing pixels.

    Notes
    -----
    The first estimate is a smooth surface, improved by codes of the known pixels over the atoms of an epitome. Then
    rounds follow: similar patches form groups, each group is modelled as a Gaussian, and its members become conditional
    means given their known pixels [1]_. Holes are completed coarse to fine by copies of similar patches [2]_.

    Channels with different missing pixels are completed one by one.

    References
    ----------
    .. [1] G. Yu, G. Sapiro, S. Mallat, "Solving inverse problems with piecewise linear estimators: from Gaussian
       mixture models to structured sparsity", IEEE Transactions on Image Processing 21, 2012.
    .. [2] Y. Wexler, E. Shechtman, M. Irani, "Space-time completion of video", IEEE Transactions on Pattern Analysis
       and Machine Intelligence 29, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import inpaint
    >>> image = np.add.outer(np.arange(64.0), np.arange(64.0))
    >>> mask = np.random.default_rng(0).random(image.shape) < 0.5
    >>> completed = inpaint(np.where(mask, 0, image), mask)
    >>> bool(np.abs(completed - image).mean() < 0.1), bool((completed == image)[~mask].all())
    (True, True)
    """
    one_of("preset", preset, tuple(ROUNDS))
    require_run(threads, callback)
    NonLocal(epitome=epitome)  # refuses what it cannot use
    if sigma is not None:
        positive("sigma", sigma, zero=True)
    request = Request.of(image, channel_axis, spatial, mask)
    layout = request.layout
    if layout.spatial != 2:
        advice = "pass spatial=2 to complete it plane by plane" if layout.spatial == 3 else "signals have no patches"
        raise ValueError(f"inpaint completes images, got a {layout.noun} of shape {layout.shape}: {advice}")
    missing = np.isnan(request.given) if request.given.dtype.kind == "f" else np.zeros(layout.shape, np.bool_)
    if request.mask is not None:
        missing |= request.mask
    if any(plane.all() for plane in layout.planes(missing)):
        raise ValueError(
            "every pixel of an image or of one of its channels is missing: leave it out, or check that mask is "
            "non-zero at missing pixels only"
        )
    require_finite("image", request.given[~missing])
    completion = Completion(preset, shipped_epitome() if epitome is None else epitome, as_seed(rng), threads)
    result = layout.canonical(request.given.copy())
    flags = layout.canonical(missing)
    places = list(layout.places())
    for number, place in enumerate(places):
        part = within(callback, number / len(places), (number + 1) / len(places))
        _complete(result[place], flags[place], sigma, completion, layout.n_channels is not None, part)
    return layout.original(result)


def _complete(
    picture: NDArray[Any],
    missing: NDArray[np.bool_],
    sigma: float | None,
    completion: Completion,
    channels: bool,
    callback: Callback | None,
) -> None:
    """Complete one picture in place: all channels together, or one by one if their missing pixels differ."""
    layers, holes = (picture, missing) if channels else (picture[..., None], missing[..., None])
    together = bool((holes == holes[..., :1]).all())
    parts = [slice(None)] if together else [slice(c, c + 1) for c in range(layers.shape[-1])]
    for number, part in enumerate(parts):
        unknown = holes[..., part][..., 0]
        values = layers[..., part].astype(np.float64)
        level = level_of(values, unknown) if sigma is None else float(sigma)
        if level == 0 and not unknown.any():
            continue
        tell = within(callback, number / len(parts), (number + 1) / len(parts))
        found = as_dtype(completion.run(values, unknown, level, tell), layers.dtype)
        changed = unknown if level == 0 else np.ones_like(unknown)
        layers[..., part][changed] = found[changed]
