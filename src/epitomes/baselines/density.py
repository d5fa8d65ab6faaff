"""The probabilistic epitome: a mean and a variance per pixel, learned by expectation maximisation (Jojic et al. 2003).

Arrays may have any number of axes: an image has an epitome of two, a clip a video epitome of three (Cheung, Frey, Jojic
2005), with voxels that may be unknown. All positions in the epitome are compared at once, by FFT.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike, NDArray

from epitomes import blocks
from epitomes.aggregate import Aggregator
from epitomes.checks import RNG, Array, Shape, as_floats, as_mask, as_seed, as_shape, positive, read_only, whole
from epitomes.learn import smooth_noise
from epitomes.patches import Patches
from epitomes.phi import windows

Floats = NDArray[np.float64]
Sums = tuple[Floats, Floats, Floats, float]  # spectra of the sums of 1, z, z^2 over patches, and the log-likelihood

AT_ONCE = 2**18  # values of the epitome times patches in a block
SPREAD = 1e-3  # of the variance of the image: the least variance of a pixel of the epitome, unless given
SHARPENED = 0.25  # of the variance of the image: that of every pixel at the start


@dataclass(frozen=True, eq=False)
class Density:
    """A probabilistic epitome: the mean and the variance of every pixel, continued periodically.

    Parameters
    ----------
    mean : array_like
        Means of the pixels, of any number of axes.
    variance : array_like
        Variances of the pixels, positive, of the shape of `mean`.

    See Also
    --------
    learn_density : Learn one from an image or clip.
    Jojic : Denoising with it.

    Notes
    -----
    A patch z comes from a position T of the epitome, all equally likely, with independent pixels:
    ``p(z | T) = prod_i N(z_i; mean[T + i], variance[T + i])``.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.baselines import Density
    >>> density = Density(np.zeros((8, 8)), np.ones((8, 8)))
    >>> density.log_likelihood(np.zeros((1, 3, 3))).round(3)  # 9 log N(0; 0, 1)
    array([-8.27])
    """

    mean: Floats
    variance: Floats

    def __post_init__(self) -> None:
        mean = as_floats("mean", self.mean, dtype=np.float64)
        variance = as_floats("variance", self.variance, dtype=np.float64)
        if mean.ndim == 0 or variance.shape != mean.shape:
            raise ValueError(f"variance needs the shape of mean, {mean.shape}, got {variance.shape}")
        if not variance.min() > 0:
            raise ValueError(f"variances must be above 0, got {variance.min()}")
        object.__setattr__(self, "mean", read_only(mean))
        object.__setattr__(self, "variance", read_only(variance))

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the epitome along its axes."""
        return tuple(map(int, self.mean.shape))

    def log_likelihood(self, patches: ArrayLike, known: ArrayLike | None = None) -> Floats:
        """Compute the logarithm of the density of patches, over all positions.

        Parameters
        ----------
        patches : array_like
            Patches of shape ``(n, ...)``, each with as many axes as the epitome.
        known : array_like of bool, optional
            Known pixels. The density is that of the known ones.

        Returns
        -------
        ndarray of shape (n,)
            One number per patch.
        """
        z = np.asarray(as_floats("patches", patches, dtype=np.float64), np.float64)
        if z.ndim != len(self.shape) + 1 or any(s > n for s, n in zip(z.shape[1:], self.shape, strict=True)):
            raise ValueError(f"patches need the shape (n, ...), no longer than the epitome {self.shape}, got {z.shape}")
        mask = None if known is None else as_mask("known", known, z.shape)
        return self._posterior(_Spectra.of(z, mask, self.shape))[1]

    def denoised(
        self,
        image: ArrayLike,
        patch_shape: Shape,
        *,
        noise_variance: float = 0.0,
        known: ArrayLike | None = None,
        stride: Shape = 1,
        threads: int | None = None,
        callback: Callable[[float], None] | None = None,
    ) -> Array:
        """Replace patches by what the epitome expects of them, and average the overlaps.

        Parameters
        ----------
        image : array_like
            Image or clip, with as many axes as the epitome.
        patch_shape : int or sequence of int
            Shape of the patches.
        noise_variance : float, default: 0.0
            Variance of the noise in the image, of which the variances of the epitome contain as much. A pixel z then
            becomes ``m + (v - noise_variance) / v * (z - m)``, for a mean m and a variance v above that of the noise.
            With 0, a pixel becomes the mean m: the reconstruction of the image by its epitome.
        known : array_like of bool, optional
            Known pixels, of the shape of the image. The others are completed by means.
        stride : int or sequence of int, default: 1
            Steps between neighbouring patches.
        threads : int, optional
            Number of threads. It changes no bit of the result.
        callback : callable, optional
            Called with the fraction of the work that is done.

        Returns
        -------
        ndarray
            Image of the shape of `image`, float64.
        """
        pixels, mask = _checked(image, known, self.shape)
        patch = _fitting(patch_shape, self.shape)
        patches = Patches(pixels, patch, stride=stride, centred=False)
        seen = None if mask is None else Patches(mask.astype(np.float64), patch, stride=stride, centred=False)
        positive("noise_variance", noise_variance, zero=True)
        spread = self.variance - noise_variance if noise_variance > 0 else np.zeros_like(self.variance)
        share = np.maximum(spread, 0.0) / self.variance
        parts = (self._spectrum((1 - share) * self.mean), self._spectrum(share), self._spectrum(self.mean))

        def work(piece: tuple[int, int], stop: blocks.Stop) -> Floats:
            z = np.asarray(patches.rows(*piece)[0].reshape(-1, *patch), np.float64)
            k = None if seen is None else seen.rows(*piece)[0].reshape(-1, *patch) > 0
            q = self._posterior(_Spectra.of(z, k, self.shape))[0]
            places = np.conj(scipy.fft.rfftn(q, axes=_axes(self.shape)))
            inside = (slice(None), *(slice(0, width) for width in patch))
            level, slope = (_back(places * part, self.shape)[inside] for part in parts[:2])
            estimate = level + slope * z
            if k is not None:
                estimate = np.where(k, estimate, _back(places * parts[2], self.shape)[inside])
            return estimate.reshape(len(z), -1)

        image_of, first = Aggregator(patches), 0
        pieces = blocks.split(len(patches), _rows_at_once(self.shape))
        for group in blocks.split(len(pieces), 4 * blocks.n_threads(threads)):
            for rows in blocks.run(work, pieces[slice(*group)], threads=threads):
                image_of.add(first, rows)
                first += len(rows)
            if callback is not None:
                callback(first / len(patches))
        return image_of.mean()

    @cached_property
    def _terms(self) -> tuple[Floats, Floats, Floats]:
        """Spectra of what 1, z and z^2 are multiplied by in the log-likelihood of a position."""
        even = -0.5 * (self.mean**2 / self.variance + np.log(2 * np.pi * self.variance))
        return self._spectrum(even), self._spectrum(self.mean / self.variance), self._spectrum(-0.5 / self.variance)

    def _spectrum(self, values: Floats) -> Floats:
        return np.asarray(scipy.fft.rfftn(values))

    def _posterior(self, spectra: _Spectra) -> tuple[Floats, Floats]:
        """The probability of each position `(n, ...)` for each patch, and the log-likelihood of each patch."""
        one, z, squares = (np.conj(each) * term for each, term in zip(spectra.all, self._terms, strict=True))
        log_p = _back(one + z + squares, self.shape)
        axes = _axes(self.shape)
        top = log_p.max(axis=axes, keepdims=True)
        q = np.exp(log_p - top)
        total = q.sum(axis=axes, keepdims=True)
        q /= total
        return q, (top + np.log(total)).reshape(-1) - math.log(self.mean.size)


@dataclass(frozen=True, eq=False)
class _Spectra:
    """Spectra of patches, their known pixels and squares, on the grid of the epitome."""

    known: Floats
    values: Floats
    squares: Floats

    @classmethod
    def of(cls, z: Floats, known: NDArray[np.bool_] | None, shape: tuple[int, ...]) -> _Spectra:
        mask = np.ones((1, *z.shape[1:])) if known is None else known.astype(np.float64)
        values = z if known is None else np.where(known, z, 0.0)
        return cls(*(scipy.fft.rfftn(each, s=shape, axes=_axes(shape)) for each in (mask, values, values**2)))

    @property
    def all(self) -> tuple[Floats, Floats, Floats]:
        return self.known, self.values, self.squares


@dataclass(frozen=True, eq=False)
class DensityFit:
    """A learned probabilistic epitome.

    Parameters
    ----------
    density : Density
        The epitome.
    log_likelihoods : tuple of float
        Mean log-likelihood of the patches before each step, one tuple for all patch shapes. For one patch shape it
        never decreases.
    patch_shapes : tuple of tuple of int
        Patch shape of each step.

    See Also
    --------
    learn_density : Make one.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.baselines import learn_density
    >>> image = np.random.default_rng(0).standard_normal((24, 24)).cumsum(axis=0)
    >>> fit = learn_density(image, (12, 12), [(6, 6)], n_steps=3, most_patches=50)
    >>> fit.log_likelihoods[0] < fit.log_likelihoods[1] < fit.log_likelihoods[2]
    True
    """

    density: Density
    log_likelihoods: tuple[float, ...]
    patch_shapes: tuple[tuple[int, ...], ...]


def learn_density(
    image: ArrayLike,
    shape: Shape,
    patch_shapes: Sequence[Shape],
    *,
    n_steps: int = 10,
    most_patches: int = 2000,
    least_variance: float | None = None,
    known: ArrayLike | None = None,
    start: Density | None = None,
    rng: RNG = 0,
    threads: int | None = None,
    callback: Callable[[float], None] | None = None,
) -> DensityFit:
    """Learn a probabilistic epitome from an image, volume or clip by expectation maximisation.

    Parameters
    ----------
    image : array_like
        Image of any number of axes.
    shape : int or sequence of int
        Shape of the epitome, with as many axes.
    patch_shapes : sequence of shapes
        Shapes of patches, one after another; large ones first find the layout, small ones the detail.
    n_steps : int, default: 10
        Steps for each patch shape.
    most_patches : int, default: 2000
        Number of patches of each shape, drawn at random.
    least_variance : float, optional
        Least variance of a pixel, such as that of the noise. Default: a thousandth of that of the image.
    known : array_like of bool, optional
        Known pixels, of the shape of the image.
    start : Density, optional
        Epitome to start from. Default: smoothed noise with the mean and variance of the image.
    rng : numpy.random.Generator, int or None, optional
        Random number generator or seed.
    threads : int, optional
        Number of threads. It changes no bit of the result.
    callback : callable, optional
        Called with the fraction of the work that is done.

    Returns
    -------
    DensityFit
        The epitome and the log-likelihoods.

    Raises
    ------
    ValueError
        If shapes do not fit each other.

    See Also
    --------
    Density.denoised : Use it.

    Notes
    -----
    With ``q_k(T)`` the probability that patch k comes from position T, the mean and variance of pixel j become those of
    all patch pixels that land on j, weighted by q [1]_. Unknown pixels are left out of all sums, which is how a video
    epitome completes a clip [2]_. There, overlapping patches must also agree with each other; here each patch is
    explained by itself.

    References
    ----------
    .. [1] N. Jojic, B. Frey, A. Kannan, "Epitomic analysis of appearance and shape", ICCV 2003.
    .. [2] V. Cheung, B. Frey, N. Jojic, "Video epitomes", CVPR 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.baselines import learn_density
    >>> clip = np.random.default_rng(0).standard_normal((6, 16, 16)).cumsum(axis=1)
    >>> learn_density(clip, (4, 8, 8), [(2, 4, 4)], n_steps=2, most_patches=50).density.shape
    (4, 8, 8)
    """
    lengths = as_shape("shape", shape, ndim=np.ndim(image) or None)
    pixels, mask = _checked(image, known, lengths)
    kinds = [_fitting(each, lengths) for each in patch_shapes]
    if not kinds:
        raise ValueError("patch_shapes needs at least one shape of patches, got none")
    whole("n_steps", n_steps, least=1)
    whole("most_patches", most_patches, least=1)
    seed = as_seed(rng)
    inside = pixels if mask is None else pixels[mask]
    mean, variance = float(inside.mean()), max(float(inside.var()), np.finfo(np.float64).tiny)
    floor = SPREAD * variance if least_variance is None else positive("least_variance", least_variance)
    density = _start(lengths, mean, variance, floor, seed) if start is None else start
    if density.shape != lengths:
        raise ValueError(f"start needs the shape {lengths} of the epitome, got {density.shape}")
    random, told, seen = np.random.default_rng([seed, 2]), [], []
    for number, patch in enumerate(kinds):
        z, k = _sample(pixels, mask, patch, most_patches, random)
        for step in range(n_steps):
            density, value = _improved(density, z, k, floor, threads)
            told.append(value)
            seen.append(patch)
            if callback is not None:
                callback((number * n_steps + step + 1) / (len(kinds) * n_steps))
    return DensityFit(density, tuple(told), tuple(seen))


def _improved(
    density: Density, z: Floats, known: NDArray[np.bool_] | None, floor: float, threads: int | None
) -> tuple[Density, float]:
    """One step of expectation maximisation, and the mean log-likelihood before it."""
    shape = density.shape

    def work(piece: tuple[int, int], stop: blocks.Stop) -> Sums:
        spectra = _Spectra.of(z[slice(*piece)], None if known is None else known[slice(*piece)], shape)
        q, values = density._posterior(spectra)
        places = scipy.fft.rfftn(q, axes=_axes(shape))
        sums = [(places * each).sum(axis=0) for each in spectra.all]
        return sums[0], sums[1], sums[2], float(values.sum())

    totals: list[Floats] = [np.zeros(1), np.zeros(1), np.zeros(1)]
    value = 0.0
    for found in blocks.run(work, blocks.split(len(z), _rows_at_once(shape)), threads=threads):
        totals = [total + part for total, part in zip(totals, found[:3], strict=True)]  # in the order of the patches
        value += found[3]
    counts, sums, squares = (np.asarray(scipy.fft.irfftn(total, s=shape)) for total in totals)
    seen = counts > 1e-9 * len(z)  # rounding errors of the FFT are no patches
    safe = np.where(seen, counts, 1.0)
    mean = np.where(seen, sums / safe, density.mean)
    variance = np.where(seen, np.maximum(squares / safe - mean**2, floor), density.variance)
    return Density(mean, variance), value / len(z)


def _start(shape: tuple[int, ...], mean: float, variance: float, floor: float, seed: int) -> Density:
    rough = smooth_noise(windows(shape, (1,) * len(shape)), rng=seed).pixels
    return Density(
        np.asarray(mean + math.sqrt(variance) * rough, np.float64), np.full(shape, max(SHARPENED * variance, floor))
    )


def _sample(
    pixels: Floats, mask: NDArray[np.bool_] | None, patch: tuple[int, ...], most: int, random: np.random.Generator
) -> tuple[Floats, NDArray[np.bool_] | None]:
    """Patches drawn at random, and which of their pixels are known; patches without any are left out."""
    patches = Patches(pixels, patch, centred=False)
    chosen = np.sort(random.permutation(len(patches))[:most])
    z = np.asarray(patches.at_index(chosen)[0].reshape(-1, *patch), np.float64)
    if mask is None:
        return z, None
    known = Patches(mask.astype(np.float64), patch, centred=False).at_index(chosen)[0].reshape(-1, *patch) > 0
    used = known.reshape(len(known), -1).any(axis=1)
    if not used.any():
        raise ValueError(f"no patch of shape {patch} has a known pixel: use larger patches or more known pixels")
    return z[used], known[used]


def _checked(
    image: ArrayLike, known: ArrayLike | None, shape: tuple[int, ...]
) -> tuple[Floats, NDArray[np.bool_] | None]:
    """The pixels, with zeros where they are unknown, and the mask of known ones."""
    given = np.asarray(image)
    mask = None if known is None else as_mask("known", known, given.shape)
    filled = given if mask is None else np.where(mask, given, 0)
    pixels = as_floats("image", filled, ndim=len(shape), dtype=np.float64)
    if mask is not None and not mask.any():
        raise ValueError("known is False everywhere: at least one pixel must be known")
    return np.asarray(pixels, np.float64), mask


def _fitting(patch_shape: Shape, shape: tuple[int, ...]) -> tuple[int, ...]:
    patch = as_shape("patch shape", patch_shape, ndim=len(shape))
    if any(s > n for s, n in zip(patch, shape, strict=True)):
        raise ValueError(f"patches of shape {patch} do not fit in an epitome of shape {shape}: enlarge the epitome")
    return patch


def _axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(range(1, len(shape) + 1))


def _back(spectrum: Floats, shape: tuple[int, ...]) -> Floats:
    return np.asarray(scipy.fft.irfftn(spectrum, s=shape, axes=_axes(shape)))


def _rows_at_once(shape: tuple[int, ...]) -> int:
    """Patches in a block. It depends on the epitome alone: sums must not depend on the threads."""
    return max(1, AT_ONCE // math.prod(shape))
