"""Data for the tests of the report: small images, with everything that a report can show."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from epitomes.learn import Fit, Progress, start
from epitomes.phi import windows
from epitomes.reports import ReportData

SIGMA = 20.0
NASTY = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'> & \"y\" <!--"


@dataclass(frozen=True)
class Noise:
    sigma: float = 20.3
    low: float = 19.5
    high: float = 21.0
    doubts: tuple[str, ...] = ()
    estimated: bool = True
    words: str = "Gaussian, sigma 20.3 (90 % interval 19.5 to 21)"

    def describe(self) -> str:
        return self.words

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Audit:
    leak_map: np.ndarray
    reasons: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        return "warn" if self.reasons else "pass"

    def as_dict(self) -> dict[str, Any]:
        return {"reasons": list(self.reasons), "variance": 0.97, "spectrum": [1.0, 0.9]}


@dataclass(frozen=True)
class Risk:
    psnr: float = 29.5
    interval: tuple[float, float] = (29.1, float("inf"))
    peak: float = 255.0

    @property
    def reference(self) -> str:
        return f"for the range 0 to {self.peak:g}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


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


def report_data(
    rng: np.random.Generator, shape: tuple[int, ...] = (72, 96), dtype: str = "float32", **changes: Any
) -> ReportData:
    """Data with everything; three epitomes of 12 x 12 pixels with windows of 6 x 6."""
    noisy, image = images(rng, shape)
    if np.dtype(dtype).kind == "u":
        noisy, image = np.clip(noisy, 0, 255), np.clip(image, 0, 255)
    colour = shape[2:]
    epitome = start.smooth_noise(windows((3, 12, 12, *colour), (6, 6, *colour)), rng=1)
    history = tuple(Progress(i, 0, 100.0 / i, 2.0, 0, 0.1) for i in range(1, 8))
    values = {
        "noisy": noisy.astype(dtype),
        "restored": image.astype(dtype),
        "sigma": SIGMA,
        "noise": Noise(),
        "name": "board.png",
        "command": "epitomes denoise board.png -o clean.png --report out.html",
        "audit": Audit(np.abs(rng.standard_normal(shape[:2]))),
        "sure": Risk(),
        "error": Errors(np.abs(rng.standard_normal(shape))),
        "epitome": epitome,
        "fit": Fit(epitome, history, "7 steps done"),
        "atoms_per_patch": 2.5,
        "seconds": {"learning": 1.0, "coding": 0.25},
        "settings": {"method": "paper", "seed": 0, "several": True},
        "plan": ("the image is small",),
    }
    return ReportData(**{**values, **changes})
