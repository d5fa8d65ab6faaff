"""One row for each image and method. Results for 8-bit images are judged as files would hold them: rounded, clipped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from benchmarks import timing
from benchmarks.real_noise.pairs import Image, Pair
from epitomes import Noise, restore
from epitomes.validation import psnr

OURS = "ours"  # blind
FALLEN = 0.1  # dB below the best: larger multiples are not tried
HIGHEST = 99.0  # dB, for equal images: JSON has no infinity


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One method on one noisy image."""

    noise: str  # the case
    image: str
    method: str
    seed: int | None  # of made noise
    rms: float  # of the noise
    noisy_psnr: float | None  # None without noise
    psnr: float
    gain: float | None  # their difference
    seconds: float  # of one run; of processor time for one thread
    decided: str | None = None  # the noise model that was used, in words
    unchanged: bool | None = None  # whether we refused and returned the input
    multiple: float | None = None  # of the true rms, the best of those tried
    tried: dict[str, float] | None = None  # PSNR by multiple


@dataclass(frozen=True, eq=False)
class Task:
    """A pair to be measured, within a case."""

    case: str
    pair: Pair
    threads: int
    seed: int | None = None

    def judge(self, method: str, run: Callable[[], Image]) -> Measured:
        """Run a method and compare its result with the truth."""
        return self._row(method, *timing.once(run, timing.clock_name(self.threads)))

    def ours(self, method: str = OURS, noise: Callable[[], Noise] | None = None) -> Measured:
        """Judge `epitomes.restore`, blind or with a noise model. The time covers the making of the model."""
        restored, seconds = timing.once(
            lambda: restore(
                self.pair.noisy,
                noise=None if noise is None else noise(),
                channel_axis=self.pair.channel_axis,
                threads=self.threads,
            ),
            timing.clock_name(self.threads),
        )
        row = self._row(method, restored.image, seconds)
        return replace(row, decided=restored.noise.describe(), unchanged=restored.unchanged)

    def best_multiple(self, method: str, run: Callable[[float], Image], multiples: Sequence[float]) -> Measured:
        """Judge a method that needs one sigma: the multiple of the true rms that is best for this image.

        The multiples increase. They are tried until the result has become clearly worse.
        """
        rows: dict[float, Measured] = {}
        for multiple in multiples:
            rows[multiple] = self.judge(method, partial(run, multiple * self.pair.rms))
            if rows[multiple].psnr < max(row.psnr for row in rows.values()) - FALLEN:
                break
        best = max(rows, key=lambda multiple: rows[multiple].psnr)
        return replace(rows[best], multiple=best, tried={f"{each:g}": row.psnr for each, row in rows.items()})

    def _row(self, method: str, image: Image, seconds: float) -> Measured:
        pair = self.pair
        if pair.noisy.dtype == np.uint8:
            image = np.clip(np.rint(image), 0, 255)
        found = min(psnr(pair.clean, image), HIGHEST)
        before = psnr(pair.clean, pair.noisy) if pair.rms > 0 else None
        return Measured(
            noise=self.case,
            image=pair.name,
            method=method,
            seed=self.seed,
            rms=pair.rms,
            noisy_psnr=before,
            psnr=found,
            gain=None if before is None else found - before,
            seconds=seconds,
        )
