"""The audit of noise models: it warns if the model is wrong, passes if it is right, and stands for its intervals.

Forty cases each, on pictures of scikit-image, 256 x 256, three textures among them. Wrong models: correlated noise
taken as white, Poisson noise taken as Gaussian, half and twice the level, salt and pepper. An interval of the PSNR is
shown as a report shows it: for white noise of one level, if nothing speaks against the model. The limits were chosen on
photographs of the Berkeley set, and three of them corrected on these pictures: `--images` judges them on others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from benchmarks.audit import PEAK, Share, from_skimage, own_seed, share
from benchmarks.options import Options
from benchmarks.pictures import Picture, from_folder, middle
from epitomes.noise import Noise
from epitomes.restoration import denoise
from epitomes.validation import audit, error_map, psnr

Image = NDArray[np.float32]
Case = tuple[NDArray[np.float64], Noise]  # a noisy picture, and the model that the denoiser and the audit are told
Maker = Callable[[Image, np.random.Generator], Case]

PICTURES = ("camera", "coins", "brick", "gravel", "grass", "astronaut", "coffee", "chelsea")
WIDTH = 256
GAIN = PEAK / 30  # counted light with 30 counts at white
PRESETS = ("fast", "balanced")


@dataclass(frozen=True, kw_only=True)
class ModelVerdict:
    """What the audit said of a result whose noise model is known to be right or wrong."""

    model: str  # "right" or "wrong"
    noise: str
    image: str
    preset: str
    seed: int
    verdict: str
    right: bool  # the verdict
    reasons: str  # their kinds
    psnr: float  # true, in dB
    low: float | None  # end of the 90 % interval of the PSNR; None: not shown, or without an end
    high: float | None
    shown: bool
    honest: bool  # the true PSNR lies in the interval, or none is shown


Row = ModelVerdict | Share


def run(options: Options) -> Iterator[Row]:
    found = []
    for seed in range(options.seeds):
        for number, picture in enumerate(pictures(options)):
            for kind, makers in (("right", RIGHT), ("wrong", WRONG)):
                for place, (name, make) in enumerate(makers.items()):
                    preset = PRESETS[(number + place) % 2]
                    found.append(judged(picture, kind, name, make, preset, seed, options))
                    yield found[-1]
    for kind, words in (("wrong", "warns"), ("right", "passes")):
        yield share(f"{kind} model: {words}", [row.right for row in found if row.model == kind], 0.95)
    yield share("PSNR in its 90 % interval, if shown", [row.honest for row in found if row.shown], 0.85)
    yield share("PSNR in its 90 % interval, or none shown", [row.honest for row in found], 0.85)


def pictures(options: Options) -> list[Picture]:
    found = from_skimage(PICTURES) if options.images is None else from_folder(options.images)
    return [replace(each, pixels=middle(each.pixels, WIDTH)) for each in (found[:1] if options.quick else found)]


def judged(
    picture: Picture, kind: str, name: str, make: Maker, preset: str, seed: int, options: Options
) -> ModelVerdict:
    values, noise = make(picture.pixels, np.random.default_rng(own_seed(picture.name, kind, name, seed)))
    noisy = values.astype(np.float32)

    def method(image: NDArray[np.floating]) -> NDArray[np.floating]:
        return denoise(image, noise=noise, preset=preset, threads=options.threads)

    restored = method(noisy)
    found = audit(noisy, restored, noise)
    true = psnr(picture.pixels, restored, peak=PEAK)
    shown = noise.is_constant and found.model_fits
    low, high = error_map(noisy, restored, noise, method, peak=PEAK).sure.interval if shown else (-math.inf, math.inf)
    return ModelVerdict(
        model=kind,
        noise=name,
        image=picture.name,
        preset=preset,
        seed=seed,
        verdict=found.verdict,
        right=(found.verdict == "pass") == (kind == "right"),
        reasons=", ".join(found.reason_kinds),
        psnr=true,
        low=low if math.isfinite(low) else None,
        high=high if math.isfinite(high) else None,
        shown=shown,
        honest=low <= true <= high,
    )


def white(sigma: float, told: float) -> Maker:
    return lambda clean, rng: (clean + sigma * rng.standard_normal(clean.shape), Noise.gaussian(told))


def poisson(clean: Image, rng: np.random.Generator) -> Case:
    return GAIN * rng.poisson(clean / GAIN), Noise.poisson_gaussian(GAIN)


def poisson_as_gaussian(clean: Image, rng: np.random.Generator) -> Case:
    return poisson(clean, rng)[0], Noise.gaussian(math.sqrt(GAIN * float(clean.mean())))


def correlated_as_white(clean: Image, rng: np.random.Generator) -> Case:
    noise = gaussian_filter(rng.standard_normal(clean.shape), 0.7, mode="wrap")
    return clean + 20.0 * noise / noise.std(), Noise.gaussian(20.0)


def salt_and_pepper(clean: Image, rng: np.random.Generator) -> Case:
    """3 % of the pixels, besides Gaussian noise, which is all that the model knows."""
    noisy = np.clip(clean + 15.0 * rng.standard_normal(clean.shape), 0, PEAK)
    draw = rng.random(clean.shape)
    return np.where(draw < 0.015, 0.0, np.where(draw < 0.03, PEAK, noisy)), Noise.gaussian(15.0)


RIGHT: dict[str, Maker] = {
    **{f"white {sigma:g}": white(sigma, sigma) for sigma in (5.0, 15.0, 25.0, 50.0)},
    "Poisson": poisson,
}
WRONG: dict[str, Maker] = {
    "correlated as white": correlated_as_white,
    "Poisson as Gaussian": poisson_as_gaussian,
    "half the level": white(20.0, 10.0),
    "twice the level": white(20.0, 40.0),
    "salt and pepper": salt_and_pepper,
}
