"""`epitomes inpaint`: complete the missing pixels of images, volumes and clips."""

from __future__ import annotations

import functools
import operator
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from epitomes.cli.batch import each, files_of, goals_of
from epitomes.cli.common import (
    STREAM,
    Axes,
    Json,
    MaxPixels,
    Overwrite,
    Result,
    Seed,
    Threads,
    read_any,
    require_axes,
    require_picture_goal,
)
from epitomes.cli.errors import INPUT, CommandError, tell, usage
from epitomes.cli.frames import require_frames
from epitomes.cli.help import METHOD, NOISE, OUTPUT, examples
from epitomes.cli.progress import progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from epitomes.epitome import Epitome
    from epitomes.formats import Picture

EXAMPLES = examples(
    "inpaint photo.png --mask scratches.png -o clean.png",
    "inpaint scan.tif --mask dust.png -o clean.tif --sigma auto",
    "inpaint data.npy -o complete.npy",
    "inpaint clip.mp4 --frames 3,6,9 -o clean.mkv",
    "inpaint 'frames/*.png' --mask logo.png -o clean --json",
)


class Planes(StrEnum):
    """How the planes of volumes and clips are taken."""

    auto = "auto"
    single = "single"


class Preset(StrEnum):
    """Presets of inpainting."""

    fast = "fast"
    balanced = "balanced"
    best = "best"


def inpaint(
    images: Annotated[
        list[Path],
        typer.Argument(metavar="FILES", help='images, directories or patterns such as "scans/*.tif", - for stdin'),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="completed image, - for stdout, or a directory",
            rich_help_panel=OUTPUT,
        ),
    ],
    mask: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="image that is not 0 at missing pixels [default: NaN are missing]",
            show_default=False,
            rich_help_panel=METHOD,
        ),
    ] = None,
    frames: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help='missing frames or planes, counted from 0: "3,6,9", ranges "10:20", steps "2::3"',
            show_default=False,
            rich_help_panel=METHOD,
        ),
    ] = None,
    planes: Annotated[
        Planes,
        typer.Option(
            metavar="NAME",
            help="how volumes and clips are completed: auto (across planes) or single (plane by plane)",
            rich_help_panel=METHOD,
        ),
    ] = Planes.auto,
    sigma: Annotated[
        str,
        typer.Option(
            metavar="X",
            help="standard deviation of white noise to remove, in the file's units; auto to estimate it",
            autocompletion=lambda: ["auto"],
            rich_help_panel=NOISE,
        ),
    ] = "0",
    preset: Annotated[
        Preset,
        typer.Option(metavar="NAME", help="speed and quality: fast, balanced or best", rich_help_panel=METHOD),
    ] = Preset.balanced,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='epitome to use, written by "epitomes learn"', rich_help_panel=METHOD),
    ] = None,
    suffix: Annotated[
        str | None,
        typer.Option(
            metavar=".TIF", help="format of the files in a directory [default: as read]", rich_help_panel=OUTPUT
        ),
    ] = None,
    json: Json = False,
    overwrite: Overwrite = False,
    axes: Axes = None,
    seed: Seed = 0,
    threads: Threads = None,
    max_pixels: MaxPixels = None,
) -> None:
    """Complete the missing pixels of images, volumes and videos.

    Missing pixels are those at which the --mask image is not 0, those of --frames, and NaN. Dust, scratches, text and
    dead lines are estimated from the pixels beside them, large holes are filled with patches of their surroundings or
    from the planes around them, and missing frames are interpolated along the motion. Known pixels stay as they are
    unless --sigma says that they are noisy.
    """
    require_axes(axes)
    level = _level_of(sigma)
    wanted = None if frames is None else require_frames(frames)
    if wanted is not None and planes is Planes.single:
        raise usage(
            "--frames are interpolated from other planes, and --planes single takes each by itself", "--planes", "auto"
        )
    files = files_of(images)
    goals = goals_of(images, files, output, suffix, overwrite)
    epitome = None
    if model is not None:
        from epitomes.model_file import load

        epitome = load(model)
    job = Job(
        goals=goals,
        mask=None if mask is None else read_any(mask, max_pixels).pixels != 0,
        mask_file=mask,
        frames=wanted,
        single=planes is Planes.single,
        sigma=level,
        preset=preset.value,
        epitome=epitome,
        axes=axes,
        seed=seed,
        threads=threads,
        overwrite=overwrite,
        max_pixels=max_pixels,
    )
    goals[files[0]].parent.mkdir(exist_ok=True)
    each(files, job.run, done="completed", json=json, aside=str(output) == STREAM)


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """What the options ask for, the same for every file."""

    goals: dict[Path, Path]
    mask: NDArray[np.bool_] | None
    mask_file: Path | None
    frames: list[str] | None
    single: bool
    sigma: float | None
    preset: str
    epitome: Epitome | None
    axes: str | None
    seed: int
    threads: int | None
    overwrite: bool
    max_pixels: int | None

    def run(self, file: Path) -> Result:
        """Complete one file."""
        from epitomes.formats import write
        from epitomes.restoration import inpaint

        goal = self.goals[file]
        require_picture_goal(goal, self.overwrite)
        picture = read_any(file, self.max_pixels, self.axes, finite=False)
        missing = self._missing(file, picture)
        share = 0.0 if missing is None else float(missing.mean())
        began = time.perf_counter()
        with progress(file.name) as callback:
            completed = inpaint(
                picture.pixels,
                missing,
                sigma=self.sigma,
                channel_axis=picture.channel_axis,
                spatial=2 if self.single else picture.spatial,
                epitome=self.epitome,
                preset=self.preset,
                rng=self.seed,
                threads=self.threads,
                callback=callback,
            )
            losses = write(goal, picture.replace(completed), overwrite=self.overwrite)
        seconds = time.perf_counter() - began
        for loss in losses:
            tell(f"note: {goal}: {loss}")
        facts = {
            "input": str(file),
            "output": str(goal),
            "missing": share,
            "sigma": "auto" if self.sigma is None else self.sigma,
            "preset": self.preset,
            "seconds": seconds,
        }
        return Result(f"{file} -> {goal}: {share:.1%} missing, {self.preset}, {seconds:.1f} s", facts)

    def _missing(self, file: Path, picture: Picture) -> NDArray[np.bool_] | None:
        """Which values are missing; refuses a file without any, and a mask or frames that do not fit."""
        from epitomes.filling import missing_values
        from epitomes.restoration.masks import as_mask

        found = [] if (nan := missing_values(picture.pixels)) is None else [nan]
        if self.mask is not None:
            try:
                found.append(as_mask(self.mask, picture.layout, planes=picture.spatial == 3 and not self.single))
            except ValueError as error:
                raise self._mask_error(str(error)) from None
        if self.frames is not None:
            found.append(self._whole_frames(file, picture, self.frames))
        missing = functools.reduce(operator.or_, found) if found else None
        if self.sigma == 0 and (missing is None or not missing.any()):
            if self.mask is None:
                raise CommandError(INPUT, f"{file}: no value is NaN: name the missing pixels", "--mask", "mask.png")
            raise self._mask_error("the mask is 0 everywhere, so no pixel is missing")
        if self.mask is not None and self.mask.all():
            raise self._mask_error("no pixel of the mask is 0, so every pixel is missing")
        return missing

    def _mask_error(self, words: str) -> CommandError:
        """A mask that cannot be used, and the command that shows what it holds."""
        return CommandError(INPUT, f"{self.mask_file}: {words}", instead=("info", str(self.mask_file)))

    def _whole_frames(self, file: Path, picture: Picture, frames: list[str]) -> NDArray[np.bool_]:
        """A mask of the frames that the options name."""
        import numpy as np

        from epitomes.cli.frames import chosen_frames

        if picture.spatial != 3:
            raise CommandError(INPUT, f"{file}: --frames needs a volume or clip, got the axes {picture.axes}")
        shape = picture.layout.picture_shape
        try:
            flags = chosen_frames(frames, shape[0])
        except ValueError as error:
            raise CommandError(INPUT, f"{file}: {error}", "--frames", "1") from None
        whole = flags.reshape(-1, *(1 for _ in shape[1:]))
        return picture.layout.original(np.broadcast_to(whole, (*picture.layout.stack_shape, *shape)))


def _level_of(sigma: str) -> float | None:
    """The noise level that `--sigma` sets, None if it is to be estimated."""
    if sigma.strip().lower() == "auto":
        return None
    try:
        level = float(sigma)
    except ValueError:
        raise usage(f"--sigma must be a number of at least 0, or auto, got {sigma!r}") from None
    if not 0 <= level < float("inf"):
        raise usage(f"--sigma must be at least 0, got {level:g}", "--sigma", "auto")
    return level
