"""Star fields: CCD frames with known stars, sky, hot pixels and overscan, denoised blind. Are their fluxes kept?

Fluxes are sums over an aperture above the median of a ring around it, of the denoised frame and of the true one.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks import timing
from benchmarks.options import Options
from benchmarks.record import Claim
from epitomes import restore

Floats = NDArray[np.float64]
WIDTHS = (2.0, 2.6, 3.5)  # pixels: full width of a star at half its height
BRIGHT = 10.0  # standard errors of the flux of stars that count
BAR = 0.01  # bias of their mean flux
LOST = 0.5  # of its flux: a star with less is lost
APERTURE, RING = 6.0, (8.0, 11.0)  # radii in pixels
CLEAR = 12.0  # pixels between a star that counts and the next hot pixel


@dataclass(frozen=True, eq=False)
class Field:
    """A frame and the truth about it."""

    frame: NDArray[np.uint16]
    clean: Floats
    place: Floats  # (stars, 2): row and column
    significance: Floats  # flux of each star over its standard error
    clear: NDArray[np.bool_]  # stars without hot pixels nearby


@dataclass(frozen=True, kw_only=True)
class Photometry:
    """The fluxes of one field."""

    noise: str
    image: str
    stars: int  # that count
    bias: float  # mean ratio of fluxes to the true ones, minus 1
    scatter: float  # standard deviation of these ratios
    noisy_bias: float
    noisy_scatter: float
    lost: int
    decided: str
    notes: str
    seconds: float


def run(options: Options) -> Iterator[Photometry | Claim]:
    """Yield the fluxes of each field, then whether they are kept."""
    biases, lost = [], 0
    for width in WIDTHS[:1] if options.quick else WIDTHS:
        rows = []
        for seed in range(options.seeds):
            rows.append(measure(star_field(seed, width=width), width, seed, options.threads))
            yield rows[-1]
        biases.append(statistics.fmean(row.bias for row in rows))
        lost += sum(row.lost for row in rows)
    worst = max(map(abs, biases))
    yield Claim(
        claim=f"fluxes of stars above {BRIGHT:g} sigma are kept",
        image="worst width",
        value=worst,
        against=BAR,
        holds=worst <= BAR and not lost,
        note="bias of the mean flux; and no star is lost",
    )


def measure(field: Field, width: float, seed: int, threads: int) -> Photometry:
    """Denoise a field blind, and compare its fluxes."""
    restored, seconds = timing.once(lambda: restore(field.frame, threads=threads), timing.clock_name(threads))
    bright = field.significance > BRIGHT
    truth, before, after = (fluxes(image, field.place)[bright] for image in (field.clean, field.frame, restored.image))
    ratio, noisy, clear = after / truth, before / truth, field.clear[bright]
    return Photometry(
        noise="star field",
        image=f"{width:g} pixels wide, seed {seed}",
        stars=int(clear.sum()),
        bias=float(ratio[clear].mean() - 1),
        scatter=float(ratio[clear].std()),
        noisy_bias=float(noisy[clear].mean() - 1),
        noisy_scatter=float(noisy[clear].std()),
        lost=int((ratio < LOST).sum()),
        decided=restored.noise.describe(),
        notes="; ".join(restored.notes),
        seconds=seconds,
    )


def star_field(
    seed: int,
    *,
    width: float,
    side: int = 256,
    stars: int = 50,
    sky: float = 120.0,
    read_noise: float = 6.0,
    gain: float = 0.5,
    bias: float = 1000.0,
    overscan: int = 24,
    hot: float = 3e-4,
) -> Field:
    """Simulate a frame; light and read noise are in electrons, of which each is `gain` in the frame."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:side, 0:side]
    place = _apart(rng, stars, side)
    sigma = width / math.sqrt(8 * math.log(2))
    flux = 10 ** rng.uniform(2.4, 5.0, stars)
    light = np.full((side, side), sky)
    for (y, x), total in zip(place, flux, strict=True):
        light += total / (2 * math.pi * sigma**2) * np.exp(-((rows - y) ** 2 + (columns - x) ** 2) / (2 * sigma**2))
    counts = rng.poisson(light) + read_noise * rng.standard_normal(light.shape)
    is_hot = rng.random(light.shape) < hot
    counts[is_hot] += rng.uniform(4e3, 4e4, int(is_hot.sum()))
    dark = read_noise * rng.standard_normal((side, overscan))
    frame = np.rint(bias + gain * np.concatenate([counts, dark], axis=1)).astype(np.uint16)
    clean = bias + gain * np.concatenate([light, np.zeros_like(dark)], axis=1)
    error = np.sqrt(flux + math.pi * APERTURE**2 * (sky + read_noise**2))
    distance = np.hypot(*(place[:, :, None] - np.stack(np.nonzero(is_hot))).swapaxes(0, 1))
    return Field(frame, clean, place, flux / error, distance.min(axis=1, initial=math.inf) > CLEAR)


def fluxes(image: NDArray[np.generic], place: Floats) -> Floats:
    """Sum the light of every star above the background around it."""
    rows, columns = np.indices(image.shape)
    pixels = image.astype(np.float64)
    found = []
    for y, x in place:
        distance = np.hypot(rows - y, columns - x)
        ring = (distance > RING[0]) & (distance < RING[1])
        found.append((pixels[distance < APERTURE] - np.median(pixels[ring])).sum())
    return np.array(found)


def _apart(rng: np.random.Generator, n: int, side: int) -> Floats:
    """Draw places that are at least two rings apart."""
    places: list[Floats] = []
    while len(places) < n:
        place = rng.uniform(RING[1] + 3, side - RING[1] - 3, 2)
        if all(np.hypot(*(place - other)) > 2 * RING[1] for other in places):
            places.append(place)
    return np.array(places)
