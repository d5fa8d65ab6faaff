"""Inpaint: complete the missing pixels of images, volumes and clips."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import RNG, as_dtype, as_seed, one_of, positive, require_finite
from epitomes.epitome import Epitome
from epitomes.formats import Picture
from epitomes.layout import Layout
from epitomes.restoration._arguments import Request
from epitomes.restoration._plan import require_run
from epitomes.restoration.inpainting.level import level_of
from epitomes.restoration.inpainting.picture import ROUNDS, Completion
from epitomes.restoration.inpainting.volume import VolumeCompletion
from epitomes.restoration.masks import as_mask
from epitomes.restoration.method import Callback, within
from epitomes.restoration.non_local import NonLocal
from epitomes.restoration.non_local.method import shipped_epitome

LEVELS = 12  # planes of a volume in which the noise is measured


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
    """Complete the missing pixels of an image, volume or clip from groups of similar patches.

    Scattered pixels, dead lines, text and scratches are estimated from the known pixels beside them. Large holes are
    completed by patches of their surroundings, in volumes and clips by the planes before and after them. Which is which
    is decided for each region. Frames that are missing as a whole are interpolated along the motion of their
    neighbours.

    Parameters
    ----------
    image : array_like or Picture
        Image ``(H, W)``, volume or clip ``(D, H, W)``, with channels or a stack of them: see `channel_axis` and
        `spatial`. Any real dtype.
    mask : array_like, optional
        Non-zero at missing pixels. It has the shape of `image`, with or without channels, or that of one image of a
        stack or volume. NaN are missing, too; without a mask, they alone are.
    sigma : float or None, default: 0.0
        Standard deviation of white noise in the known pixels. With 0, these are returned as they are; otherwise the
        noise is removed. None: it is estimated.
    channel_axis : int, optional
        Axis of the channels or colours. If None, there are none.
    spatial : int, optional
        Number of spatial axes: 2 for images, 3 for volumes and clips. Axes before them count independent ones. By
        default all axes but that of the channels are spatial.
    epitome : Epitome, optional
        Epitome with two-dimensional patches. Default: a shipped one, learned from natural images. Planes of volumes
        that have much in common are completed without it.
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
        If the mask does not fit the image, or nothing is known of an image, volume or channel.

    See Also
    --------
    denoise : Remove noise where no pixels are missing.
    learn_epitome : Learn an epitome, also from images with missing pixels.

    Notes
    -----
    The first estimate is a smooth surface, improved by codes of the known pixels over the atoms of an epitome. Then
    rounds follow: similar patches form groups, each group is modelled as a Gaussian, and its members become conditional
    means given their known pixels [1]_. Holes are completed coarse to fine by copies of similar patches [2]_.

    In volumes and clips the start is smooth across planes, too, if planes foretell each other: some known pixels are
    hidden to find out. Patches have two planes, and look for similar ones in the planes around theirs.

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
    request = Request.of(image, channel_axis, spatial, None)
    layout = request.layout
    if layout.spatial == 1:
        raise ValueError(f"inpaint completes images and volumes, got a signal of shape {layout.shape}: reshape it")
    missing = np.isnan(request.given) if request.given.dtype.kind == "f" else np.zeros(layout.shape, np.bool_)
    if mask is not None:
        missing |= as_mask(mask, layout, planes=layout.spatial == 3)
    require_some(missing, layout)
    require_finite("image", request.given[~missing])
    planar = Completion(preset, shipped_epitome() if epitome is None else epitome, as_seed(rng), threads)
    completion = planar if layout.spatial == 2 else VolumeCompletion(planar)
    result = layout.canonical(request.given.copy())
    flags = layout.canonical(missing)
    places = list(layout.places())
    for number, place in enumerate(places):
        part = within(callback, number / len(places), (number + 1) / len(places))
        _complete(result[place], flags[place], sigma, completion, layout.n_channels is not None, part)
    return layout.original(result)


def require_some(missing: NDArray[np.bool_], layout: Layout) -> None:
    """Refuse pictures of which nothing is known, or not in one of the channels."""
    channels = layout.n_channels is not None
    axes = tuple(range(len(layout.stack_shape), len(layout.shape) - channels))
    if layout.canonical(missing).all(axis=axes).any():
        one = "a volume" if layout.spatial == 3 else "an image"
        raise ValueError(
            f"every pixel of {one} or of one of its channels is missing: leave it out, or check that mask is "
            "non-zero at missing pixels only"
        )


def _complete(
    picture: NDArray[Any],
    missing: NDArray[np.bool_],
    sigma: float | None,
    completion: Completion | VolumeCompletion,
    channels: bool,
    callback: Callback | None,
) -> None:
    """Complete one picture or volume in place: all channels together, or one by one if their missing pixels differ."""
    layers, holes = (picture, missing) if channels else (picture[..., None], missing[..., None])
    together = bool((holes == holes[..., :1]).all())
    parts = [slice(None)] if together else [slice(c, c + 1) for c in range(layers.shape[-1])]
    for number, part in enumerate(parts):
        unknown = holes[..., part][..., 0]
        values = layers[..., part].astype(np.float64)
        level = _level_of(values, unknown) if sigma is None else float(sigma)
        if level == 0 and not unknown.any():
            continue
        tell = within(callback, number / len(parts), (number + 1) / len(parts))
        found = as_dtype(completion.run(values, unknown, level, tell), layers.dtype)
        changed = unknown if level == 0 else np.ones_like(unknown)
        layers[..., part][changed] = found[changed]


def _level_of(values: NDArray[np.float64], unknown: NDArray[np.bool_]) -> float:
    """The noise level of an image; of a volume, the median of some planes that are known in part."""
    if unknown.ndim == 2:
        return level_of(values, unknown)
    usable = np.flatnonzero(~unknown.all(axis=(1, 2)))
    some = usable[np.linspace(0, len(usable) - 1, min(LEVELS, len(usable))).astype(int)]
    return float(np.median([level_of(values[k], unknown[k]) for k in some]))
