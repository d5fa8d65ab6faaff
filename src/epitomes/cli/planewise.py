"""Denoising a whole picture: noise levels first, then plane after plane, then the planes put together again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from epitomes.cli.errors import INPUT, CommandError, tell, usage
from epitomes.cli.progress import Move, moving, state_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from epitomes.epitome import Epitome
    from epitomes.formats import Picture
    from epitomes.learn import Fit, Step
    from epitomes.noise import NoiseEstimate, PoissonFit, PoissonGaussian
    from epitomes.restoration import Choice, Recipe, Restored

COLOURS = 3  # that the non-local method takes together


class Method(StrEnum):
    """How to denoise."""

    nonlocal_ = "nonlocal"
    paper = "paper"


class Preset(StrEnum):
    """How long the non-local method may take."""

    fast = "fast"
    balanced = "balanced"
    best = "best"
    auto = "auto"  # what suits the picture, and the time


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """What the options ask of every plane."""

    method: Method
    preset: Preset
    sigma: float | None  # None: estimated
    poisson: bool  # noise that grows with brightness
    offset: float | None  # brightness without light
    epitome: Epitome | None
    several: bool
    lam: float | None
    steps: int | None
    gain: float
    blend: float
    seed: int
    threads: int | None
    seconds: float | None = None  # allowed for a file, where the settings are to be chosen
    price: float | None = None  # lam over sigma, if it was chosen
    together: bool = False  # settings were chosen for colours together, and may be those of "fast"
    choice: Choice | None = None  # why

    @property
    def learns(self) -> bool:
        return self.method is Method.paper and self.epitome is None

    def joint(self, picture: Picture) -> bool:
        """Whether the colours of the picture are denoised together; refuses an epitome that does not fit."""
        from epitomes.formats import is_colour

        rank = 2 if self.epitome is None else len(self.epitome.phi.patch_shape)
        groups = self.method is Method.nonlocal_ and (self.preset is not Preset.fast or self.together)
        colour = is_colour(picture) and not self.poisson
        if rank != 2 and (groups or rank != 2 + colour):
            hint = "add --method paper" if groups and colour else "leave --model out"
            raise usage(f"--model has patches of {rank} axes, and they do not fit: {hint}")
        if groups:
            return colour and picture.pixels.shape[-1] == COLOURS
        return colour and rank == 3


@dataclass(frozen=True)
class Level:
    """The noise of one piece of the picture."""

    label: str
    sigma: float  # 0: there is none, and the piece stays as it is; 1 where it grows with brightness, once evened out
    source: NoiseEstimate | PoissonFit | None = None  # how it was found; None: it was given

    @property
    def reason(self) -> str:
        """Why it is not reliable; empty if it is."""
        return "" if self.source is None else self.source.reason

    @property
    def model(self) -> PoissonGaussian | None:
        """Of noise that grows with brightness."""
        return getattr(self.source, "model", None)


@dataclass(frozen=True, eq=False)
class Piece:
    """What was made of one piece, without its pixels."""

    epitome: Epitome
    fit: Fit | None
    recipe: Recipe | None
    nonzeros: float
    seconds: float


def levels(job: Job, picture: Picture, name: str) -> list[Level]:
    """The noise of every piece, estimated where it is not given; doubts are told."""
    pieces, found = list(pieces_of(picture, job.joint(picture))), []
    with moving(f"noise of {name}", len(pieces)) as move:
        for label, pixels in pieces:
            found.append(_level(job, pixels, label, name))
            move(len(found), label)
    where = f"{name}: {{}} of {len(found)} planes: " if len(found) > 1 else f"{name}: "
    if empty := [level for level in found if level.sigma == 0]:
        tell(f"warning: {where.format(len(empty))}no noise is taken off, {empty[0].reason}; --sigma sets a level")
    if doubtful := [level for level in found if level.reason and level.sigma > 0]:
        reason = for_commands(doubtful[0].reason).split("; ")[0]  # there may be one per plane, channel and cause
        words = f"the noise level is not reliable, {reason}; epitomes noise says more, --sigma sets it"
        tell(f"warning: {where.format(len(doubtful))}{words}")
    return found


def denoised(job: Job, picture: Picture, found: list[Level], move: Move) -> tuple[Picture, list[Piece | None]]:
    """The clean picture, and how each piece came about: None where there was no noise. `found` are the levels."""
    import numpy as np

    from epitomes.formats import joined, planes

    done: list[Piece | None] = []
    joint = job.joint(picture)

    def clean(pixels: NDArray[Any]) -> NDArray[Any]:
        at, level = len(done), found[len(done)]
        if level.sigma == 0:
            done.append(None)
            return pixels
        image, piece = cleaned(
            job, pixels, level, lambda part, state: move(at + part, f"{level.label} {state}".strip())
        )
        done.append(piece)
        return image

    def parts() -> Iterator[NDArray[Any]]:
        for plane in planes(picture):
            if joint or plane.pixels.ndim == 2:
                yield clean(plane.pixels)
            else:
                yield np.stack([clean(plane.pixels[..., at]) for at in range(plane.pixels.shape[-1])], axis=-1)

    return joined(picture, parts()), done


def pieces_of(picture: Picture, joint: bool) -> Iterator[tuple[str, NDArray[Any]]]:
    """What is denoised at once, with a label: planes, or each colour of each plane."""
    from epitomes.formats import planes

    for plane in planes(picture):
        if joint or plane.pixels.ndim == 2:
            yield plane.label, plane.pixels
        else:
            for at in range(plane.pixels.shape[-1]):
                yield ", ".join([*([plane.label] if plane.label else []), f"C {at}"]), plane.pixels[..., at]


def _level(job: Job, pixels: NDArray[Any], label: str, name: str) -> Level:
    from epitomes.noise import estimate_noise, fit_poisson_gaussian

    if job.sigma is not None:
        return Level(label, job.sigma)
    try:
        noise = estimate_noise(pixels, channel_axis=None if pixels.ndim == 2 else -1)
        if noise.sigma > 0 and job.poisson:
            return Level(label, 1.0, fit_poisson_gaussian(pixels, offset=job.offset))
        return Level(label, noise.sigma, noise)
    except ValueError as error:
        raise CommandError(
            INPUT, f"{name}: its noise cannot be estimated: {error}; give its level with --sigma"
        ) from error


def cleaned(job: Job, pixels: NDArray[Any], level: Level, move: Move) -> tuple[NDArray[Any], Piece]:
    """One piece: even out its noise, denoise it, and go back."""
    from epitomes.noise import anscombe, inverse_anscombe

    if level.model is None:
        restored, recipe = _restored(job, pixels, level.sigma, move)
        image = restored.image
    else:
        restored, recipe = _restored(job, anscombe(pixels, level.model), level.sigma, move)
        image = _like(pixels.dtype, inverse_anscombe(restored.image, level.model))
    return image, Piece(restored.epitome, restored.fit, recipe, restored.nonzeros, restored.seconds)


def _restored(job: Job, pixels: NDArray[Any], sigma: float, move: Move) -> tuple[Restored, Recipe | None]:
    from epitomes import restoration
    from epitomes.restoration.recipe import PRICE

    move(0.0, "")
    if job.method is Method.nonlocal_:
        return restoration.denoise(
            pixels,
            sigma,
            method=job.method.value,
            preset=job.preset.value,
            epitome=job.epitome,
            seed=job.seed,
            threads=job.threads,
            on_pass=lambda done, total: move(done / total, f"pass {done} of {total}"),
        ), None
    recipe = None
    if job.learns:
        recipe = (restoration.several if job.several else restoration.single)(pixels, sigma, price=job.price or PRICE)
        recipe = replace(recipe, lam=job.lam or recipe.lam, n_steps=job.steps or recipe.n_steps)
    n_steps = 1 if recipe is None else recipe.n_steps

    def callback(step: Step) -> None:
        move(step.progress.index / n_steps, state_of(step))

    restored = restoration.denoise(
        pixels,
        sigma,
        method=job.method.value,
        epitome=job.epitome,
        recipe=recipe,
        gain=job.gain,
        blend=job.blend,
        seed=job.seed,
        threads=job.threads,
        callback=callback,
    )
    return restored, recipe


def _like(dtype: np.dtype[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Values in a dtype; whole numbers are rounded and kept in range."""
    import numpy as np

    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        values = np.clip(np.rint(values), limits.min, limits.max)
    return values.astype(dtype, copy=False)


def for_commands(reason: str) -> str:
    """The library names functions; here they are options."""
    return reason.replace("see fit_poisson_gaussian", "add --poisson").replace("see estimate_noise", "leave it out")
