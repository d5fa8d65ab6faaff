"""make-epitomes: learn the epitomes that the library ships, from a folder of natural images (paper, section 4.4).

    python -m benchmarks make-epitomes --images GREY --output src/epitomes/data
    python -m benchmarks make-epitomes --images COLOUR --output src/epitomes/data   # gives colour epitomes

Both write to the archive natural.npz in the output folder and replace the epitomes of their kind in it. Every 20th
image of the folder, by name, is left out, so that the library can be measured on it (`pictures.apart`).

As in the paper, learning starts from low-passed noise and uses about 100 000 patches. Sets of several epitomes are
learned through three scales. Where a plan has several seeds, the epitome with the lowest objective on these patches is
kept; no other image is used. The seeds and the images alone determine the result.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.options import Options
from benchmarks.pictures import HELD_OUT, apart
from epitomes import Epitome, Patches
from epitomes.coders import Lasso
from epitomes.files import write_atomically
from epitomes.learn import Moments, Scale, Step, alternate, cost, scales, smooth_noise
from epitomes.learn import run as run_steps
from epitomes.learn._multiscale import enlarged, reduced
from epitomes.learn._natural import ARCHIVE
from epitomes.model_file import Provenance
from epitomes.phi import windows

Pixels = NDArray[np.float32]

LAM = 60.0  # regularisation parameter, in grey levels
POOL = 100_000  # patches, as many from each picture: the sum is rounded down
SAMPLE = 30_000  # of them in each step
PATCH = 8


@dataclass(frozen=True)
class Plan:
    count: int
    width: int
    n_steps: tuple[int, ...]  # at each scale
    seeds: tuple[int, ...] = (1,)

    def name(self, channels: int) -> str:
        return f"{self.count}x{self.width}{'-colour' if channels else ''}"

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
    kept, files = apart(options.images)
    pictures = [np.asarray(Image.open(file), np.float32) for file in files]
    channels = pictures[0].shape[2] if pictures[0].ndim == 3 else 0
    for plan in COLOUR if channels else GREY:
        name = plan.name(channels)
        found = [learn(pictures, plan.scales(channels), seed, teller(name)) for seed in plan.seeds]
        best = min(found, key=lambda learned: learned.objective)
        add(options.output / ARCHIVE, name, best.epitome, provenance(plan, channels, best.seed, len(files), len(kept)))


def provenance(plan: Plan, channels: int, seed: int, n_used: int, n_kept: int) -> Provenance:
    """How an epitome was made, from the numbers of pictures used and left out."""
    return Provenance(
        lam=plan.scales(channels)[-1].lam,
        units="grey levels, 0 to 255",
        seed=seed,
        n_steps=sum(plan.n_steps),
        source=(
            f"{POOL // n_used * n_used} patches of {n_used} of {n_used + n_kept} natural "
            f"{'colour' if channels else 'grey'} pictures; every {HELD_OUT}th by name is left out for measuring"
        ),
        note="python -m benchmarks make-epitomes",
    )


def add(archive: Path, name: str, epitome: Epitome, origin: Provenance) -> None:
    """Put an epitome into the archive that `epitomes.learn.natural` reads, in place of one of the same name."""
    about: dict[str, Mapping[str, object]] = {}
    arrays: dict[str, NDArray[np.float32]] = {}
    if archive.exists():
        with np.load(archive, allow_pickle=False) as before:
            about = json.loads(str(before["about"]))
            arrays = {each: before[each] for each in about}
    about[name] = {"patch_shape": list(epitome.phi.patch_shape), "provenance": asdict(origin)}
    arrays[name] = epitome.pixels.astype(np.float32)
    content = io.BytesIO()
    in_order = {each: arrays[each] for each in sorted(arrays)}
    np.savez_compressed(content, about=np.array(json.dumps(about, sort_keys=True)), **in_order)
    write_atomically(archive, content.getvalue())


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
