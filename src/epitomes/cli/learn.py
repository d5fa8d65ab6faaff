"""`epitomes learn`: learn an epitome from images."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from epitomes.cli.common import (
    Json,
    MaxPixels,
    Overwrite,
    Result,
    Seed,
    Threads,
    answer,
    examples,
    read_any,
    require_goal,
    size,
)
from epitomes.cli.denoise_store import ProgressForm
from epitomes.cli.errors import INPUT, CommandError, tell, usage
from epitomes.cli.executors import Cluster, Workers, require_one_place
from epitomes.cli.help import SCALE
from epitomes.cli.learn_many import is_collection, learn_many, require_no
from epitomes.cli.progress import watching
from epitomes.cli.shards import MaxFailed, ProgressOption, ShardSize

if TYPE_CHECKING:
    from epitomes.formats import Picture
    from epitomes.learn import Fit

EXAMPLES = examples(
    "learn photo.png -o photo.epitome --sigma 10",
    "learn a.jpg b.jpg -o both.epitome --lam 60 --sample 15000 --json",
    "learn clip.mp4 -o clip.epitome --sigma 10 --online",
    "learn 'images/**/*.tif' -o all.epitome --lam 60 --workers 4 --checkpoint run.part",
)


VOLUME_PATCH = 6  # pixels: width of patches of volumes and clips


class Start(StrEnum):
    """Initial epitomes."""

    natural = "natural"
    noise = "noise"
    data = "data"
    dct = "dct"


def learn(
    images: Annotated[
        list[Path],
        typer.Argument(metavar="IMAGE", help="images, volumes or clips to learn from; directories or patterns of many"),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="model file to write (.epitome)")],
    lam: Annotated[
        float | None,
        typer.Option(metavar="X", help="regularisation parameter lambda, in the units of the images"),
    ] = None,
    sigma: Annotated[
        float | None,
        typer.Option(metavar="X", help="noise level, in the units of the images. Without --lam, lambda is 4 sigma"),
    ] = None,
    width: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="width of an epitome in pixels [default: 42, of volumes and clips 20]"),
    ] = None,
    patch: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="width of a patch in pixels [default: 8, of volumes and clips 6]"),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="planes of an epitome of volumes and clips [default: 8]")
    ] = None,
    patch_depth: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="planes of a patch of volumes and clips [default: 4]")
    ] = None,
    count: Annotated[int, typer.Option(metavar="N", min=1, help="number of epitomes")] = 1,
    start: Annotated[
        Start | None,
        typer.Option(
            help="initial epitome: natural images, smooth noise, windows of the first image or cosines "
            "[default: natural, of volumes and clips noise]"
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="maximum number of steps, over all scales [default: 30]"),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(metavar="X", min=0, help="stop when a step lowers the objective by less than this fraction"),
    ] = None,
    seconds: Annotated[float | None, typer.Option(metavar="X", help="stop after this time")] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="patches drawn for each step [default: all, or 2048 with --online], "
            "or from each image of many in each epoch [default: 1000]",
        ),
    ] = None,
    online: Annotated[bool, typer.Option("--online", help="learn from small batches of patches")] = False,
    scales: Annotated[int, typer.Option(metavar="N", min=1, max=3, help="number of scales, from coarse to fine")] = 1,
    epochs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="passes over many images [default: as many as 30 steps need]",
            rich_help_panel=SCALE,
        ),
    ] = None,
    workers: Workers = None,
    cluster: Cluster = None,
    checkpoint: Annotated[Path | None, typer.Option(metavar="FILE", help="save each step in this file")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="continue from the checkpoint")] = False,
    shard: ShardSize = None,
    max_failed: MaxFailed = 0.01,
    progress: ProgressOption = ProgressForm.bar,
    seed: Seed = 0,
    threads: Threads = None,
    json: Json = False,
    overwrite: Overwrite = False,
    max_pixels: MaxPixels = None,
) -> None:
    """Learn an epitome from one image, volume or clip, or from several.

    Sparse coding of the patches and updates of the epitome alternate. The larger the regularisation parameter lambda,
    the fewer atoms a patch uses. Give --lam or --sigma.

    A pattern, a directory, --workers, --cluster or --epochs mean many images, which need not fit in memory. They are
    coded by tasks of --shard images, on threads, processes or a Dask cluster. The result is the same on all of them.
    """
    many = is_collection(images, workers, cluster, epochs)
    _require_lam(lam, sigma)
    _require_sense(images, width, patch, scales, online, steps or 30, seconds)
    if many:
        require_one_place(workers, cluster)
        require_no(steps=steps, tol=tol, seconds=seconds, online=online, scales=scales > 1, max_pixels=max_pixels)
        if start is Start.data:
            raise usage("--start data needs images in memory: use natural, noise or dct", "--start", "noise")
    require_goal(output, overwrite)
    _require_checkpoint(checkpoint, output, resume, overwrite)

    from epitomes.learn import learn_epitome
    from epitomes.learn._learn_epitome import lam_of
    from epitomes.learn._natural import NotShippedError

    value = lam_of(lam, sigma if lam is None else None)
    if lam is None:
        tell(f"lambda is 4 sigma = {value:g}")
    if many:
        volume = depth is not None or patch_depth is not None
        learn_many(
            images,
            output,
            lam=value,
            sigma=sigma,
            shapes=_shapes(3 if volume else 2, width, patch, depth, patch_depth),
            count=count,
            start=(start or (Start.noise if volume else Start.natural)).value,
            sample=sample,
            epochs=epochs,
            shard=shard,
            workers=workers,
            cluster=cluster,
            max_failed=max_failed,
            progress=progress,
            checkpoint=checkpoint,
            resume=resume,
            seed=seed,
            threads=threads,
            json=json,
            overwrite=overwrite,
        )
        return
    steps = steps or 30
    pictures = [_read(path, max_pixels) for path in images]
    shape, patch_shape = _shapes(pictures[0].spatial, width, patch, depth, patch_depth)
    if start is None:
        start = Start.natural if len(shape) == 2 else Start.noise
    began = time.perf_counter()
    done = _done_before(checkpoint) if resume and checkpoint is not None else 0
    try:
        with watching("learning", steps - done) as callback:
            fit = learn_epitome(
                [picture.pixels for picture in pictures],
                epitome_shape=shape,
                patch_shape=patch_shape,
                count=count,
                lam=value,
                start=start.value,
                n_steps=steps,
                sample=sample,
                n_scales=scales,
                online=online,
                tol=tol,
                seconds=seconds,
                channel_axis=_channel_axis(pictures),
                checkpoint=checkpoint,
                resume=resume,
                rng=seed,
                threads=threads,
                callback=callback,
            )
    except NotShippedError as error:
        raise usage(
            f"no natural epitome of {size(shape)} pixels is shipped for --count {count}: add --start noise, or use "
            "--width 42 --count 1"
        ) from error
    except KeyboardInterrupt:
        if checkpoint is not None and checkpoint.exists():
            tell(f"the last step is saved in {checkpoint}: run the same command with --resume to continue")
        raise
    _save(output, fit, value, sigma, seed, start, images, overwrite)
    answer(_result(fit, output, value, time.perf_counter() - began), json)


def _require_lam(lam: float | None, sigma: float | None) -> None:
    for name, value in (("--lam", lam), ("--sigma", sigma)):
        if value is not None and not 0 < value < float("inf"):
            raise usage(f"{name} must be above 0, in the units of the images, got {value:g}")
    if lam is None and sigma is None:
        raise usage(
            "--lam (regularisation parameter) or --sigma (noise level) is needed, in the units of the images",
            "--sigma",
            "10",
        )


def _read(path: Path, max_pixels: int | None) -> Picture:
    """Read an image, volume or clip, grey or in colour."""
    picture = read_any(path, max_pixels)
    axes, shape = picture.axes, picture.pixels.shape
    if axes.removesuffix("C") not in ("YX", "ZYX", "TYX") or (axes.endswith("C") and shape[-1] not in (1, 3)):
        raise CommandError(
            INPUT,
            f"{path}: expected an image, volume or clip, grey or with 3 colours, got the axes {axes} of size "
            f"{size(shape)}",
        )
    return picture


def _shapes(
    spatial: int, width: int | None, patch: int | None, depth: int | None, patch_depth: int | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shapes of an epitome and of its patches, along the spatial axes of the images."""
    shape: tuple[int, ...]
    patch_shape: tuple[int, ...]
    if spatial == 2:
        for name, value in (("--depth", depth), ("--patch-depth", patch_depth)):
            if value is not None:
                raise usage(f"{name} is for volumes and clips, got an image: leave it out")
        wide, side = width or 42, patch or 8
        shape, patch_shape = (wide, wide), (side, side)
    else:
        wide, side = width or 20, patch or VOLUME_PATCH
        shape, patch_shape = (depth or 8, wide, wide), (patch_depth or 4, side, side)
    if patch_shape[-1] > shape[-1]:
        raise usage(f"--patch {patch_shape[-1]} does not fit in --width {shape[-1]}: use a wider epitome")
    if patch_shape[0] > shape[0]:
        raise usage(f"--patch-depth {patch_shape[0]} does not fit in --depth {shape[0]}: use a deeper epitome")
    return shape, patch_shape


def _require_sense(
    images: list[Path],
    width: int | None,
    patch: int | None,
    scales: int,
    online: bool,
    steps: int,
    seconds: float | None,
) -> None:
    if width is not None and (patch or VOLUME_PATCH) > width:  # the smaller of the default widths
        raise usage(f"--patch {patch or VOLUME_PATCH} does not fit in --width {width}: use a wider epitome")
    if scales > 1 and online:
        raise usage("--online works at one scale only: leave out --online or --scales")
    if scales > 1 and len(images) > 1:
        raise usage(f"--scales needs a single image, got {len(images)}: leave out --scales")
    if steps < scales:
        raise usage(f"--steps {steps} is less than one for each of {scales} scales: use more steps")
    if seconds is not None and not seconds > 0:
        raise usage(f"--seconds must be above 0, got {seconds:g}")


def _require_checkpoint(checkpoint: Path | None, output: Path, resume: bool, overwrite: bool) -> None:
    if checkpoint is None:
        if resume:
            raise usage("--resume needs --checkpoint FILE, the file to continue from")
        return
    require_goal(checkpoint, overwrite=True, option="--checkpoint")
    if checkpoint.resolve() == output.resolve():
        raise usage("--checkpoint and --output name the same file: use different names")
    if checkpoint.exists() and not resume and not overwrite:
        raise usage(
            f"--checkpoint {checkpoint} exists already: add --resume to continue from it, or --overwrite to replace it"
        )


def _done_before(checkpoint: Path) -> int:
    """Return the number of steps of the checkpoint, 0 if there is none."""
    from epitomes.learn.checkpoint import load_history

    if not checkpoint.exists():
        tell(f"{checkpoint} does not exist yet: starting from the beginning")
        return 0
    return len(load_history(checkpoint))


def _channel_axis(pictures: list[Picture]) -> int | None:
    """Return the axis of the channels, the same in all images."""
    axes = sorted({picture.axes for picture in pictures})
    if len(axes) > 1:
        raise usage(f"all images must be of one kind, grey or colour, got the axes {' and '.join(axes)}")
    return axes[0].index("C") if "C" in axes[0] else None


def _save(
    output: Path,
    fit: Fit,
    lam: float,
    sigma: float | None,
    seed: int,
    start: Start,
    images: list[Path],
    overwrite: bool,
) -> None:
    from epitomes.model_file import Provenance, save

    origin = Provenance(
        lam=lam,
        sigma=sigma,
        seed=seed,
        n_steps=len(fit.history),
        source=", ".join(path.name for path in images)[:500],
        note=f"start: {start}; {fit.reason}",
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
        f"{last.objective:.6g} per patch, {last.sparsity:.2f} atoms per patch, written to {output}"
    )
    return Result(line, facts)
