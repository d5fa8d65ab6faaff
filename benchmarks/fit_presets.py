"""Fit the numbers in the passes of a preset: most PSNR at the CPU time of the preset as it is.

    python -m benchmarks fit-presets --images natural-gray --presets balanced --output found.jsonl --curve found.png

CMA-ES moves all numbers of all passes at once, each on a logarithmic scale around its value in the preset. Pictures
are split by their place in the folder. Candidates are compared on crops of one part. After each generation the middle
of the search is measured on a second part, and the middle that is best there is the result. It is measured, as the
preset is, on a third part: every 20th picture, from which nothing is learned. A candidate that is slower must gain
`PRICE` dB per doubling of its time. Seeds are fixed, but CPU time is measured, so two runs differ a little.

`--output` receives a JSON object per candidate, `--curve` the gain over time of those that none beats in both.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import Options
from benchmarks.pictures import HELD_OUT, Picture, add_noise, apart, from_files, middle
from epitomes.draw import Series, png_curve
from epitomes.formats import write
from epitomes.restoration import NonLocal
from epitomes.restoration.non_local import AdaptPass, Pass, RegressionPass, WienerPass
from epitomes.restoration.non_local.presets import passes_of
from epitomes.validation import psnr

Image = NDArray[np.float32]

SIGMAS = (25, 15, 50, 10, 75, 35, 5)  # picture after picture
CROP = 96
N_TRAIN, N_STOP, N_REPORT = 12, 10, 20  # pictures
POPULATION = 10
GENERATIONS, PATIENCE = 40, 8  # at most, and without a better middle
STEP = 0.12  # of the first generation, on the logarithmic scale
MOST = 0.7  # that a number may be away from its value in the preset, on the same scale
PRICE = 0.05  # dB per doubling of the time
SEED = 1
WHOLE = {"group_size": 8, "selection_size": 4, "most_atoms": 6, "search_radius": 8, "stride": 2}  # least value
SHARES = ("keep",)  # numbers between 0 and 1, on a scale that is not logarithmic


@dataclass(frozen=True)
class Knob:
    """One number of a pass, and its value in the preset."""

    step: int  # which pass
    name: str
    value: float

    def at(self, x: float) -> float | int:
        """The number for a point of the search."""
        x = min(max(x, -MOST), MOST)
        if self.name in SHARES:
            return min(max(self.value + x / 2, 0.0), 0.9)
        moved = self.value * math.exp(x)
        return max(WHOLE[self.name], round(moved)) if self.name in WHOLE else moved


@dataclass(frozen=True, eq=False)
class Case:
    """A crop with noise."""

    clean: Image
    noisy: Image
    sigma: float


@dataclass(frozen=True)
class Measured:
    """What a list of passes gives on some cases, against the preset on the same."""

    part: str  # "train", "stop" or "report"
    generation: int
    gain: float  # mean PSNR above the preset, in dB
    seconds: float  # of CPU time, all cases
    slower: float  # than the preset, as a factor
    score: float
    passes: str


def run(options: Options) -> None:
    """Search for each preset asked for."""
    if options.images is None:
        raise SystemExit("fit-presets needs a folder of natural images: name it with --images DIR")
    parts = split(options.images, options.quick)
    for preset in options.presets:
        found = []
        for measured in search(passes_of(preset), parts, options):
            found.append(measured)
            if options.output is not None:
                with options.output.open("a") as file:
                    file.write(json.dumps({"preset": preset, **asdict(measured)}) + "\n")
        if options.curve is not None:
            draw(options.curve.with_stem(f"{options.curve.stem}-{preset}"), preset, found)


def split(folder: Path, quick: bool) -> dict[str, list[Case]]:
    """Cases of the three parts; small and few for quick runs."""
    kept, others = apart(folder)
    by = 6 if quick else 1
    # Neighbours in the folder, of which every second one is for stopping.
    files = {"train": others[::2], "stop": others[1::2], "report": kept}
    counts = {"train": N_TRAIN // by, "stop": N_STOP // by, "report": N_REPORT // by}
    found = {}
    for part, of in files.items():
        step = max(1, len(of) // counts[part])
        pictures = from_files(of[::step][: counts[part]])
        found[part] = [case(picture, k, CROP // 2 if quick else CROP) for k, picture in enumerate(pictures)]
    return found


def case(picture: Picture, k: int, side: int) -> Case:
    """The middle of a picture with noise of one of the levels."""
    clean, sigma = middle(picture.pixels, side), SIGMAS[k % len(SIGMAS)]
    return Case(clean, add_noise(clean, sigma, HELD_OUT + k), float(sigma))


def search(passes: tuple[Pass, ...], parts: dict[str, list[Case]], options: Options) -> Iterator[Measured]:
    """Move the numbers of all passes; yield everything that is measured, the result last."""
    import cma

    knobs = knobs_of(passes)
    bases = {part: measure(passes, cases) for part, cases in parts.items() if part != "report"}
    strategy = cma.CMAEvolutionStrategy(
        [0.0] * len(knobs), STEP, {"seed": SEED, "verbose": -9, "popsize": 4 if options.quick else POPULATION}
    )
    best, best_middle, waited = 0.0, [0.0] * len(knobs), 0
    for generation in range(2 if options.quick else GENERATIONS):
        points = strategy.ask()
        tried = [against(bases["train"], turned(passes, knobs, x), parts["train"], "train", generation) for x in points]
        strategy.tell(points, [-each.score for each in tried])
        middle_now = against(bases["stop"], turned(passes, knobs, strategy.mean), parts["stop"], "stop", generation)
        yield from (*tried, middle_now)
        print(f"{generation}: {middle_now.gain:+.3f} dB, {middle_now.slower:.2f} times the time", flush=True)
        waited += 1
        if middle_now.score > best:
            best, best_middle, waited = middle_now.score, list(strategy.mean), 0
        if waited == PATIENCE:
            break
    result = turned(passes, knobs, best_middle)
    reported = against(measure(passes, parts["report"]), result, parts["report"], "report", -1)
    print(reported.passes, f"report: {reported.gain:+.3f} dB, {reported.slower:.2f} times the time", sep="\n")
    yield reported


def knobs_of(passes: Sequence[Pass]) -> list[Knob]:
    """All numbers of the passes; patch sizes, flags, adaptation and what the regression was learned with stay."""
    found = []
    for k, step in enumerate(passes):
        if isinstance(step, (AdaptPass, WienerPass, RegressionPass)):
            continue
        for field in fields(step):  # type: ignore[arg-type]
            value = getattr(step, field.name)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                found.append(Knob(k, field.name, float(value)))
    return found


def turned(passes: Sequence[Pass], knobs: Sequence[Knob], x: Sequence[float]) -> tuple[Pass, ...]:
    """The passes with the numbers of a point of the search."""
    changes: list[dict[str, Any]] = [{} for _ in passes]
    for knob, at in zip(knobs, x, strict=True):
        changes[knob.step][knob.name] = knob.at(float(at))
    return tuple(replace(step, **change) for step, change in zip(passes, changes, strict=True))  # type: ignore[type-var]


def measure(passes: tuple[Pass, ...], cases: Sequence[Case]) -> tuple[list[float], float]:
    """PSNR of each case, and CPU seconds of all."""
    method, values, began = NonLocal(passes=passes), [], time.process_time()
    for each in cases:
        values.append(psnr(each.clean, method.run(each.noisy, each.sigma, threads=1).image))
    return values, time.process_time() - began


def against(
    base: tuple[list[float], float], passes: tuple[Pass, ...], cases: Sequence[Case], part: str, generation: int
) -> Measured:
    """Measure passes against the preset."""
    values, seconds = measure(passes, cases)
    gain, slower = float(np.mean(values) - np.mean(base[0])), seconds / base[1]
    return Measured(part, generation, gain, seconds, slower, gain - PRICE * math.log2(slower), repr(passes))


def draw(path: Path, preset: str, found: Sequence[Measured]) -> None:
    """Draw all candidates and those that no other beats in both."""
    tried = sorted((each.slower, each.gain) for each in found if each.part == "train")
    front: list[tuple[float, float]] = []
    for slower, gain in tried:
        if not front or gain > front[-1][1]:
            front.append((slower, gain))
    chart = png_curve(
        [Series("no other is faster and better", [x for x, _ in front], [y for _, y in front])],
        title=f"candidates near '{preset}': gain over time, {len(tried)} tried",
        x_label=f"time, relative to '{preset}'",
        y_label="gain in dB",
    )
    write(path, chart, overwrite=True)
