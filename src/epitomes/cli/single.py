"""One picture, from file to file: read, denoised, judged if asked, written, and told."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epitomes.cli.auto import settled
from epitomes.cli.common import Result, read_any, require_finite, require_picture, require_picture_goal
from epitomes.cli.errors import tell, usage
from epitomes.cli.mask import filled, read_mask
from epitomes.cli.planewise import Job, Level, Method, Piece, denoised, levels
from epitomes.cli.progress import moving
from epitomes.cli.story import story_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from epitomes.formats import Picture


@dataclass(frozen=True)
class Aside:
    """What the options ask of files, beside the work on planes."""

    axes: str | None
    mask: Path | None  # pixels that are not to be used
    fill: bool  # estimates in their place
    model: Path | None  # to be written
    report: Path | None
    command: str  # as it was typed
    overwrite: bool
    max_pixels: int


def denoise_file(job: Job, file: Path, goal: Path, aside: Aside) -> Result:
    """One picture, from file to file."""
    from epitomes.formats import write

    require_picture(file)
    require_picture_goal(goal, aside.overwrite)
    given = read_any(file, aside.max_pixels, aside.axes, finite=aside.mask is None)
    began = time.perf_counter()
    mask = None if aside.mask is None else read_mask(aside.mask, given, file, aside.max_pixels)
    picture = given if mask is None else filled(given, mask)
    require_finite(file, picture)  # what the mask does not name
    found = levels(job, picture, str(file))
    if aside.model is not None and len(found) > 1:
        raise usage("--save-model needs a grey picture of one plane: each plane or colour learns an epitome of its own")
    job = settled(job, picture, found, str(file), began)
    with moving(file.name, len(found)) as move:
        clean, pieces = denoised(job, picture, found, move)
    kept = clean if mask is None or aside.fill else _with_bad_pixels(clean, given, mask)
    for loss in write(goal, kept, overwrite=aside.overwrite):
        tell(f"{goal}: {loss}")
    if aside.model is not None and (piece := pieces[0]) is not None:
        _save(aside.model, piece, found[0].sigma, job.seed, file, aside.overwrite)
    result = _result(job, picture, found, pieces, file, goal, aside.model, time.perf_counter() - began)
    if mask is not None:
        n, done = int(mask.sum()), "filled" if aside.fill else "left as they were"
        result = Result(f"{result.line}; {n} bad pixels {done}", {**result.facts, "masked": n})
    return result if aside.report is None else _reported(job, picture, clean, found, pieces, file, aside, result)


def _with_bad_pixels(clean: Picture, given: Picture, mask: NDArray[np.bool_]) -> Picture:
    """The clean picture, with the pixels of the mask as they were."""
    import numpy as np

    return replace(clean, pixels=np.where(mask, given.pixels, clean.pixels))


def _reported(
    job: Job,
    picture: Picture,
    clean: Picture,
    found: list[Level],
    pieces: list[Piece | None],
    file: Path,
    aside: Aside,
    result: Result,
) -> Result:
    """The result, with what the report says; the report is written."""
    from epitomes.reports import write_report

    assert aside.report is not None
    with moving(f"judging {file.name}", 1) as move:
        told = story_of(job, picture, clean, found, pieces, name=picture.name, command=aside.command, move=move)
    if told is None:
        tell(f"{aside.report} is not written: {file} holds no noise, and nothing was done to it")
        return result
    if aside.mask is not None:
        told = replace(told, notes=(*told.notes, "Bad pixels, named by a mask, are filled here from their neighbours"))
    write_report(aside.report, told, overwrite=aside.overwrite)
    facts = {
        **result.facts,
        "report": str(aside.report),
        "audit": None if told.audit is None else told.audit.as_dict(),
        "sure": None if told.sure is None else told.sure.as_dict(),
    }
    words = [] if told.audit is None else [f"the audit says {told.audit.verdict}"]
    if told.sure is not None and told.sure.psnr < float("inf"):
        words.append(f"estimated PSNR {told.sure.psnr:.2f} dB")
    return Result(f"{result.line}; {', '.join([*words, f'report in {aside.report}'])}", facts)


def _save(path: Path, piece: Piece, sigma: float, seed: int, image: Path, overwrite: bool) -> None:
    from epitomes.model_file import Provenance, save

    if piece.recipe is None:
        origin = Provenance(sigma=sigma, seed=seed, source=image.name, note="adapted by denoise --preset best")
    else:
        n_steps = piece.recipe.n_steps
        origin = Provenance(lam=piece.recipe.lam, sigma=sigma, seed=seed, n_steps=n_steps, source=image.name)
    save(path, piece.epitome, origin, overwrite=overwrite)


def _result(
    job: Job,
    picture: Picture,
    found: list[Level],
    pieces: list[Piece | None],
    file: Path,
    goal: Path,
    model: Path | None,
    seconds: float,
) -> Result:
    from statistics import median

    from epitomes.formats import count_planes

    n_planes = count_planes(picture)
    worked = [piece for piece in pieces if piece is not None]
    facts = {
        "input": str(file),
        "output": str(goal),
        "model": None if model is None else str(model),
        "method": job.method.value,
        "preset": job.preset.value if job.method is Method.nonlocal_ else None,
        "choice": None if job.choice is None else job.choice.as_dict(),
        "axes": picture.axes,
        "shape": list(picture.pixels.shape),
        "planes": n_planes,
        "plane_by_plane": n_planes > 1,
        "colours": "together" if job.joint(picture) else "one by one" if len(found) > n_planes else None,
        "sigma": median(level.sigma for level in found),
        "estimated": job.sigma is None,
        "reliable": not any(level.reason for level in found),
        "levels": [_level_facts(level) for level in found],
        "atoms_per_patch": sum(piece.nonzeros for piece in worked) / max(1, len(worked)),
        "seconds": seconds,
        "objectives": [[step.objective for step in piece.fit.history] for piece in worked if piece.fit is not None],
    }
    way = "paper" if job.method is Method.paper else f"{job.method.value}, {job.preset.value}"
    words = [f"denoised {file} in {seconds:.1f} s ({way})", _noise_words(job, found)]
    if n_planes > 1:
        words.append(f"{n_planes} planes, plane by plane")
    if facts["colours"]:
        words.append(f"colours {facts['colours']}")
    kept = "" if model is None else f", epitome in {model}"
    return Result(f"{', '.join(words)}: {goal}{kept}", facts)


def _level_facts(level: Level) -> dict[str, Any]:
    facts = {
        "label": level.label,
        "sigma": level.sigma,
        "low": getattr(level.source, "low", level.sigma),
        "high": getattr(level.source, "high", level.sigma),
        "reliable": not level.reason,
        "reason": level.reason,
    }
    if level.model is not None:
        facts |= {"gain": level.model.gain, "offset": level.model.offset, "read_noise": level.model.read_noise}
    return facts


def _noise_words(job: Job, found: list[Level]) -> str:
    """The noise of a picture in a few words."""
    if job.poisson:
        gains = [level.model.gain for level in found if level.model is not None]
        return f"gain {_span(gains)}" if gains else "no noise"
    span = _span([level.sigma for level in found])
    if job.sigma is not None:
        return f"sigma {span}"
    if len(found) > 1:
        return f"sigma {span}, estimated"
    low, high = (getattr(found[0].source, end) for end in ("low", "high"))
    return f"sigma {span}, estimated: {low:.4g} to {high:.4g}"


def _span(values: list[float]) -> str:
    least, most = f"{min(values):.4g}", f"{max(values):.4g}"
    return least if least == most else f"{least} to {most}"
