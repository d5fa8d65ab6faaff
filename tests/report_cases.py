"""Stories for the tests of the report: small images, with all that a report can tell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from epitomes.epitome import Epitome
from epitomes.learn import Fit, Progress, start
from epitomes.phi import windows
from epitomes.reports import Story
from epitomes.restoration import Restored

SIGMA = 20.0
NASTY = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'> & \"y\" <!--"


@dataclass(frozen=True)
class Noise:
    sigma: float = 20.3
    low: float = 19.5
    high: float = 21.0
    reliable: bool = True
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Verdict:
    leak_map: np.ndarray
    verdict: str = "pass"
    reasons: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {"verdict": self.verdict, "reasons": list(self.reasons), "variance": 0.97, "spectrum": [1.0, 0.9]}


@dataclass(frozen=True)
class Risk:
    psnr: float = 29.5
    interval: tuple[float, float] = (29.1, float("inf"))

    def as_dict(self) -> dict[str, Any]:
        return {"psnr": self.psnr, "interval": [29.1, None]}


@dataclass(frozen=True, eq=False)
class Errors:
    std: np.ndarray

    def as_dict(self) -> dict[str, Any]:
        return {"level": 0.9, "std_mean": float(self.std.mean())}


def images(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """A noisy image of edges and flat areas, from 0 to 255, and a smoothed one."""
    y, x = np.indices(shape[:2])
    clean = 60.0 + 120.0 * ((y // 12 + x // 16) % 2) + 40.0 * (y > x)
    clean = clean if len(shape) == 2 else np.stack([clean, 255 - clean, clean / 2], axis=-1)
    noisy = clean + SIGMA * rng.standard_normal(shape)
    return noisy, gaussian_filter(noisy, (1.0, 1.0, 0.0)[: len(shape)])


def story(rng: np.random.Generator, shape: tuple[int, ...] = (72, 96), dtype: str = "float32", **changes: Any) -> Story:
    """A full story; three epitomes of 12 x 12 pixels with windows of 6 x 6."""
    noisy, image = images(rng, shape)
    if np.dtype(dtype).kind == "u":
        noisy, image = np.clip(noisy, 0, 255), np.clip(image, 0, 255)
    colour = shape[2:]
    epitome = start.smooth_noise(windows((3, 12, 12, *colour), (6, 6, *colour)), rng=1)
    history = tuple(Progress(i, 0, 100.0 / i, 2.0, 0, 0.1) for i in range(1, 8))
    told = {
        "noisy": noisy.astype(dtype),
        "restored": Restored(image.astype(dtype), epitome, Fit(epitome, history, "7 steps done"), 2.5, 1.25),
        "sigma": SIGMA,
        "name": "board.png",
        "command": "epitomes denoise board.png -o clean.png --report out.html",
        "noise": Noise(),
        "audit": Verdict(np.abs(rng.standard_normal(shape[:2]))),
        "sure": Risk(),
        "error": Errors(np.abs(rng.standard_normal(shape))),
        "seconds": {"learning": 1.0, "coding": 0.25},
        "settings": {"seed": 0, "several": True},
    }
    return Story(**{**told, **changes})


def without_epitome(found: Restored) -> Restored:
    """As of a file of which nobody knows how it was made."""
    nothing: Any = None
    return Restored(found.image, nothing, None, math.nan, math.nan)


def bare(epitome: Epitome, noisy: np.ndarray) -> Story:
    """Only what is needed."""
    return Story(noisy=noisy, restored=Restored(noisy * 0.9, epitome, None, 1.0, 0.5), sigma=SIGMA)
