"""Ablation: the preset "balanced" at sigma 25 with one thing changed at a time, each with what it costs.

    no grouping      the pilot alone: every patch by itself, over the shipped epitome
    DCT              cosines instead of the epitome, in the pilot and in every pass: m atoms for patches of m pixels
    flat, adapted    512 atoms learned from the estimate of the pilot. They have seen the picture; the epitome has not
    flat, natural    512 atoms learned from natural pictures, as the epitome was; only with --held-out DIR
    no feedback      without the passes that give back a share of what was left out
    no adaptation    the epitome stays as it was shipped; only if the preset adapts it
    one patch size   each pass with the first of its patch sizes alone

A flat dictionary serves one patch size, so that 512 atoms are learned for each; the epitome serves all of them.
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

from benchmarks import judge
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
from epitomes.restoration import denoise, groupwise
from epitomes.restoration.passes import AdaptPass, AtomsPass, FeedbackPass, Pass, State, fitting
from epitomes.restoration.presets import passes_of

SIGMA = 25.0
PICTURES = ("house", "peppers", "cameraman", "barbara")
WHOLE = "balanced"
PATCH = 8  # of the pilot
N_ATOMS = 512
BATCH = 4096
N_STEPS = 100  # batches of learning
QUICK_STEPS = 10
PRICE = 0.6  # lam over sigma, to learn from an estimate: little noise is left in it
QUICK_CROP = 96

ForSide = Callable[[int], Epitome]  # the side of a patch to the epitome that serves it
Image = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Variant:
    """What the pilot codes with, and the passes after it."""

    name: str
    pilot: Epitome
    passes: tuple[Pass, ...]


@dataclass(frozen=True, eq=False)
class Otherwise:
    """A pass with another epitome for each of its patch sizes."""

    step: AtomsPass
    epitome: ForSide

    def run(self, state: State, threads: int | None) -> State:
        parts = [
            dataclasses.replace(self.step, patches=(side,))
            .run(dataclasses.replace(state, epitome=self.epitome(fitting(side, state.noisy)[0])), threads)
            .current
            for side in self.step.patches
        ]
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


def measure(picture: Picture, seed: int, from_nature: ForSide | None, options: Options) -> Iterator[Ablation]:
    """The whole first, then each change on the same noise."""
    noisy = add_noise(picture.pixels, SIGMA, seed)
    whole = 0.0
    for variant in variants(noisy, from_nature, options):
        began = time.perf_counter()
        estimate = restored(noisy, variant, options.threads)
        seconds = time.perf_counter() - began
        psnr = judge.psnr(picture.pixels, estimate)
        whole = psnr if variant.name == WHOLE else whole
        yield Ablation(
            ablation=variant.name,
            image=picture.name,
            sigma=SIGMA,
            seed=seed,
            psnr=psnr,
            difference=psnr - whole,
            seconds=seconds,
        )


def restored(noisy: Image, variant: Variant, threads: int) -> Image:
    """As `denoise` does it, with the parts of a variant."""

    def pilot(channel: Image) -> Image:
        return denoise(channel, 1.0, method="paper", epitome=variant.pilot, threads=threads).image

    return groupwise.restore(noisy, SIGMA, pilot=pilot, epitome=variant.pilot, passes=variant.passes, threads=threads)[
        0
    ]


def variants(noisy: Image, from_nature: ForSide | None, options: Options) -> Iterator[Variant]:
    shipped = natural(windows((20, 15, 15), (PATCH, PATCH)))
    passes = passes_of(WHOLE)
    alone = Variant("no grouping", shipped, ())
    yield Variant(WHOLE, shipped, passes)
    yield alone
    yield exchanged("DCT", noisy, passes, dct)
    yield exchanged("flat, adapted", noisy, passes, adapted_flat(restored(noisy, alone, options.threads), options))
    if from_nature is not None:
        yield exchanged("flat, natural", noisy, passes, from_nature)
    yield Variant("no feedback", shipped, without(passes, FeedbackPass))
    if without(passes, AdaptPass) != passes:
        yield Variant("no adaptation", shipped, without(passes, AdaptPass))
    yield Variant("one patch size", shipped, tuple(first_size(step) for step in passes))


def exchanged(name: str, noisy: Image, passes: tuple[Pass, ...], epitome: ForSide) -> Variant:
    """Other atoms in the pilot and wherever atoms are used; they stay as they are."""
    planar = (noisy / np.float32(SIGMA))[None, None]
    sides = {fitting(side, planar)[0] for step in passes if isinstance(step, AtomsPass) for side in step.patches}
    for side in sorted(sides | {PATCH}):
        epitome(side)  # learned here, before the clock runs
    steps = tuple(Otherwise(step, epitome) if isinstance(step, AtomsPass) else step for step in passes)
    return Variant(name, epitome(PATCH), without(steps, AdaptPass))


def without(passes: tuple[Pass, ...], kind: type) -> tuple[Pass, ...]:
    return tuple(step for step in passes if not isinstance(step, kind))


def first_size(step: Pass) -> Pass:
    if isinstance(step, AtomsPass | FeedbackPass):
        return dataclasses.replace(step, patches=step.patches[:1])
    return step


@cache
def dct(side: int) -> Epitome:
    """The cosine transform; epitomes of the size of a patch are a flat dictionary (section 4.3)."""
    waves = scipy.fft.dct(np.eye(side), norm="ortho", axis=0)
    return Epitome(np.einsum("ik,jl->ijkl", waves, waves).reshape(-1, side, side), windows_of(side * side, side))


def adapted_flat(estimate: Image, options: Options) -> ForSide:
    """A flat dictionary learned from the estimate, for each patch size when it is first asked for."""
    return cache(lambda side: flat(Patches(estimate, (side, side)), side, PRICE * SIGMA, options))


def natural_flat(options: Options) -> ForSide | None:
    """A flat dictionary learned from natural pictures that are not held out; None without a folder of them."""
    if options.held_out is None:
        return None
    pictures = [picture.pixels for picture in from_files(apart(options.held_out)[1])]
    return cache(lambda side: flat(draw(pictures, (side, side)), side, LAM * side / PATCH, options))


def flat(patches: Patches | Image, side: int, lam: float, options: Options) -> Epitome:
    start = cosines(windows_of(N_ATOMS, side))
    steps = online(patches, start, coder=Lasso(lam=lam), batch=BATCH, forget=4.0, threads=options.threads)
    return run_steps(steps, max_steps=QUICK_STEPS if options.quick else N_STEPS).epitome


def windows_of(count: int, side: int) -> GatherPhi:
    """So many pictures of the size of a patch, each an atom."""
    return windows((count, side, side), (side, side))


def summary(found: Sequence[Ablation]) -> str:
    """Means over the pictures and draws, one line for each change."""
    of = partial(_mean, found)
    images = list(dict.fromkeys(row.image for row in found))
    lines = [f"sigma {SIGMA:g}, means over {', '.join(images)}: PSNR and its difference to {WHOLE}, in dB"]
    for name in dict.fromkeys(row.ablation for row in found):
        lines.append(f"{name:<18}{of(name, 'psnr'):>9.2f}{of(name, 'difference'):>+9.3f}")
    return "\n".join(lines)


def _mean(found: Sequence[Ablation], name: str, column: str) -> float:
    return statistics.fmean(getattr(row, column) for row in found if row.ablation == name)
