"""From a denoised picture to its report: what is known of the result without the clean picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from epitomes.cli.planewise import Job, Level, Method, Piece, cleaned
from epitomes.cli.progress import Move

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epitomes.formats import Picture, Plane
    from epitomes.noise import NoiseEstimate, PoissonFit
    from epitomes.reports import Story

LEAST_SIDE = 16  # pixels: the audit judges nothing smaller
COLOURS = 3


def story_of(
    job: Job,
    picture: Picture,
    clean: Picture,
    found: list[Level],
    pieces: list[Piece | None],
    *,
    name: str,
    command: str,
    move: Move,
) -> Story | None:
    """The story of the picture, of a stack the story of its middle plane; None if there was no noise to take off.

    The error is estimated by denoising twice more, each time with a little noise added.
    """
    import numpy as np

    from epitomes.reports import Story
    from epitomes.restoration import Restored
    from epitomes.validation import audit, error_map

    place = _place(picture, pieces)
    if place is None:
        return None
    plane, at, per = place
    noisy, image = plane.pixels, clean.pixels[plane.index]
    if noisy.ndim == 3 and noisy.shape[2] != COLOURS:  # a page shows grey or three colours
        noisy, image, per = noisy[..., 0], image[..., 0], 1
    levels = found[at : at + per]
    known = [piece for piece in pieces[at : at + per] if piece is not None]
    restored = Restored(
        image,
        known[0].epitome,
        known[0].fit,
        sum(piece.nonzeros for piece in known) / len(known),
        sum(piece.seconds for piece in known),
    )
    sigma: Any = np.stack([_map(level, part) for level, part in zip(levels, _channels(image, per), strict=True)], -1)
    sigma = sigma[..., 0] if per == 1 else sigma

    def denoiser(pixels: NDArray[Any]) -> NDArray[Any]:
        parts = [
            cleaned(job, part, level, lambda done, state: move(done, f"judging {state}"))[0]
            for part, level in zip(_channels(pixels, per), levels, strict=True)
        ]
        return parts[0] if per == 1 else np.stack(parts, axis=-1)

    large = min(noisy.shape[:2]) >= LEAST_SIDE
    errors = error_map(noisy, image, sigma, denoiser) if large and not job.poisson else None
    return Story(
        noisy=noisy,
        restored=restored,
        sigma=float(sigma) if np.ndim(sigma) == 0 else sigma,
        name=name,
        command=command,
        noise=_source(levels, noisy),
        audit=audit(noisy, image, sigma) if large else None,
        sure=None if errors is None else errors.sure,
        error=errors,
        settings=_settings(job, known[0]),
        notes=_notes(job, picture, plane, large),
    )


def command_of(words: list[str]) -> str:
    """The command line as it can be typed again."""
    import shlex

    return shlex.join(["epitomes", *words])


def middle_first(n: int) -> list[int]:
    """Numbers below n, the middle one first, then its neighbours."""
    return sorted(range(n), key=lambda at: (abs(at - n // 2), at))


def plane_note(picture: Picture, plane: Plane) -> list[str]:
    """Which plane of several a page shows."""
    from epitomes.formats import count_planes

    n = count_planes(picture)
    return [f"This is plane {plane.label} of {n}; the others were denoised alike, plane by plane"] if n > 1 else []


def _place(picture: Picture, pieces: list[Piece | None]) -> tuple[Plane, int, int] | None:
    """The plane to show, the number of its first piece, and how many pieces it has."""
    from epitomes.formats import planes

    every = list(planes(picture))
    per = len(pieces) // len(every)
    for at in middle_first(len(every)):
        if all(piece is not None for piece in pieces[at * per : (at + 1) * per]):
            return every[at], at * per, per
    return None


def _channels(pixels: NDArray[Any], per: int) -> list[NDArray[Any]]:
    return [pixels] if per == 1 else [pixels[..., at] for at in range(per)]


def _map(level: Level, image: NDArray[Any]) -> Any:
    """The noise level: a number, or a map where it follows the brightness."""
    import numpy as np

    if level.model is None:
        return np.float64(level.sigma)
    least = level.model.offset + level.model.gain  # one count: nothing is without noise
    return np.sqrt(level.model.variance(np.maximum(image, least)))


def _source(levels: list[Level], noisy: NDArray[Any]) -> NoiseEstimate | PoissonFit | None:
    """How the noise was found: of colours that were looked at one by one, all of them."""
    from epitomes.noise import estimate_noise

    if len(levels) == 1 or levels[0].source is None or levels[0].model is not None:
        return levels[0].source
    return estimate_noise(noisy, channel_axis=-1)


def _settings(job: Job, piece: Piece) -> dict[str, str | int | float | bool | None]:
    settings: dict[str, str | int | float | bool | None] = {"method": job.method.value, "seed": job.seed}
    if job.method is Method.nonlocal_:
        return {**settings, "preset": job.preset.value}
    if piece.recipe is not None:
        settings |= {"lam": piece.recipe.lam, "steps": piece.recipe.n_steps}
    return {**settings, "gain": job.gain, "blend": job.blend}


def _notes(job: Job, picture: Picture, plane: Plane, large: bool) -> tuple[str, ...]:
    notes = plane_note(picture, plane)
    if job.choice is not None:
        notes.append(f"The settings were chosen from the noisy picture, {job.choice.explain()}")
    if not large:
        notes.append(f"A picture with a side below {LEAST_SIDE} pixels is too small to be judged")
    elif job.poisson:
        notes.append("The noise grows with brightness: its level is a map, and the error was not estimated")
    return tuple(notes)
