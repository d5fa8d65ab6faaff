"""The paper's method for noise stronger than in its Table 1: three scales and an empirical Wiener filter.

Where noise drowns a patch, its code is little more than its mean, and the mean is noisy, too. Each patch is still coded
by itself, but with information from beyond its own pixels:

* the image at half size, in which the noise is half as strong, gives the low frequencies (`multiscale_estimate`);
* the estimate so far tells which atoms a patch needs and how large their coefficients are. With these as standard
  deviations of a normal law, the noisy patch has one best estimate, a Wiener filter over atoms (`wiener_estimate`);
* the epitome learns from the estimate, or from a mixture of estimate and noisy image (`learning_image`);
* a share of the residual is added back and coded again (`residual_feedback`).

`docs/denoising.md` has the figures.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import fft

from epitomes.checks import Array
from epitomes.coders import OLS, Codes
from epitomes.epitome import Epitome
from epitomes.restoration.contrast import contrast
from epitomes.restoration.method import Callback, within
from epitomes.restoration.patchwise.coding import averaged, coded, patches_of

STRONG = 0.75  # contrast over sigma; the images of Table 1 have more than 0.9 at its strongest noise
SCALES = 3
ROOM = 4  # patches along an axis, below which it is not halved
COARSE_FACTOR = 0.975  # of the residual factor of the finest scale: detail lost at a coarse scale is lost for good
PILOT, RESULT = 0.7, 0.4  # frequencies of the coarse image that are taken over, of those it has
CLOSE = 0.12  # error, over sigma, up to which the pilot is coded
LEAST_NOISE = 0.2  # share of the noise in what the epitome learns from
LEARNED = 1.5  # times the signal share: the share of the learned epitome
BACK, BACK_SIGNAL = 0.3, 0.5  # share of the residual that is added back: at least, and times the signal share
FIRST, SECOND = 0.3, 0.45  # of the progress of an estimate: when the pilot and the coarse image are done
MULTISCALE = 0.75  # of the progress, before residual feedback
SLICE = 1024  # patches whose atoms are in memory at once


def is_strong(noisy: Array, sigma: float) -> bool:
    """Whether the noise is stronger than in Table 1, relative to the contrast of the image."""
    return contrast(noisy, sigma) < STRONG * sigma


def multiscale_estimate(
    noisy: Array,
    sigma: float,
    epitome: Epitome,
    factor: float,
    threads: int | None,
    callback: Callback | None = None,
    scales: int = SCALES,
) -> Array:
    """Estimate the image from patches of all scales, each coded twice."""
    pilot = coded(noisy, sigma, epitome, factor, 0.0, threads, within(callback, 0.0, FIRST))[0]
    small = halved(noisy, epitome.phi.patch_shape)
    if scales == 1 or small.shape == noisy.shape:
        return wiener_estimate(noisy, pilot, sigma, epitome, threads, within(callback, FIRST, 1.0))
    fainter = sigma * math.sqrt(small.size / noisy.size)
    coarse_factor = factor * (COARSE_FACTOR if scales == SCALES else 1.0)
    part = within(callback, FIRST, SECOND)
    coarse = multiscale_estimate(small, fainter, epitome, coarse_factor, threads, part, scales - 1)
    pilot = joined(pilot, coarse, PILOT)
    fine = wiener_estimate(noisy, pilot, sigma, epitome, threads, within(callback, SECOND, 1.0))
    return joined(fine, coarse, RESULT)


def wiener_estimate(
    noisy: Array, pilot: Array, sigma: float, epitome: Epitome, threads: int | None, callback: Callback | None = None
) -> Array:
    """Estimate noisy patches with the atoms that the pilot uses (an empirical Wiener filter).

    With B the atoms of a patch times their coefficients in the pilot, the estimate of x is `w B` for the w that
    minimises `|x - w B|^2 + sigma^2 |w|^2`: coefficients that are large in the pilot are shrunk less.
    """
    patches, guide = patches_of(noisy, epitome), patches_of(pilot, epitome)
    dictionary = epitome.dictionary.astype(patches.image.dtype)

    def estimate(rows: Array, means: Array, codes: Codes) -> Array:
        found = np.repeat(means[:, None], rows.shape[1], axis=1)
        counts = np.diff(codes.indptr)
        for count in np.unique(counts[counts > 0]):
            same = np.flatnonzero(counts == count)
            for part in np.array_split(same, -(-len(same) // SLICE)):
                at = codes.indptr[part][:, None] + np.arange(count)
                B = dictionary.atoms[codes.indices[at]] * codes.data[at][..., None]
                found[part] += _filtered(rows[part], B, sigma)
        return found

    coder = OLS(residual=patches.patch_size * (CLOSE * sigma) ** 2)
    return averaged(patches, guide, coder, dictionary, estimate, 0.0, threads, callback)[0]


def _filtered(rows: Array, B: Array, sigma: float) -> Array:
    """`w B` for rows `(b, m)` and B `(b, k, m)`."""
    gram = np.einsum("ijm,ikm->ijk", B, B) + sigma**2 * np.eye(B.shape[1])
    w = np.linalg.solve(gram, np.einsum("ijm,im->ij", B, rows)[..., None])[..., 0]
    return np.asarray(np.einsum("ij,ijm->im", w, B), rows.dtype)


def learning_image(noisy: Array, first: Array, sigma: float) -> tuple[Array, float]:
    """The image that the epitome learns from, and the share of the noise in it: more where the signal is strong."""
    share = max(LEAST_NOISE, signal_share(noisy, sigma))
    return mixed(first, noisy, share), share


def blended(noisy: Array, first: Array, learned: Array, sigma: float) -> Array:
    """Blend the estimates by the start and by the learned epitome: the stronger the signal, the more of the latter."""
    return mixed(first, learned, min(1.0, LEARNED * signal_share(noisy, sigma)))


def residual_feedback(
    noisy: Array,
    clean: Array,
    sigma: float,
    epitome: Epitome,
    factor: float,
    blend: float,
    threads: int | None,
    callback: Callback | None = None,
) -> tuple[Array, float]:
    """Average an estimate with what is coded after a share of the residual is added back; also the atoms per patch.

    `blend` is the weight of a noisy pixel beside as many estimates as a patch has pixels.
    """
    share = BACK + BACK_SIGNAL * signal_share(noisy, sigma)
    again, nonzeros = coded(mixed(clean, noisy, share), share * sigma, epitome, factor, 0.0, threads, callback)
    size = patches_of(noisy, epitome).patch_size
    return mixed(mixed(clean, again, 0.5), noisy, blend / (size + blend)), nonzeros


def mixed(first: Array, second: Array, share: float) -> Array:
    """The first image with a share of the second."""
    return np.asarray(first + first.dtype.type(share) * (second - first), first.dtype)


def signal_share(noisy: Array, sigma: float) -> float:
    """From 0, where noise drowns the image, to 1, where there is no noise."""
    ratio = contrast(noisy, sigma) / sigma
    return ratio**2 / (4 + ratio**2)


def halved(image: Array, patch: tuple[int, ...]) -> Array:
    """The image of half the size: its low frequencies. White noise stays white, with `sqrt(size / size before)`.

    Axes that are short compared with a patch, as those of channels, stay as they are.
    """
    shape = [(n + 1) // 2 if n >= ROOM * length else n for n, length in zip(image.shape, patch, strict=True)]
    low = _frequencies(image)[tuple(slice(n) for n in shape)]
    return np.asarray(fft.idctn(low * math.sqrt(low.size / image.size), norm="ortho"), image.dtype)


def joined(fine: Array, coarse: Array, share: float) -> Array:
    """The fine image with the low frequencies of the coarse one: along each halved axis, a share of those it has."""
    result, low = _frequencies(fine), _frequencies(coarse) * math.sqrt(fine.size / coarse.size)
    kept = tuple(
        slice(n if n == full else math.ceil(share * n)) for n, full in zip(low.shape, result.shape, strict=True)
    )
    result[kept] = low[kept]
    return np.asarray(fft.idctn(result, norm="ortho"), fine.dtype)


def _frequencies(image: Array) -> Array:
    return np.asarray(fft.dctn(image.astype(np.float64), norm="ortho"))
