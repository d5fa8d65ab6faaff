"""Section 4.2: reduced scales first, "to improve the results without increasing the computing time".

Learning on three scales is compared with learning at full scale only, for the same processor time and from the same
random starts: white noise, where reduced scales help, and low-passed noise, the paper's start (section 4.4), where they
do not.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.claims.common import LAM, PATCH, chosen, drawn
from benchmarks.options import Options
from benchmarks.pictures import Picture
from benchmarks.record import Claim
from epitomes import Epitome, Patches
from epitomes.coders import Lasso
from epitomes.draw import Series, png_curve
from epitomes.learn import Step, alternate, multiscale, scales, smooth_noise
from epitomes.paper.judge import objective
from epitomes.phi import windows

STEPS = (15, 10, 10)
QUICK_STEPS = (4, 3, 3)
SEEDS = 5
QUICK_SEEDS = 3
SAMPLE = 15_000  # patches for each step
STARTS = {"white noise": 0.0, "low-passed noise": 1.5}  # width of the filter


@dataclass(frozen=True, eq=False)
class Case:
    """An image, an epitome to learn from it, and a start."""

    image: NDArray[np.float32]
    shape: tuple[int, int]
    n_steps: tuple[int, ...]
    width: float
    threads: int

    def by_scales(self, seed: int) -> tuple[float, float]:
        """Learn on three scales; return the objective and the processor time."""
        plan = scales(self.shape, PATCH, lam=LAM, n_steps=self.n_steps)
        start = smooth_noise(windows(plan[0].epitome_shape, plan[0].patch_shape), rng=seed, width=self.width)
        steps = multiscale(self.image, start, scales=plan, sample=SAMPLE, rng=seed, threads=self.threads)
        learned, seconds = within(steps, float("inf"))
        return self.worth(learned), seconds

    def by_one(self, seed: int, seconds: float) -> float:
        """Learn at full scale for this processor time; return the objective."""
        start = smooth_noise(windows(self.shape, PATCH), rng=seed, width=self.width)
        patches, coder = Patches(self.image, PATCH), Lasso(lam=LAM)
        steps = alternate(patches, start, coder=coder, sample=SAMPLE, rng=seed, threads=self.threads)
        return self.worth(within(steps, seconds)[0])

    def worth(self, epitome: Epitome) -> float:
        """Compute the objective of an epitome."""
        return objective(self.image, epitome, LAM, threads=self.threads)


def within(steps: Iterator[Step], seconds: float) -> tuple[Epitome, float]:
    """Learn until the time is over or the steps end; the last step is completed."""
    began = time.process_time()
    for step in steps:
        epitome, spent = step.epitome, time.process_time() - began
        if spent >= seconds:
            break
    return epitome, spent


def run(pictures: list[Picture], options: Options) -> Iterator[Claim]:
    name, image = chosen(pictures, "boat", options, crop=112)
    shape, n_steps = ((20, 20), QUICK_STEPS) if options.quick else ((42, 42), STEPS)
    seeds = range(max(options.seeds, QUICK_SEEDS if options.quick else SEEDS))
    lines = []
    found: dict[str, tuple[list[float], list[float]]] = {}
    for label, width in STARTS.items():
        case = Case(image, shape, n_steps, width, options.threads)
        several = [case.by_scales(seed) for seed in seeds]
        one = [case.by_one(seed, seconds) for seed, (_, seconds) in zip(seeds, several, strict=True)]
        found[label] = [value for value, _ in several], one
        lines += [
            Series(f"{how}, from {label}", list(seeds), values)
            for how, values in zip(("three scales", "one scale"), found[label], strict=True)
        ]
    figure = drawn(
        options,
        "claim-multiscale",
        png_curve(
            lines,
            title="Objective of Eq. 3 at equal computing time, from random starts",
            x_label="seed of the start",
            y_label="mean per patch",
        ),
    )
    for label, (several_scales, one_scale) in found.items():
        ours, other = statistics.mean(several_scales), statistics.mean(one_scale)
        wins = sum(a < b for a, b in zip(several_scales, one_scale, strict=True))
        yield Claim(
            claim=f"several scales beat one, from {label}",
            image=name,
            value=ours,
            against=other,
            holds=ours < other,
            note=f"mean objective over {len(seeds)} starts at equal processor time, lower for {wins} of them",
            figure=figure,
        )
