"""The paper's method for noise beyond its Table 1: three scales, and a second look at every patch.

Where noise drowns a patch, its code is little more than its mean, and the mean is noisy, too. Still every patch is
coded by itself, but what is known of it comes from more than its pixels:

* the image of half the size, in which the noise is half as strong, gives the low frequencies (`looked`);
* the estimate so far says which atoms a patch needs and how large their coefficients are. With these as standard
  deviations of a normal law, the noisy patch has one best estimate, a Wiener filter over atoms (`second_look`);
* the epitome learns from the estimate instead of the noise, or from something in between (`material`);
* a share of what the estimate left out is given back and coded again (`given_back`).

`docs/denoising.md` has the figures.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import fft

from epitomes.checks import Array
from epitomes.coders import OLS, Codes
from epitomes.epitome import Epitome
from epitomes.restoration.coded import averaged, coded, patches_of
from epitomes.restoration.recipe import contrast

STRONG = 0.75  # contrast over sigma; the images of Table 1 have more than 0.9 at its strongest noise
SCALES = 3
ROOM = 4  # patches along an axis, below which it is not halved
COARSE_GAIN = 0.975  # times that of the finest scale: what a coarse scale loses, all finer ones miss
PILOT, RESULT = 0.7, 0.4  # frequencies of the coarse image that are taken over, of those it has
CLOSE = 0.12  # error, over sigma, up to which the pilot is coded
LEAST_NOISE = 0.2  # share of the noise in what the epitome learns from
LEARNED = 1.5  # times clearness: the share of the learned epitome
BACK, BACK_CLEAR = 0.3, 0.5  # share given back where noise drowns the image, and how much more where it is clear
SLICE = 1024  # patches whose atoms are in memory at once


def is_strong(noisy: Array, sigma: float) -> bool:
    """Whether the noise is stronger than in Table 1, relative to the contrast of the image."""
    return contrast(noisy, sigma) < STRONG * sigma


def looked(
    noisy: Array, sigma: float, epitome: Epitome, gain: float, threads: int | None, scales: int = SCALES
) -> Array:
    """An estimate from patches of all scales, each looked at twice."""
    pilot = coded(noisy, sigma, epitome, gain, 0.0, threads)[0]
    small = halved(noisy, epitome.phi.patch_shape)
    if scales == 1 or small.shape == noisy.shape:
        return second_look(noisy, pilot, sigma, epitome, threads)
    fainter = sigma * math.sqrt(small.size / noisy.size)
    coarse_gain = gain * (COARSE_GAIN if scales == SCALES else 1.0)
    coarse = looked(small, fainter, epitome, coarse_gain, threads, scales - 1)
    pilot = joined(pilot, coarse, PILOT)
    return joined(second_look(noisy, pilot, sigma, epitome, threads), coarse, RESULT)


def second_look(noisy: Array, pilot: Array, sigma: float, epitome: Epitome, threads: int | None) -> Array:
    """Patches of the noisy image estimated with the atoms of the pilot's.

    With B the atoms of a patch times their coefficients in the pilot, the estimate of x is `w B` for the w that
    minimises `|x - w B|^2 + sigma^2 |w|^2`: coefficients the pilot has found large are believed more.
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
    return averaged(patches, guide, coder, dictionary, estimate, 0.0, threads)[0]


def _filtered(rows: Array, B: Array, sigma: float) -> Array:
    """`w B` for rows `(b, m)` and B `(b, k, m)`."""
    gram = np.einsum("ijm,ikm->ijk", B, B) + sigma**2 * np.eye(B.shape[1])
    w = np.linalg.solve(gram, np.einsum("ijm,im->ij", B, rows)[..., None])[..., 0]
    return np.asarray(np.einsum("ij,ijm->im", w, B), rows.dtype)


def material(noisy: Array, first: Array, sigma: float) -> tuple[Array, float]:
    """What the epitome learns from, and the share of the noise in it: all of it where the image stands out far."""
    share = max(LEAST_NOISE, clearness(noisy, sigma))
    return mixed(first, noisy, share), share


def both(noisy: Array, first: Array, learned: Array, sigma: float) -> Array:
    """The estimates with the start and with the learned epitome: the clearer the image, the more of the learned one."""
    return mixed(first, learned, min(1.0, LEARNED * clearness(noisy, sigma)))


def given_back(
    noisy: Array, clean: Array, sigma: float, epitome: Epitome, gain: float, blend: float, threads: int | None
) -> tuple[Array, float]:
    """The mean of an estimate and of what is coded when a share of the rest is added to it; and the atoms per patch.

    `blend` as for `denoise`: the weight of a noisy pixel beside as many estimates as a patch has pixels.
    """
    share = BACK + BACK_CLEAR * clearness(noisy, sigma)
    again, nonzeros = coded(mixed(clean, noisy, share), share * sigma, epitome, gain, 0.0, threads)
    size = patches_of(noisy, epitome).patch_size
    return mixed(mixed(clean, again, 0.5), noisy, blend / (size + blend)), nonzeros


def mixed(first: Array, second: Array, share: float) -> Array:
    """The first image with a share of the second."""
    return np.asarray(first + first.dtype.type(share) * (second - first), first.dtype)


def clearness(noisy: Array, sigma: float) -> float:
    """From 0, where noise drowns the image, to 1, where there is none."""
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
