"""Ablation: the preset "balanced" at sigma 25 with one change at a time.

    no grouping      only the pilot: every patch by itself, with the shipped epitome
    DCT              cosines instead of the epitome, in the pilot and in every pass: m atoms for patches of m pixels
    flat, adapted    512 atoms learned from the estimate of the pilot. Unlike the epitome, they have seen the image
    flat, numbers    learned from natural images, as the epitome was, and as many numbers: 70 atoms of 8 x 8 pixels
    flat, atoms      the same, with as many atoms as the epitome has: 1280 of 8 x 8 pixels, 18 times as many numbers
    no feedback      without residual feedback
    no regression    without the learned maps of the last pass, and the second estimate for them
    no adaptation    without adapting the epitome to the image; only if the preset does so
    one patch size   each pass with the first of its patch sizes only

A flat dictionary has one patch size, so that atoms are learned for each size. One epitome serves all sizes. Natural
images are those of --held-out DIR, without every 20th; without the option their two lines are left out.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from benchmarks.make_epitomes import LAM, draw
from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, apart, from_files, middle
from benchmarks.record import Ablation
from benchmarks.tables import setting
from epitomes import Epitome, Patches
from epitomes.coders import Lasso
from epitomes.learn import cosines, natural, online
from epitomes.learn import run as run_steps
from epitomes.phi import GatherPhi, windows
from epitomes.restoration import NonLocal, denoise
from epitomes.restoration.non_local import AdaptPass, AtomsPass, FeedbackPass, Pass, RegressionPass
from epitomes.restoration.non_local.passes import Advance, State, fitted_patch
from epitomes.restoration.non_local.presets import passes_of
from epitomes.validation import psnr

SIGMA = 25.0
PICTURES = ("house", "peppers", "cameraman", "barbara")
WHOLE = "balanced"
PATCH = 8  # of the pilot
N_ATOMS = 512
EPITOMES, WIDTH = 20, 15  # that are shipped
BATCH = 4096
N_STEPS = 100  # batches of learning
QUICK_STEPS = 10
LAM_PER_SIGMA = 0.6  # to learn from an estimate, which has little noise
QUICK_CROP = 96

ForSide = Callable[[int], Epitome]  # from the side of a patch to its epitome
COUNTS: dict[str, Callable[[int], int]] = {  # atoms of the flat dictionaries of natural images
    "flat, numbers": lambda side: EPITOMES * WIDTH**2 // side**2,
    "flat, atoms": lambda side: EPITOMES * (WIDTH - side + 1) ** 2,
}
Image = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Variant:
    """The epitome of the pilot, and the passes after it."""

    name: str
    pilot: Epitome
    passes: tuple[Pass, ...]


@dataclass(frozen=True, eq=False)
class Otherwise:
    """A pass with its own epitome for each patch size."""

    step: AtomsPass
    epitome: ForSide

    @property
    def cost(self) -> float:
        """That of the pass."""
        return self.step.cost

    def run(self, state: State, *, seed: int, threads: int | None, advance: Advance | None = None) -> State:
        """Make the pass once for each patch size, and average."""
        parts = []
        for side in self.step.patches:
            own = dataclasses.replace(state, epitome=self.epitome(fitted_patch(side, state)[0]))
            one_size = dataclasses.replace(self.step, patches=(side,))
            parts.append(one_size.run(own, seed=seed, threads=threads).current)
            if advance is not None:
                advance(len(parts) / len(self.step.patches))
        return dataclasses.replace(state, current=np.mean(parts, axis=0, dtype=np.float32))


def run(options: Options) -> Iterator[Ablation]:
    photos = setting(options).photos
    wanted = list(dict.fromkeys(photos.like(name).name for name in PICTURES))
    pictures = [Picture(photo.name, photo.pixels, photo.source) for photo in photos.all if photo.name in wanted]
    if options.quick:
        pictures = [Picture(each.name, middle(each.pixels, QUICK_CROP), each.source) for each in pictures[:2]]
    from_nature = natural_flat(options)
    found = []
    for picture in pictures:
        for seed in range(options.seeds):
            for row in measure(picture, seed, from_nature, options):
                found.append(row)
                yield row
    print(summary(found), flush=True)


def measure(picture: Picture, seed: int, from_nature: dict[str, ForSide], options: Options) -> Iterator[Ablation]:
    """Measure the unchanged method first, then each change on the same noise."""
    noisy = add_noise(picture.pixels, SIGMA, seed)
    whole = 0.0
    for variant in variants(noisy, from_nature, options):
        began = time.perf_counter()
        estimate = restored(noisy, variant, options.threads)
        seconds = time.perf_counter() - began
        value = psnr(picture.pixels, estimate)
        whole = value if variant.name == WHOLE else whole
        yield Ablation(
            ablation=variant.name,
            image=picture.name,
            sigma=SIGMA,
            seed=seed,
            psnr=value,
            difference=value - whole,
            seconds=seconds,
        )


def restored(noisy: Image, variant: Variant, threads: int) -> Image:
    """Denoise with a variant."""
    method = NonLocal(epitome=variant.pilot, passes=variant.passes, multiscale=False)
    return denoise(noisy, SIGMA, method=method, threads=threads)


def variants(noisy: Image, from_nature: dict[str, ForSide], options: Options) -> Iterator[Variant]:
    """Yield the unchanged method, then each change."""
    shipped = natural(windows((EPITOMES, WIDTH, WIDTH), (PATCH, PATCH)))
    passes = passes_of(WHOLE)
    alone = Variant("no grouping", shipped, ())
    yield Variant(WHOLE, shipped, passes)
    yield alone
    yield exchanged("DCT", noisy, passes, dct)
    yield exchanged("flat, adapted", noisy, passes, adapted_flat(restored(noisy, alone, options.threads), options))
    for name, epitome in from_nature.items():
        yield exchanged(name, noisy, passes, epitome)
    yield Variant("no feedback", shipped, without(passes, FeedbackPass))
    yield Variant("no regression", shipped, without(passes, RegressionPass))
    if without(passes, AdaptPass) != passes:
        yield Variant("no adaptation", shipped, without(passes, AdaptPass))
    yield Variant("one patch size", shipped, tuple(first_size(step) for step in passes))


def exchanged(name: str, noisy: Image, passes: tuple[Pass, ...], epitome: ForSide) -> Variant:
    """Replace the atoms of the pilot and of every pass; they are not adapted."""
    planar = (noisy / np.float32(SIGMA))[None, None]
    state = State.begin(planar, planar, epitome(PATCH))
    for side in {side for step in passes if isinstance(step, AtomsPass) for side in step.patches}:
        epitome(fitted_patch(side, state)[0])  # learned here, before the time is taken
    steps = tuple(Otherwise(step, epitome) if isinstance(step, AtomsPass) else step for step in passes)
    return Variant(name, epitome(PATCH), without(steps, AdaptPass))


def without(passes: tuple[Pass, ...], kind: type) -> tuple[Pass, ...]:
    """Leave out the passes of one kind."""
    return tuple(step for step in passes if not isinstance(step, kind))


def first_size(step: Pass) -> Pass:
    """Limit a pass to its first patch size."""
    if isinstance(step, AtomsPass | FeedbackPass):
        return dataclasses.replace(step, patches=step.patches[:1])
    return step


@cache
def dct(side: int) -> Epitome:
    """Return the cosine transform. Epitomes of the size of a patch are a flat dictionary (section 4.3)."""
    waves = scipy.fft.dct(np.eye(side), norm="ortho", axis=0)
    return Epitome(np.einsum("ik,jl->ijkl", waves, waves).reshape(-1, side, side), windows_of(side * side, side))


def adapted_flat(estimate: Image, options: Options) -> ForSide:
    """Return a function that learns a flat dictionary from the estimate, once for each patch size."""
    return cache(lambda side: flat(Patches(estimate, (side, side)), side, LAM_PER_SIGMA * SIGMA, options))


def natural_flat(options: Options) -> dict[str, ForSide]:
    """Return functions that learn flat dictionaries from natural images; none if there is no folder of them."""
    if options.held_out is None:
        return {}
    pictures = [picture.pixels for picture in from_files(apart(options.held_out)[1])]

    def learned(count: Callable[[int], int], side: int) -> Epitome:
        return flat(draw(pictures, (side, side)), side, LAM * side / PATCH, options, count(side))

    return {name: cache(partial(learned, count)) for name, count in COUNTS.items()}


def flat(patches: Patches | Image, side: int, lam: float, options: Options, count: int = N_ATOMS) -> Epitome:
    """Learn a flat dictionary."""
    start = cosines(windows_of(count, side))
    steps = online(patches, start, coder=Lasso(lam=lam), batch=BATCH, forget=4.0, threads=options.threads)
    return run_steps(steps, max_steps=QUICK_STEPS if options.quick else N_STEPS).epitome


def windows_of(count: int, side: int) -> GatherPhi:
    """Return phi for so many epitomes of the size of a patch, each an atom."""
    return windows((count, side, side), (side, side))


def summary(found: Sequence[Ablation]) -> str:
    """Summarise means over images and noise realisations, one line for each change."""
    of = partial(_mean, found)
    images = list(dict.fromkeys(row.image for row in found))
    lines = [f"sigma {SIGMA:g}, means over {', '.join(images)}: PSNR and its difference to {WHOLE}, in dB"]
    for name in dict.fromkeys(row.ablation for row in found):
        lines.append(f"{name:<18}{of(name, 'psnr'):>9.2f}{of(name, 'difference'):>+9.3f}")
    return "\n".join(lines)


def _mean(found: Sequence[Ablation], name: str, column: str) -> float:
    return statistics.fmean(getattr(row, column) for row in found if row.ablation == name)
