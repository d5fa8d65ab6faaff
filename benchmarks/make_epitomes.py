"""make-epitomes: learn the epitomes that the library ships, from a folder of natural pictures (paper, section 4.4).

    python -m benchmarks make-epitomes --images GREY --output src/epitomes/data
    python -m benchmarks make-epitomes --images COLOUR --output src/epitomes/data     # colour pictures make colour ones

As in the paper: low-passed noise, then 100 000 patches of natural images. Sets of several are learned through three
scales. Where a plan has several seeds, the epitome with the lowest objective on these patches is kept: no other picture
has a say. The seeds and the pictures alone decide the bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.options import Options
from epitomes import Epitome, Patches, save
from epitomes.coders import Lasso
from epitomes.learn import Moments, Scale, Step, alternate, cost, scales, smooth_noise
from epitomes.learn import run as run_steps
from epitomes.learn._multiscale import enlarged, reduced
from epitomes.model_file import Provenance
from epitomes.phi import windows

Pixels = NDArray[np.float32]

LAM = 60.0  # grey levels: |d| |a| must be worth this much
POOL = 100_000  # patches, drawn evenly from all pictures
SAMPLE = 30_000  # of them in each step
PATCH = 8


@dataclass(frozen=True)
class Plan:
    count: int
    width: int
    n_steps: tuple[int, ...]  # at each scale
    seeds: tuple[int, ...] = (1,)

    def name(self, channels: int) -> str:
        return f"natural-{self.count}x{self.width}{'-colour' if channels else ''}.epitome"

    def scales(self, channels: int) -> tuple[Scale, ...]:
        lead, tail = (self.count,) if self.count > 1 else (), (channels,) if channels else ()
        shape, patch = (*lead, self.width, self.width, *tail), (PATCH, PATCH, *tail)
        return scales(shape, patch, lam=LAM * max(channels, 1) ** 0.5, n_steps=self.n_steps)


GREY = (
    Plan(1, 42, (100,), (1, 2, 3, 4)),
    Plan(20, 15, (50, 50, 100), (1, 2, 3)),
    Plan(2, 32, (50, 50, 50)),
    Plan(4, 25, (50, 50, 50)),
    Plan(2, 46, (50, 50, 50)),
)
COLOUR = (Plan(1, 42, (50,)), Plan(20, 15, (30, 30, 50)))


def run(options: Options) -> None:
    if options.output is None or options.images is None:
        raise SystemExit("make-epitomes needs --images DIR and --output DIR")
    files = sorted(file for kind in ("*.png", "*.jpg") for file in options.images.glob(kind))
    if not files:
        raise SystemExit(f"{options.images} holds no PNG or JPEG pictures: give --images another folder")
    pictures = [np.asarray(Image.open(file), np.float32) for file in files]
    channels = pictures[0].shape[2] if pictures[0].ndim == 3 else 0
    for plan in COLOUR if channels else GREY:
        path = options.output / plan.name(channels)
        found = [learn(pictures, plan.scales(channels), seed, teller(path.name)) for seed in plan.seeds]
        best = min(found, key=lambda learned: learned.objective)
        origin = Provenance(
            lam=plan.scales(channels)[-1].lam,
            units="grey levels, 0 to 255",
            seed=best.seed,
            n_steps=sum(plan.n_steps),
            source=f"{POOL} patches of {len(files)} natural {'colour' if channels else 'grey'} pictures",
            note="python -m benchmarks make-epitomes",
        )
        epitome = best.epitome
        save(path, Epitome(epitome.pixels.astype(np.float32), epitome.phi), origin, overwrite=True)


@dataclass(frozen=True, eq=False)
class Learned:
    epitome: Epitome
    seed: int
    objective: float  # Eq. 3 over all drawn patches, coded anew


def learn(pictures: list[Pixels], plan: tuple[Scale, ...], seed: int, tell: Callable[[Step], None]) -> Learned:
    """Coarse to fine over patches of all pictures."""
    first, last = plan[0], plan[-1]
    coarse = windows(first.epitome_shape, first.patch_shape)
    epitome = smooth_noise(coarse, rng=seed, width=1.5 if len(plan) == 1 else 0.8)
    for scale in plan:
        factors = tuple(small / full for small, full in zip(scale.patch_shape, last.patch_shape, strict=True))
        rows = draw([reduced(picture, factors) for picture in pictures], scale.patch_shape)
        epitome = enlarged(epitome, scale.epitome_shape, scale.patch_shape)
        steps = alternate(rows, epitome, coder=Lasso(lam=scale.lam), sample=SAMPLE, rng=seed)
        epitome = run_steps(steps, max_steps=scale.n_steps, callback=tell).epitome
    codes = Lasso(lam=last.lam).encode(rows, epitome.dictionary)
    return Learned(epitome, seed, cost(epitome.dictionary.atoms, Moments.of(rows, codes), last.lam) / len(rows))


def draw(pictures: list[Pixels], patch: tuple[int, ...]) -> Pixels:
    """Centred patches, as many from each picture; the same for every seed of the start."""
    rng = np.random.default_rng(0)
    each = POOL // len(pictures)
    parts = []
    for picture in pictures:
        patches = Patches(picture, patch)
        parts.append(patches.at_index(np.sort(rng.integers(0, len(patches), each)))[0])
    return np.concatenate(parts)


def teller(name: str) -> Callable[[Step], None]:
    def tell(step: Step) -> None:
        numbers = step.progress
        if numbers.index % 10 == 0:
            print(f"{name}: step {numbers.index}, objective {numbers.objective:.1f}", file=sys.stderr, flush=True)

    return tell
