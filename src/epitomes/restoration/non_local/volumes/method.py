"""Volumes and clips: stages over planes, from the noisy array to the estimate, plane after plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import DTypeLike

from epitomes.checks import Array
from epitomes.colours import turn_of
from epitomes.epitome import Epitome
from epitomes.groups._bands import Slice
from epitomes.groups._estimate import LINES
from epitomes.noise.dct_blocks import cosines
from epitomes.phi import flat
from epitomes.restoration.method import Callback
from epitomes.restoration.non_local.colour import Turn, from_planar, to_planar
from epitomes.restoration.non_local.passes import atoms_of, coding_patches
from epitomes.restoration.non_local.volumes.arrangement import (
    ARRANGEMENTS,
    MOST,
    SURE,
    TILE,
    Arrangement,
    best_of,
    candidates,
    n_tried,
    tried_on,
)
from epitomes.restoration.non_local.volumes.motion import ON_ESTIMATES, ON_PILOTS, Squares, find_motion
from epitomes.restoration.non_local.volumes.pilot import LINES as PILOT_LINES
from epitomes.restoration.non_local.volumes.pilot import STEP as PILOT_STEP
from epitomes.restoration.non_local.volumes.pilot import piloted
from epitomes.restoration.non_local.volumes.stages import AtomsStage, FeedbackStage, LowRankStage, Search
from epitomes.restoration.non_local.volumes.steady import steadied
from epitomes.restoration.non_local.volumes.stream import Plane, Stage, Triple, fitting, run_stage
from epitomes.restoration.whole_image import Support

PILOT_COST = 0.2  # of the time of a stage
HURRIED = 1  # tiles on which arrangements are tried for "fast"
ATTEMPT_COST = 1.8  # of an arrangement that is tried, per voxel and relative to a stage
N_STAGES = {"fast": 1.0, "balanced": 2.0, "best": 3.6}  # in units of their cost
MOST_KEPT = 0.5  # share of the estimate before atoms
COMPARED = ON_PILOTS, ON_ESTIMATES  # for motion, before the first stages


@dataclass(frozen=True)
class Whole:
    """What depends on the whole volume: a part of it is denoised as the whole would be."""

    mean: float
    contrast: float  # in units of the noise
    turn: Turn  # of the channels
    arrangement: Arrangement
    part: bool = False  # of a volume, not the whole


def denoise_volume(
    image: Array,
    sigma: float,
    whole: Whole,
    *,
    preset: str,
    epitome: Epitome | None,
    dtype: DTypeLike,
    threads: int | None,
    callback: Callback | None,
) -> Array:
    """Denoise a volume or clip `(planes, height, width[, channels])`, or a part of one, with white noise.

    Atoms are those of the epitome, whose patches have three axes; without one they are cosines.
    """
    stages = stages_of(preset, whole, shape_of(image), epitome)
    result = np.empty(image.shape, dtype)
    noisy = noisy_planes(image, sigma, whole)
    advance = progress(stages, callback, f"{len(image)} planes")
    for k, plane in enumerate(stream(noisy, shape_of(image), whole, stages, threads, advance)):
        result[k] = from_planar(plane.current[:, None], whole.mean, sigma, whole.turn, image.shape[1:], dtype)
    return result


def progress(stages: list[Stage], callback: Callback | None, words: str) -> Callable[[float], None]:
    """What is told the cost of the work that was done, and tells the share of all of it."""
    total, done = PILOT_COST + sum(stage.cost for stage in stages), 0.0

    def advance(cost: float) -> None:
        nonlocal done
        done += cost
        if callback is not None:
            callback(min(1.0, done / total), words)

    return advance


def chosen(
    image: Array,
    sigma: float,
    planes: str,
    spacing: float | None,
    preset: str,
    seed: int,
    threads: int | None,
    callback: Callback | None = None,
    lying: bool = False,
) -> Arrangement:
    """The arrangement that `planes` names, or with "auto" the one that suits a volume best.

    `lying`: only those that take planes as they lie.
    """
    among = [each for each in named(planes, spacing) if not (lying and each.aligned)]
    attempts = [partial(attempt, arrangement=each, preset=preset, threads=threads) for each in among]
    if len(among) == 1:
        return among[0]
    tiles, done = tried_on(image, _most(preset)), 0
    total = n_tried(shape_of(image), _most(preset)) * _n_tried_stages(preset)

    def advance() -> None:
        nonlocal done
        done += 1
        if callback is not None:
            callback(min(1.0, done / total), "comparing arrangements of planes")

    return among[best_of(tiles, sigma, attempts, seed, SURE, advance)]


def trial_share(shape: Triple, planes: str, spacing: float | None, preset: str) -> float:
    """The share of the time that it takes to choose an arrangement, about; 0 where one is named."""
    n = len(named(planes, spacing))
    if n == 1:
        return 0.0
    voxels = np.prod(np.minimum(shape, TILE)) * (1 + n_tried(shape, _most(preset))) / 2  # the second may be spared
    per_voxel = PILOT_COST + (1 + _n_tried_stages(preset)) / 2  # as may the second stage
    trial = ATTEMPT_COST * n * per_voxel * voxels / np.prod(shape)
    return float(trial / (trial + PILOT_COST + N_STAGES[preset]))


def named(planes: str, spacing: float | None) -> list[Arrangement]:
    """Arrangements of this name; all of them with "auto"."""
    return [each for each in candidates(spacing) if planes in ("auto", each.name)] or [ARRANGEMENTS[planes]]


def _most(preset: str) -> int:
    return HURRIED if preset == "fast" else MOST


def _n_tried_stages(preset: str) -> int:
    return 1 if preset == "fast" else 2


def measured(image: Array, sigma: float, arrangement: Arrangement) -> Whole:
    """Mean and contrast; of colours, the contrast of their lightness."""
    mean, turn = float(image.mean(dtype=np.float64)), turn_of(image[len(image) // 2])
    first = (to_planar(plane, mean, sigma, turn)[0] for plane in image)
    squares = [float(np.square(channel, dtype=np.float64).mean()) for channel in first]
    contrast = max(sum(squares) / len(squares) - 1, 0.01) ** 0.5
    return Whole(mean, min(max(contrast, 0.5), 10.0), turn, arrangement)


def stages_of(preset: str, whole: Whole, shape: Triple, epitome: Epitome | None) -> list[Stage]:
    """The stages of a preset, for a volume of some shape."""
    groups, coding = (
        whole.arrangement.search.fitted(whole.contrast).within(shape),
        whole.arrangement.coding.within(shape),
    )
    if preset == "fast" and epitome is None:
        return trial_stages(preset, whole, shape)
    if preset == "fast":
        search, atoms = coded(groups, epitome)
        return [
            AtomsStage(
                atoms=atoms,
                search=replace(search, group_size=32),
                threshold=0.8,
                bound=0.9,
                selection_size=32,
                strength=1.5,
                select_on_noisy=True,
                by_rank=True,
            )
        ]
    feedback = FeedbackStage(search=groups, part=whole.part)
    first: list[Stage] = [LowRankStage(search=groups), feedback]
    if preset == "balanced":
        return first
    search, atoms = coded(coding, epitome)
    keep = min(MOST_KEPT, whole.contrast / 8)  # atoms pay where noise is strong
    return [*first, AtomsStage(atoms=atoms, search=search, keep=keep), feedback]


def support_of_stages(preset: str, whole: Whole, epitome: Epitome | None) -> Support:
    """How far the pilot and all stages reach, and the grid of their references, along planes, rows and columns.

    A stage reaches twice the search radius and a patch, as a pass does. Estimates of a few lines of blocks or of
    references are summed together. In small volumes patches are smaller, but there a part is the whole.
    """
    pilot = whole.arrangement.pilot
    halo, grid = np.array(pilot), np.minimum(PILOT_STEP, pilot) * (1, PILOT_LINES, 1)
    for stage in stages_of(preset, whole, (2**30, 2**30, 2**30), epitome):
        found = stage.matching(whole.contrast)
        halo += 2 * np.array(found.search_radius) + found.patch
        grid = np.lcm(grid, np.multiply(found.stride, (1, LINES, 1)))
    return Support(tuple(map(int, halo)), tuple(map(int, grid)))


def trial_stages(preset: str, whole: Whole, shape: Triple) -> list[Stage]:
    """The first stages of a preset, with patches that hardly overlap."""
    search = whole.arrangement.search.fitted(whole.contrast).within(shape).sparse()
    stages: list[Stage] = [LowRankStage(search=search), FeedbackStage(search=search)]
    return stages[: _n_tried_stages(preset)]


def noisy_planes(image: Array, sigma: float, whole: Whole) -> Iterator[Slice]:
    """The planes of a volume in units of the noise."""
    return (to_planar(plane, whole.mean, sigma, whole.turn)[:, 0] for plane in image)


def stream(
    noisy: Iterator[Slice],
    shape: Triple,
    whole: Whole,
    stages: list[Stage],
    threads: int | None,
    advance: Callable[[float], None],
) -> Iterator[Plane]:
    """The planes of a volume after all stages, one after another."""
    planes = piloted(noisy, shape, whole.arrangement.pilot, threads, partial(_told, advance, PILOT_COST))
    for number, stage in enumerate(stages):
        planes = improved(planes, number, stage, shape, whole, threads, partial(_told, advance, stage.cost))
    return steadied(planes, whole.contrast) if whole.arrangement.aligned else planes


def improved(
    planes: Iterator[Plane],
    number: int,
    stage: Stage,
    shape: Triple,
    whole: Whole,
    threads: int | None,
    advance: Callable[[float], None],
) -> Iterator[Plane]:
    """The planes of a volume after a stage; motion is looked for before the first two."""
    if whole.arrangement.aligned and number < len(COMPARED):
        planes = moving(planes, COMPARED[number])
        if number:  # pilots are only for matching
            planes = steadied(planes, whole.contrast)
    return run_stage(stage, planes, shape, whole.contrast, threads, advance)


def moving(planes: Iterator[Plane], squares: Squares) -> Iterator[Plane]:
    """The same planes with their motion to the planes before and after them; motion is that of the first channel."""
    last = next(planes)
    for plane in planes:
        after = find_motion(last.current[0], plane.current[0], squares)
        yield replace(last, after=after)
        last = replace(plane, before=find_motion(plane.current[0], last.current[0], squares))
    yield replace(last, after=None)


def cosine_dictionary(patch: Triple) -> Epitome:
    """The cosine basis of patches, without their mean, as a flat dictionary."""
    atoms = np.einsum("ai,bj,ck->abcijk", *map(cosines, patch)).reshape(-1, *patch)[1:]
    phi = flat(len(atoms), patch)
    return Epitome(atoms.reshape(phi.epitome_shape).astype(np.float32), phi)


def coded(search: Search, epitome: Epitome | None) -> tuple[Search, Array]:
    """How groups are found for coding, and the atoms: of an epitome that has no others, those of its own patches."""
    if epitome is None:
        return search, cosine_dictionary(search.patch).dictionary.atoms
    deep, high, wide = patch = coding_patches([search.patch], epitome)[0]
    # A stride longer than the patch would leave pixels out.
    stride = fitting(search.stride, (deep, high, wide))
    return replace(search, patch=(deep, high, wide), stride=stride), atoms_of(epitome, patch)


def shape_of(image: Array) -> Triple:
    """Planes, rows and columns."""
    return image.shape[0], image.shape[1], image.shape[2]


def _told(advance: Callable[[float], None], cost: float, share: float) -> None:
    advance(cost * share)


def attempt(
    image: Array, sigma: float, *, arrangement: Arrangement, preset: str, threads: int | None
) -> Iterator[Array]:
    """What the trial of an arrangement does: the first stages, with patches that hardly overlap, one after another."""
    whole, shape = measured(image, sigma, arrangement), shape_of(image)
    planes = piloted(noisy_planes(image, sigma, whole), shape, arrangement.pilot, threads, lambda share: None)
    for number, stage in enumerate(trial_stages(preset, whole, shape)):
        held = list(improved(planes, number, stage, shape, whole, threads, lambda share: None))
        slices = [
            from_planar(plane.current[:, None], whole.mean, sigma, whole.turn, image.shape[1:], np.float64)
            for plane in held
        ]
        yield np.stack(slices)
        planes = iter(held)
