"""`epitomes learn`: an epitome from pictures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from epitomes.cli.common import (
    MOST_PIXELS,
    Json,
    MaxPixels,
    Overwrite,
    Result,
    Seed,
    Threads,
    answer,
    examples,
    read,
    require_goal,
    size,
)
from epitomes.cli.errors import tell, usage
from epitomes.cli.plan import Plan, resumed, steps_of
from epitomes.cli.progress import watching
from epitomes.cli.starts import Start

if TYPE_CHECKING:
    from epitomes.checks import Array
    from epitomes.learn import Fit, Progress, Step

EXAMPLES = examples(
    "learn photo.png -o photo.epitome --sigma 10",
    "learn a.jpg b.jpg -o both.epitome --lam 60 --sample 15000 --json",
)


def learn(
    images: Annotated[list[Path], typer.Argument(metavar="IMAGE", help="pictures: PNG, TIFF, JPEG or NPY")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="the model file, .epitome")],
    lam: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="price of a coefficient, in the picture's own units; needed unless --sigma is given"
        ),
    ] = None,
    sigma: Annotated[
        float | None,
        typer.Option(metavar="X", help="noise level of the pictures, in their own units: lam becomes 4 sigma"),
    ] = None,
    width: Annotated[int, typer.Option(metavar="N", min=1, help="width of an epitome in pixels")] = 42,
    count: Annotated[int, typer.Option(metavar="N", min=1, help="number of epitomes")] = 1,
    patch: Annotated[int, typer.Option(metavar="N", min=1, help="width of a patch in pixels")] = 8,
    start: Annotated[
        Start, typer.Option(help="begin with natural pictures, smooth noise, pieces of the data or cosines")
    ] = Start.natural,
    steps: Annotated[int, typer.Option(metavar="N", min=1, help="steps of learning at most, over all scales")] = 30,
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="patches drawn for each step; all unless given (2048 if --online)"),
    ] = None,
    scales: Annotated[int, typer.Option(metavar="N", min=1, max=3, help="learn on reduced pictures first")] = 1,
    online: Annotated[bool, typer.Option("--online", help="small batches of patches, and moments that forget")] = False,
    seconds: Annotated[float | None, typer.Option(metavar="X", help="stop after this time")] = None,
    tol: Annotated[
        float | None,
        typer.Option(metavar="X", min=0, help="stop once the objective falls by less than this part of itself"),
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="keep the last step in this file, always whole")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on from the checkpoint")] = False,
    seed: Seed = 0,
    threads: Threads = None,
    json: Json = False,
    overwrite: Overwrite = False,
    max_pixels: MaxPixels = MOST_PIXELS,
) -> None:
    """Learn an epitome from one picture or several.

    Codes of the patches and pixels of the epitome are improved in turn. The larger the price lam, the fewer atoms a
    patch uses.
    """
    price = _price(lam, sigma)
    _require_sense(images, width, patch, scales, online, steps, seconds)
    require_goal(output, overwrite)
    _require_checkpoint(checkpoint, output, resume, overwrite)
    if lam is None:
        tell(f"lam is 4 sigma = {price:g}")
    plan = Plan(width, count, patch, start, price, steps, sample, scales, online, seed, threads)
    pictures = _read(images, max_pixels)
    began = time.perf_counter()
    after, history = resumed(plan, pictures, checkpoint) if resume and checkpoint is not None else (None, ())
    try:
        fit = _fit(plan, pictures, after, history, seconds, tol, checkpoint)
    except KeyboardInterrupt:
        if checkpoint is not None and checkpoint.exists():
            tell(f"the last step is safe in {checkpoint}: the same command with --resume goes on from it")
        raise
    _save(output, fit, plan, sigma, images, overwrite)
    answer(_result(fit, output, price, time.perf_counter() - began), json)


def _price(lam: float | None, sigma: float | None) -> float:
    for name, value in (("--lam", lam), ("--sigma", sigma)):
        if value is not None and not 0 < value < float("inf"):
            raise usage(f"{name} must be above 0, in the picture's own units, got {value:g}")
    if lam is not None:
        return lam
    if sigma is None:
        raise usage(
            "--lam is needed: the price of a coefficient in the picture's own units, for example --lam 60 for values\n"
            "from 0 to 255; or give --sigma, the noise level, and lam becomes 4 sigma"
        )
    return 4 * sigma


def _require_sense(
    images: list[Path], width: int, patch: int, scales: int, online: bool, steps: int, seconds: float | None
) -> None:
    if patch > width:
        raise usage(f"--patch {patch} does not fit in --width {width}: make the epitome wider")
    if scales > 1 and online:
        raise usage("--online knows one scale: leave out --online or --scales")
    if scales > 1 and len(images) > 1:
        raise usage("--scales needs a single picture: give one, or leave it out")
    if steps < scales:
        raise usage(f"--steps {steps} is less than one for each of {scales} scales: raise it")
    if seconds is not None and not seconds > 0:
        raise usage(f"--seconds must be above 0, got {seconds:g}")


def _require_checkpoint(checkpoint: Path | None, output: Path, resume: bool, overwrite: bool) -> None:
    if checkpoint is None:
        if resume:
            raise usage("--resume needs --checkpoint FILE, the file to go on from")
        return
    require_goal(checkpoint, overwrite=True, option="--checkpoint")
    if checkpoint.resolve() == output.resolve():
        raise usage("--checkpoint and --output name the same file: give them different names")
    if checkpoint.exists() and not resume and not overwrite:
        raise usage(f"--checkpoint {checkpoint} exists already: --resume goes on from it, --overwrite begins anew")


def _read(paths: list[Path], max_pixels: int) -> list[Array]:
    from epitomes.checks import as_floats

    pictures = [read(path, max_pixels).pixels for path in paths]
    kinds = {(str(pixels.dtype), pixels.shape[2:]) for pixels in pictures}
    if len(kinds) > 1:
        found = ", ".join(sorted(f"{dtype} with {(more or (1,))[0]} channel(s)" for dtype, more in kinds))
        raise usage(f"the pictures must be of one kind, with one scale of grey levels; got {found}")
    return [as_floats("image", pixels[..., 0] if pixels.shape[2:] == (1,) else pixels) for pixels in pictures]


def _fit(
    plan: Plan,
    pictures: list[Array],
    after: Step | None,
    history: tuple[Progress, ...],
    seconds: float | None,
    tol: float | None,
    checkpoint: Path | None,
) -> Fit:
    from epitomes.learn import Fit, run

    if after is not None and after.progress.index >= plan.steps:
        return Fit(after.epitome, history, f"{after.progress.index} steps were done before")
    with watching("learning", plan.steps - len(history)) as callback:
        return run(
            steps_of(plan, pictures, after),
            max_steps=plan.steps,
            tol=tol,
            seconds=seconds,
            callback=callback,
            checkpoint=checkpoint,
            history=history,
        )


def _save(output: Path, fit: Fit, plan: Plan, sigma: float | None, images: list[Path], overwrite: bool) -> None:
    from epitomes.model_file import Provenance, save

    origin = Provenance(
        lam=plan.lam,
        sigma=sigma,
        seed=plan.seed,
        n_steps=len(fit.history),
        source=", ".join(path.name for path in images)[:500],
        note=f"start: {plan.start}; {fit.reason}",
    )
    save(output, fit.epitome, origin, overwrite=overwrite)


def _result(fit: Fit, output: Path, lam: float, seconds: float) -> Result:
    last, phi = fit.history[-1], fit.epitome.phi
    facts = {
        "output": str(output),
        "epitome_shape": list(phi.epitome_shape),
        "patch_shape": list(phi.patch_shape),
        "n_atoms": phi.n_atoms,
        "lam": lam,
        "n_steps": len(fit.history),
        "objective": last.objective,
        "atoms_per_patch": last.sparsity,
        "n_unused": last.n_unused,
        "reason": fit.reason,
        "seconds": seconds,
        "objectives": [progress.objective for progress in fit.history],
    }
    line = (
        f"learned {size(phi.epitome_shape)} in {len(fit.history)} steps, {seconds:.1f} s ({fit.reason}): objective "
        f"{last.objective:.6g} per patch, {last.sparsity:.2f} atoms per patch, in {output}"
    )
    return Result(line, facts)
