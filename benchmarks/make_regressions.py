"""make-regressions: learn the maps that correct estimates of the non-local method, from natural images with noise.

    python -m benchmarks make-regressions --images DIR --threads 2 --output src/epitomes/data

DIR holds folders of natural images, natural-gray and natural-color; every 20th image of each, by name, is left out for
measuring. Large images give two pictures, their middle and the whole at half the size. Some pictures are drawn beside
them (`drawings`), because photographs hold few straight stripes or points. Each picture gets noise of two of seven
levels and is denoised by the passes of "balanced", and every eighth of them by those of "best", too, once.

Keys of patches are clustered by k-means. The map of an anchor minimises the squared error of its patches, each picture
weighing the inverse of its error, with a ridge towards the map of all patches. The next round begins with the corrected
pictures. The images and the seeds alone determine the result.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from benchmarks.drawings import drawn
from benchmarks.options import Options
from benchmarks.pictures import add_noise, apart, from_files, middle
from epitomes.files import write_atomically
from epitomes.regression import AnchoredRegression
from epitomes.regression.shipped import ARCHIVE, ROUNDS, packed
from epitomes.restoration.non_local.correction import RegressionPass
from epitomes.restoration.non_local.method import NonLocal
from epitomes.restoration.non_local.passes import Pass, State
from epitomes.restoration.non_local.presets import passes_of

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

LEVELS = (25, 10, 50, 15, 75, 5, 35)
PER_PICTURE = 2  # levels
LARGE, CROP = 300, 240  # pixels: longer sides give two pictures; side of the middle
N_DRAWN = 96
BEST_EVERY = 8
SIDE, N_ANCHORS = 6, 384
STRIDE = 2
N_KEYS = 200_000  # patches that are clustered
RIDGE = 200  # average patches that speak for the common map
SEED = 7


@dataclass(frozen=True)
class Task:
    """A picture to be denoised."""

    clean: Floats
    sigma: float
    seed: int
    preset: str


@dataclass(frozen=True)
class Sample:
    """A picture and what the passes made of it, in units of the noise."""

    clean: Floats
    noisy: Floats
    second: Floats
    estimate: Floats

    @property
    def others(self) -> tuple[Floats, Floats]:
        return self.second, self.noisy


@dataclass
class Last:
    """A pass that only keeps the state it meets."""

    state: State | None = None

    def cost(self, n_values: int) -> float:
        return 0.0

    def run(self, state: State, **_: object) -> State:
        self.state = state
        return state


def run(options: Options) -> None:
    if options.images is None or options.output is None:
        raise SystemExit(
            "make-regressions needs --images DIR, with natural-gray and natural-color in it, and --output DIR"
        )
    began, tasks = time.time(), list(tasks_of(options.images, options.quick))
    with ProcessPoolExecutor(options.threads) as pool:
        samples = list(pool.map(denoised, tasks, chunksize=4))
    print(f"{len(samples)} pictures denoised in {time.time() - began:.0f} s", flush=True)
    arrays: dict[str, NDArray[np.generic]] = {}
    for number in range(ROUNDS):
        regression = fitted(samples, 16 if options.quick else N_ANCHORS)
        before = [error(each) for each in samples]
        samples = [corrected(each, regression, options.threads) for each in samples]
        gains = 10 * np.log10(np.array(before) / [error(each) for each in samples])
        print(f"round {number}: {gains.mean():+.3f} dB on what it was learned from", flush=True)
        arrays |= {f"{number}-{name}": array for name, array in packed(regression).items()}
    about = {"source": f"{len(tasks)} noisy pictures", "note": "python -m benchmarks make-regressions"}
    content = io.BytesIO()
    np.savez_compressed(content, about=np.array(json.dumps(about, sort_keys=True)), **arrays)  # type: ignore[arg-type]
    write_atomically(options.output / ARCHIVE, content.getvalue())


def tasks_of(folder: Path, quick: bool) -> Iterator[Task]:
    """All pictures with their noise levels."""
    files = [file for name in ("natural-gray", "natural-color") for file in apart(folder / name)[1]]
    pictures = [part for picture in from_files(files[::40] if quick else files) for part in parts(picture.pixels)]
    pictures += [picture.pixels for picture in drawn(8 if quick else N_DRAWN, SEED)]
    for k, clean in enumerate(pictures):
        levels = [LEVELS[(k + 2 * j) % len(LEVELS)] for j in range(PER_PICTURE)]
        for j, sigma in enumerate(levels):
            yield Task(clean, float(sigma), SEED + len(LEVELS) * k + j, "balanced")
        if k % BEST_EVERY == 0:
            yield Task(clean, float(levels[0]), SEED + len(LEVELS) * k + PER_PICTURE, "best")


def parts(picture: Floats) -> list[Floats]:
    """A picture; of a large one, the middle, and all of it at half the size."""
    if max(picture.shape) <= LARGE:
        return [picture]
    high, wide = (side // 2 for side in picture.shape)
    halved = picture[: 2 * high, : 2 * wide].reshape(high, 2, wide, 2).mean(axis=(1, 3))
    return [middle(picture, CROP), halved.astype(np.float32)]


def denoised(task: Task) -> Sample:
    """What the passes before the regression make of a picture."""
    noisy, last = add_noise(task.clean, task.sigma, task.seed), Last()
    passes: list[Pass] = [step for step in passes_of(task.preset) if not isinstance(step, RegressionPass)]
    NonLocal(passes=(*passes, last)).run(noisy, task.sigma, threads=1)
    state = last.state
    assert state is not None and state.second is not None
    # The method takes the mean off, and may take another sigma than the one told.
    scale = float(np.std(noisy, dtype=np.float64) / np.std(state.noisy, dtype=np.float64))
    clean = (task.clean - np.float32(noisy.mean(dtype=np.float64))) / np.float32(scale)
    return Sample(clean, state.noisy[0, 0], state.second[0, 0], state.current[0, 0])


def fitted(samples: Sequence[Sample], n_anchors: int) -> AnchoredRegression:
    """Anchors, and the map of each."""
    rng, m = np.random.default_rng(SEED), SIDE * SIDE
    some = max(1, N_KEYS // len(samples))
    keys = np.concatenate([rng.choice(upright(each)[0][:, :m], some, axis=0) for each in samples])
    kmeans = KMeans(n_anchors, n_init=1, max_iter=20, random_state=SEED).fit(keys)
    anchors = kmeans.cluster_centers_.astype(np.float16).astype(np.float32)
    # Sums over the patches of each anchor: products of inputs, and of inputs with what is missing.
    gram, cross, n = np.zeros((n_anchors, 3 * m, 3 * m)), np.zeros((n_anchors, 3 * m, m)), 0
    for each in samples:
        inputs, missing = upright(each)
        nearest, weight = nearest_of(inputs[:, :m], anchors), 1 / error(each)
        n += len(inputs)
        order = np.argsort(nearest, kind="stable")
        ends = np.searchsorted(nearest[order], np.arange(n_anchors + 1))
        for k in np.flatnonzero(np.diff(ends)):
            mine = order[ends[k] : ends[k + 1]]
            gram[k] += weight * (inputs[mine].T @ inputs[mine])
            cross[k] += weight * (inputs[mine].T @ missing[mine])
    common = solved(gram.sum(axis=0), cross.sum(axis=0))
    ridge = np.diag(np.diag(gram.sum(axis=0))) * RIDGE / n
    maps = np.stack([common + solved(gram[k] + ridge, cross[k] - gram[k] @ common) for k in range(n_anchors)])
    return AnchoredRegression(anchors, maps.astype(np.float32))


def solved(system: Doubles, right: Doubles) -> Doubles:
    return np.linalg.solve(system + 1e-7 * np.trace(system) / len(system) * np.eye(len(system)), right)


def upright(sample: Sample) -> tuple[Floats, Floats]:
    """Inputs `(n, 3 m)` of patches as `AnchoredRegression` has them, keys first; what the estimate lacks, `(n, m)`."""
    estimate = sample.estimate
    images = [estimate, *(other - estimate for other in sample.others), sample.clean - estimate]
    stacks = [sliding_window_view(image, (SIDE, SIDE))[::STRIDE, ::STRIDE].reshape(-1, SIDE, SIDE) for image in images]
    first = stacks[0] - stacks[0].mean(axis=(1, 2), keepdims=True)
    slope = np.arange(SIDE, dtype=np.float32) - (SIDE - 1) / 2
    right, down = (first * slope).sum(axis=(1, 2)), (first * slope[:, None]).sum(axis=(1, 2))
    turned = []
    contrast = np.sqrt(np.mean(first**2, axis=(1, 2), keepdims=True)) + np.float32(1e-9)
    for stack in (first * (np.log1p(2 * contrast) / contrast), *stacks[1:]):
        flipped = np.where((right < 0)[:, None, None], stack[:, :, ::-1], stack)
        flipped = np.where((down < 0)[:, None, None], flipped[:, ::-1], flipped)
        flipped = np.where((abs(down) > abs(right))[:, None, None], flipped.transpose(0, 2, 1), flipped)
        turned.append(flipped.reshape(len(flipped), -1).astype(np.float32))
    return np.concatenate(turned[:-1], axis=1), turned[-1]


def nearest_of(keys: Floats, anchors: Floats) -> NDArray[np.int64]:
    return np.asarray(np.argmax(keys @ anchors.T - np.square(anchors).sum(axis=1) / 2, axis=1))


def corrected(sample: Sample, regression: AnchoredRegression, threads: int) -> Sample:
    return replace(sample, estimate=regression.correct(sample.estimate, sample.others, stride=STRIDE, threads=threads))


def error(sample: Sample) -> float:
    """Mean squared error of the estimate, in variances of the noise."""
    return float(np.mean(np.square(sample.clean - sample.estimate), dtype=np.float64))
