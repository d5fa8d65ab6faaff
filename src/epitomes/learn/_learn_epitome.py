"""learn_epitome: from images to an epitome in one call."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import RNG, Array, Shape, as_floats, as_seed, as_shape, one_of, positive, whole
from epitomes.coders import Lasso
from epitomes.epitome import Epitome
from epitomes.layout import Layout
from epitomes.learn._alternate import alternate
from epitomes.learn._identity import identity
from epitomes.learn._multiscale import Scale, multiscale, scales
from epitomes.learn._natural import natural
from epitomes.learn._online import online as learn_online
from epitomes.learn.checkpoint import load_history, load_step
from epitomes.learn.missing import known_rows
from epitomes.learn.start import cosines, random_windows, smooth_noise
from epitomes.learn.steps import Fit, Progress, Step, run
from epitomes.patches import Patches
from epitomes.phi import Phi, support_of, windows

STARTS = ("natural", "noise", "data", "dct")
EPITOME, PATCH = (42, 42), (8, 8)  # default shapes, for images of two spatial axes
LAM_OVER_SIGMA = 4.0
BATCH = 2048  # patches of an online step
MAX_ROWS = 1_000_000  # patches of several images that are kept in memory


def learn_epitome(
    images: ArrayLike | Sequence[ArrayLike],
    *,
    mask: ArrayLike | None = None,
    epitome_shape: Shape | None = None,
    patch_shape: Shape | None = None,
    count: int | None = None,
    lam: float | None = None,
    sigma: float | None = None,
    start: str | Epitome = "natural",
    n_steps: int = 30,
    sample: int | None = None,
    n_scales: int = 1,
    online: bool = False,
    tol: float | None = None,
    seconds: float | None = None,
    channel_axis: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    rng: RNG = 0,
    threads: int | None = None,
    callback: Callable[[Step], None] | None = None,
) -> Fit:
    """Learn an epitome from one image or several.

    Parameters
    ----------
    images : array_like or sequence of array_like
        One image as an array, or several as a list. Images of one list need the same dtype and number of channels, but
        not the same size. At most a million patches of several images are used, drawn at random.
    mask : array_like, optional
        Non-zero at missing pixels, of the shape of the image, with or without channels; NaN are missing, too. It needs
        a single image and one scale. Patches of which less than a quarter is known are left out.
    epitome_shape : int or tuple of int, optional
        Shape of an epitome along the spatial axes. Default: ``(42, 42)``.
    patch_shape : int or tuple of int, optional
        Shape of a patch along the spatial axes. Default: ``(8, 8)``.
    count : int, optional
        Number of epitomes. Default: 1.
    lam : float, optional
        Regularisation parameter lambda, in the units of the images. The larger, the fewer atoms a patch uses.
    sigma : float, optional
        Noise level of the images. Shorthand for ``lam=4 * sigma``.
    start : {"natural", "noise", "data", "dct"} or Epitome, optional
        Initial epitome: shipped epitome of natural images, low-passed noise, random windows of the (first) image,
        cosines, or an epitome of your own, whose phi is then used.
    n_steps : int, optional
        Largest number of steps, over all scales.
    sample : int, optional
        Number of patches drawn at random in each step. Default: all patches, or 2048 with `online`.
    n_scales : int, optional
        Number of scales, coarse to fine. More than one needs a single image.
    online : bool, optional
        Whether to learn from small batches of patches (see `epitomes.learn.online`).
    tol : float, optional
        Stop when a step lowers the objective by less than this fraction of it.
    seconds : float, optional
        Stop after the step during which this time has passed.
    channel_axis : int, optional
        Axis of colours or channels. If None, all axes are spatial.
    checkpoint : str or path-like, optional
        File in which each step is saved, so that an interrupted run can be resumed.
    resume : bool, optional
        Whether to continue from `checkpoint`, if that file exists. All other arguments must be those of the
        interrupted run. Use an integer as `rng` to get the same bits as without the interruption.
    rng : numpy.random.Generator, int or None, optional
        Random number generator or seed.
    threads : int, optional
        Number of threads. Default: one per processor. It does not change the result.
    callback : callable, optional
        Called with each `Step`.

    Returns
    -------
    Fit
        The epitome, the progress of all steps and the reason for stopping.

    Raises
    ------
    ValueError
        If neither or both of `lam` and `sigma` are given, if no natural epitome of the shape is shipped, or if shapes
        or options do not agree.
    ModelError
        If the checkpoint to resume from is damaged or belongs to other arguments.

    See Also
    --------
    alternate, online, multiscale : The learners, for other coders and stopping rules.
    epitomes.save : Save an epitome to a file.

    Notes
    -----
    Sparse coding with the Lasso and dictionary steps alternate. They minimise, over epitomes E with atoms ``d_j`` of
    ``D = phi(E)`` and codes ``a_i`` of the n patches ``x_i`` without their means::

        1/n sum_i [ 1/2 |x_i - a_i D|^2 + lam sum_j |d_j| |a_ij| ]

    References
    ----------
    .. [1] L. Benoît, J. Mairal, F. Bach, J. Ponce, "Sparse image representation with epitomes", CVPR 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import learn_epitome
    >>> image = np.random.default_rng(0).standard_normal((32, 32)).cumsum(axis=0)
    >>> fit = learn_epitome(image, epitome_shape=12, patch_shape=4, lam=1.0, start="noise", n_steps=3)
    >>> fit.epitome.pixels.shape, len(fit.history)
    ((12, 12), 3)
    """
    if resume and checkpoint is None:
        raise ValueError("resume=True needs checkpoint, the file to resume from")
    seed = as_seed(rng)
    missing = None
    if mask is not None:
        images, missing = _without_missing(images, mask, channel_axis)
    pictures, n_spatial = _as_pictures(images, channel_axis)
    task = _Task(
        pictures,
        start if isinstance(start, Epitome) else one_of("start", start, STARTS),
        _phi(start, pictures[0], n_spatial, epitome_shape, patch_shape, count),
        lam_of(lam, sigma),
        whole("n_steps", n_steps, least=1),
        None if sample is None else whole("sample", sample, least=1),
        whole("n_scales", n_scales, least=1),
        bool(online),
        seed,
        threads,
        missing,
    )
    after, history = task.resumed(checkpoint) if resume and checkpoint is not None else (None, ())
    if after is not None and after.progress.index >= n_steps:
        return Fit(after.epitome, history, f"{after.progress.index} steps were done before")
    return run(
        task.steps(after),
        max_steps=n_steps,
        tol=tol,
        seconds=seconds,
        callback=callback,
        checkpoint=checkpoint,
        history=history,
    )


def lam_of(lam: float | None, sigma: float | None) -> float:
    """Return the regularisation parameter: `lam` itself, or 4 sigma."""
    if lam is not None and sigma is not None:
        raise ValueError("lam and sigma exclude each other, because sigma only sets lam: pass one of them")
    if lam is not None:
        return positive("lam", lam)
    if sigma is not None:
        return LAM_OVER_SIGMA * positive("sigma", sigma)
    raise ValueError(
        "lam is needed: the regularisation parameter lambda, in the units of the images, such as lam=60 for grey "
        "levels from 0 to 255. Or pass sigma, the noise level, and lam becomes 4 sigma"
    )


@dataclass(frozen=True, eq=False)
class _Task:
    """Checked arguments of `learn_epitome`: which learner, from which epitome, on which patches."""

    pictures: list[Array]
    start: str | Epitome
    phi: Phi
    lam: float
    n_steps: int
    sample: int | None
    n_scales: int
    online: bool
    seed: int
    threads: int | None
    missing: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if self.missing is not None and (self.online or self.n_scales > 1):
            raise ValueError(
                "mask needs one scale and steps over all patches or a sample of them: leave out online and n_scales"
            )
        if self.n_scales == 1:
            return
        if self.online:
            raise ValueError(
                f"online=True learns at one scale only, got n_scales={self.n_scales}: leave one of them out"
            )
        if len(self.pictures) > 1:
            raise ValueError(f"n_scales={self.n_scales} needs a single image, got {len(self.pictures)}")
        if self.n_steps < self.n_scales:
            raise ValueError(
                f"n_steps={self.n_steps} is less than one step for each of n_scales={self.n_scales} scales"
            )
        if identity(self.phi) != identity(windows(self.phi.epitome_shape, self.phi.patch_shape)):
            raise ValueError(
                f"several scales need a start whose phi is windows(epitome_shape, patch_shape), got {self.phi!r}: "
                "use n_scales=1"
            )

    def scales(self) -> tuple[Scale, ...]:
        """Make the scales, coarsest first; they share the steps, and the coarsest takes the remainder."""
        each, left = divmod(self.n_steps, self.n_scales)
        n_steps = [each + left, *[each] * (self.n_scales - 1)]
        return scales(self.phi.epitome_shape, self.phi.patch_shape, lam=self.lam, n_steps=n_steps)

    def steps(self, after: Step | None) -> Iterator[Step]:
        """Make the learner."""
        image, seed, threads = self.pictures[0], self.seed, self.threads
        if self.n_scales > 1:
            plan = self.scales()
            coarsest = windows(plan[0].epitome_shape, plan[0].patch_shape)
            # Epitomes of images are made at full size and reduced with the image.
            first = self._first(self.phi if self.start in ("natural", "data") else coarsest)
            return multiscale(image, first, scales=plan, sample=self.sample, rng=seed, after=after, threads=threads)
        first, coder = self._first(self.phi), Lasso(lam=self.lam)
        if self.missing is not None:
            rows, known = known_rows(image, self.missing, self.phi.patch_shape, support_of(self.phi), seed)
            return alternate(
                rows, first, coder=coder, sample=self.sample, mask=known, rng=seed, after=after, threads=threads
            )
        patches = self._patches()
        if self.online:
            batch = BATCH if self.sample is None else self.sample
            return learn_online(patches, first, coder=coder, batch=batch, rng=seed, after=after, threads=threads)
        return alternate(patches, first, coder=coder, sample=self.sample, rng=seed, after=after, threads=threads)

    def resumed(self, checkpoint: str | os.PathLike[str]) -> tuple[Step | None, tuple[Progress, ...]]:
        """Load the step to continue from and the progress before it; neither if there is no checkpoint yet."""
        if not Path(checkpoint).exists():
            return None, ()
        if self.n_scales == 1:
            return load_step(checkpoint, self.phi)
        plan, history = self.scales(), load_history(checkpoint)
        reached = plan[min(history[-1].scale if history else 0, len(plan) - 1)]
        return load_step(checkpoint, windows(reached.epitome_shape, reached.patch_shape))

    def _first(self, phi: Phi) -> Epitome:
        if isinstance(self.start, Epitome):
            return self.start
        makers: dict[str, Callable[[], Epitome]] = {
            "natural": lambda: natural(phi),
            "noise": lambda: smooth_noise(phi, rng=self.seed),
            "data": lambda: random_windows(phi, self.pictures[0], rng=self.seed),
            "dct": lambda: cosines(phi),
        }
        return makers[self.start]()

    def _patches(self) -> Patches | Array:
        """Return the patches of one image as they are, and those of several as rows, at most MAX_ROWS of them."""
        support = support_of(self.phi)
        sources = [Patches(image, self.phi.patch_shape, support=support) for image in self.pictures]
        if len(sources) == 1:
            return sources[0]
        total = sum(map(len, sources))
        if total > MAX_ROWS:
            warnings.warn(f"{MAX_ROWS} of the {total} patches are used, drawn at random", stacklevel=4)
        share = min(1.0, MAX_ROWS / total)
        random = np.random.default_rng(self.seed)
        chosen = [random.choice(len(one), max(1, int(share * len(one))), replace=False) for one in sources]
        return np.concatenate([one.at_index(np.sort(rows))[0] for one, rows in zip(sources, chosen, strict=True)])


def _as_pictures(images: ArrayLike | Sequence[ArrayLike], channel_axis: int | None) -> tuple[list[Array], int]:
    """Return checked images with their channels last, and the number of spatial axes; one channel is read as grey."""
    given = [np.asanyarray(image) for image in images] if isinstance(images, (list, tuple)) else [np.asanyarray(images)]
    if not given:
        raise ValueError("images is empty: pass at least one image")
    layouts = [Layout.of(image.shape, channel_axis) for image in given]
    kinds = {(str(image.dtype), layout.n_channels) for image, layout in zip(given, layouts, strict=True)}
    if len(kinds) > 1:
        found = ", ".join(sorted(f"{dtype} with {n_channels or 1} channel(s)" for dtype, n_channels in kinds))
        raise ValueError(f"all images need the same dtype, and so the same scale of values, and channels; got {found}")
    if len({layout.spatial for layout in layouts}) > 1:
        raise ValueError(
            f"all images need the same number of axes, got shapes {', '.join(str(a.shape) for a in given)}"
        )
    grey = layouts[0].n_channels == 1
    pictures = []
    for image, layout in zip(given, layouts, strict=True):
        pixels = layout.canonical(image)
        pictures.append(as_floats("image", pixels[..., 0] if grey else pixels))
    return pictures, layouts[0].spatial


def _without_missing(
    images: ArrayLike | Sequence[ArrayLike], mask: ArrayLike, channel_axis: int | None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the image with zeros for missing pixels, and where they are, with its channels last."""
    if isinstance(images, (list, tuple)):
        raise ValueError("mask needs a single image as an array: learn from one of them, or leave mask out")
    image, flags = np.asanyarray(images), np.asarray(mask)
    layout = Layout.of(image.shape, channel_axis)
    last = layout.canonical(image)
    if flags.dtype.kind not in "bui":
        raise TypeError(f"mask must hold booleans or integers, non-zero at missing pixels, got dtype {flags.dtype}")
    if flags.shape not in (image.shape, layout.picture_shape[: layout.spatial]):
        raise ValueError(f"mask needs shape {image.shape}, as the image, got {flags.shape}")
    missing = layout.canonical(flags) if flags.shape == image.shape else flags
    if missing.ndim < last.ndim:
        missing = np.broadcast_to(missing[..., None], last.shape)
    hidden = (missing != 0) | (np.isnan(last) if last.dtype.kind == "f" else False)
    kept = np.where(hidden, last.dtype.type(0), last)
    return layout.original(kept), hidden[..., 0] if layout.n_channels == 1 else hidden


def _phi(
    start: str | Epitome,
    picture: Array,
    n_spatial: int,
    epitome_shape: Shape | None,
    patch_shape: Shape | None,
    count: int | None,
) -> Phi:
    """Return the phi to learn with: that of an Epitome, or windows of the shapes."""
    if isinstance(start, Epitome):
        for name, value in (("epitome_shape", epitome_shape), ("patch_shape", patch_shape), ("count", count)):
            if value is not None:
                raise ValueError(f"{name} is given by the start, which is an Epitome: leave {name} out")
        if len(start.phi.patch_shape) != picture.ndim:
            raise ValueError(
                f"the start has patches of shape {start.phi.patch_shape}, which do not fit images of shape "
                f"{picture.shape}: use an epitome whose patches have {picture.ndim} axes"
            )
        return start.phi
    channels = picture.shape[n_spatial:]
    epitome = _spatial_shape("epitome_shape", EPITOME if epitome_shape is None else epitome_shape, picture, n_spatial)
    patch = _spatial_shape("patch_shape", PATCH if patch_shape is None else patch_shape, picture, n_spatial)
    n_epitomes = 1 if count is None else whole("count", count, least=1)
    return windows((*((n_epitomes,) if n_epitomes > 1 else ()), *epitome, *channels), (*patch, *channels))


def _spatial_shape(name: str, value: Shape, picture: Array, n_spatial: int) -> tuple[int, ...]:
    if np.ndim(value) == 1 and np.size(value) != n_spatial:
        raise ValueError(
            f"{name} {value} does not fit images of shape {picture.shape}, which have {n_spatial} spatial axes: pass "
            "one length for each, or channel_axis if one of the axes holds channels"
        )
    return as_shape(name, value, ndim=n_spatial)
