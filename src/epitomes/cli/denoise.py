"""`epitomes denoise`: take noise of a known level off a picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epitomes.cli.common import (
    MOST_PIXELS,
    Json,
    MaxPixels,
    Overwrite,
    Result,
    Seed,
    Threads,
    examples,
    read,
    report,
    require_goal,
    require_picture_goal,
    size,
)
from epitomes.cli.errors import tell, usage
from epitomes.cli.progress import Watch, watching

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epitomes.epitome import Epitome
    from epitomes.restore import Recipe, Restored

EXAMPLES = examples(
    "denoise noisy.png -o clean.png --sigma 25",
    "denoise scan.tif -o clean.tif --sigma 300 --model scan.epitome --json",
)


def denoise(
    image: Annotated[Path, typer.Argument(metavar="IN", help="a picture: PNG, TIFF, JPEG or NPY")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="the clean picture")],
    sigma: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="standard deviation of the noise, in the picture's own units: 0 to 255 for 8 bits; needed"
        ),
    ] = None,
    model: Annotated[Path | None, typer.Option(metavar="FILE", help="use this epitome and learn none")] = None,
    several: Annotated[
        bool, typer.Option("--several/--single", help="learn twenty epitomes of 15 x 15, or one of 42 x 42")
    ] = True,
    lam: Annotated[
        float | None, typer.Option(metavar="X", help="price of a coefficient while learning; 4.5 sigma unless given")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="steps of learning; those of the recipe unless given")
    ] = None,
    gain: Annotated[
        float, typer.Option(metavar="X", help="patches may keep (gain * sigma)^2 of error per pixel")
    ] = 1.15,
    blend: Annotated[
        float, typer.Option(metavar="X", min=0, help="weight of the noisy pixel beside its estimates")
    ] = 0.0,
    save_model: Annotated[Path | None, typer.Option(metavar="FILE", help="keep the learned epitome")] = None,
    seed: Seed = 0,
    threads: Threads = None,
    json: Json = False,
    overwrite: Overwrite = False,
    max_pixels: MaxPixels = MOST_PIXELS,
) -> None:
    """Take white Gaussian noise off a picture.

    An epitome is learned from the noisy picture itself, every patch is coded by the fewest of its atoms that explain it
    up to the noise, and every pixel becomes the mean of its estimates. Colours are treated one by one.
    """
    level = _level(sigma)
    _require_sense(model, save_model, lam, steps, gain)
    require_picture_goal(output, overwrite)
    if save_model is not None:
        require_goal(save_model, overwrite, option="--save-model")
        if save_model.resolve() == output.resolve():
            raise usage("--save-model and --output name the same file: give them different names")

    from epitomes import restore
    from epitomes.images import write_picture

    picture = read(image, max_pixels)
    epitome = None if model is None else _loaded(model)
    planes = _planes(picture.pixels, epitome)
    if save_model is not None and len(planes) > 1:
        raise usage("--save-model needs a grey picture: each colour learns an epitome of its own")
    recipe = None
    if epitome is None:
        recipe = (restore.several if several else restore.single)(planes[0], level)
        recipe = replace(recipe, lam=recipe.lam if lam is None else lam, n_steps=steps or recipe.n_steps)

    def restored(plane: NDArray[Any], watch: Watch | None) -> Restored:
        return restore.denoise(
            plane,
            level,
            epitome=epitome,
            recipe=recipe,
            gain=gain,
            blend=blend,
            seed=seed,
            threads=threads,
            watch=watch,
        )

    with watching("learning", 0 if recipe is None else recipe.n_steps * len(planes)) as watch:
        parts = [restored(plane, watch) for plane in planes]
    write_picture(output, _joined(parts, picture.pixels.shape), overwrite=overwrite)
    if save_model is not None and recipe is not None:
        _save(save_model, parts[0].epitome, recipe, level, seed, image, overwrite)
    report(_result(parts, output, level, save_model), json)


def _level(sigma: float | None) -> float:
    if sigma is None:
        raise usage(
            "--sigma is needed: the standard deviation of the noise in the picture's own units, for example\n"
            "--sigma 25 for a picture with values from 0 to 255"
        )
    if not 0 < sigma < float("inf"):
        raise usage(f"--sigma must be above 0, in the picture's own units, got {sigma:g}")
    return sigma


def _require_sense(
    model: Path | None, save_model: Path | None, lam: float | None, steps: int | None, gain: float
) -> None:
    learning = {"--save-model": save_model, "--lam": lam, "--steps": steps}
    given = [name for name, value in learning.items() if value is not None]
    if model is not None and given:
        raise usage(f"{given[0]} is about learning, and with --model nothing is learned: leave one of them out")
    if lam is not None and not 0 < lam < float("inf"):
        raise usage(f"--lam must be above 0, got {lam:g}")
    if not 0 < gain < float("inf"):
        raise usage(f"--gain must be above 0, got {gain:g}")


def _loaded(path: Path) -> Epitome:
    from epitomes.model_file import load

    return load(path)


def _planes(pixels: NDArray[Any], epitome: Epitome | None) -> list[NDArray[Any]]:
    """What `denoise` is given one by one: all of the picture, or each of its colours."""
    rank = 2 if epitome is None else len(epitome.phi.patch_shape)
    if pixels.ndim == rank:
        return [pixels]
    if pixels.ndim == 3 and rank == 2:
        if pixels.shape[2] > 1:
            tell("colours are denoised one by one")
        return [pixels[..., channel] for channel in range(pixels.shape[2])]
    raise usage(f"--model has patches of {rank} axes, the picture has the shape {size(pixels.shape)}: they do not fit")


def _joined(parts: list[Restored], shape: tuple[int, ...]) -> NDArray[Any]:
    import numpy as np

    if len(parts) == 1:
        return parts[0].image.reshape(shape)
    return np.stack([part.image for part in parts], axis=2)


def _save(path: Path, epitome: Epitome, recipe: Recipe, sigma: float, seed: int, image: Path, overwrite: bool) -> None:
    from epitomes.model_file import Provenance, save

    origin = Provenance(lam=recipe.lam, sigma=sigma, seed=seed, n_steps=recipe.n_steps, source=image.name)
    save(path, epitome, origin, overwrite=overwrite)


def _result(parts: list[Restored], output: Path, sigma: float, model: Path | None) -> Result:
    nonzeros = sum(part.nonzeros for part in parts) / len(parts)
    seconds = sum(part.seconds for part in parts)
    histories = [[] if part.fit is None else list(part.fit.history) for part in parts]
    facts = {
        "output": str(output),
        "model": None if model is None else str(model),
        "sigma": sigma,
        "atoms_per_patch": nonzeros,
        "seconds": seconds,
        "objectives": [[progress.objective for progress in history] for history in histories],
    }
    kept = "" if model is None else f", epitome in {model}"
    return Result(f"denoised in {seconds:.1f} s with {nonzeros:.2f} atoms per patch: {output}{kept}", facts)
