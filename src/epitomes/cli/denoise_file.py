"""One file of `epitomes denoise`: read, denoise, write, report, and print."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epitomes.cli.advice import CommandLine, after_denoise, doubts
from epitomes.cli.common import Result, read_any, require_picture_goal
from epitomes.cli.errors import INPUT, CommandError, tell, usage
from epitomes.cli.noise_options import NoiseOptions, model_of
from epitomes.cli.progress import Callback, progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from epitomes.cli.denoise_store import StoreOptions
    from epitomes.epitome import Epitome
    from epitomes.formats import Picture
    from epitomes.noise import Noise
    from epitomes.reports import ReportData
    from epitomes.restoration import Method, Restored

ESTIMATING = 0.04  # share of the progress bar for noise that is not estimated by `restore`
DENOISING = 0.4  # and for the result, if a report follows that denoises twice more to estimate the error


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """What the options ask for, the same for every file."""

    goals: Mapping[Path, Path]
    noise: NoiseOptions
    mask_file: Path | None
    fill: bool
    keep: float
    method: str | Method | None
    preset: str
    epitome: Epitome | None
    seconds: float | None
    report: Path | None
    save_model: Path | None
    axes: str | None
    series: str | None
    seed: int
    threads: int | None
    overwrite: bool
    max_pixels: int | None
    line: CommandLine
    names: list[Path]  # as typed
    store: StoreOptions

    @cached_property
    def mask(self) -> NDArray[np.bool_] | None:
        """Bad pixels; read where an image is denoised as a whole."""
        return None if self.mask_file is None else read_any(self.mask_file, self.max_pixels).pixels != 0

    def run(self, file: Path) -> Result:
        """Denoise one file."""
        import numpy as np

        from epitomes.checks import as_dtype
        from epitomes.cli.denoise_clip import denoise_clip
        from epitomes.cli.denoise_store import denoise_stored
        from epitomes.formats import write
        from epitomes.restoration import restore
        from epitomes.restoration.diagnosis import is_clip
        from epitomes.restoration.grain import put_back
        from epitomes.restoration.method import within

        goal = self.goals[file]
        require_picture_goal(goal, self.overwrite)
        if (done := denoise_clip(self, file, goal) or denoise_stored(self, file, goal)) is not None:
            return done
        finite = self.mask is None
        read = read_any(file, self.max_pixels, self.axes, series=self.series, finite=finite, missing=True)
        picture = read.by_volume()
        _require_room(file, goal, read)
        if self.fill and self.mask is None and not _has_missing(picture):
            raise usage(f"--fill replaces bad pixels, and {file} holds none: name them with --mask FILE")
        if self.save_model is not None:
            _require_one_epitome(picture, self.preset)
        data = None
        with progress(file.name) as callback:
            share = 1.0 if self.report is None or self.noise.estimates else DENOISING
            given, noise = self.noise.apply(file, picture, partial(self._estimate, callback=callback))
            restored = restore(
                given,
                self.noise.level,
                noise=noise,
                mask=self.mask,
                fill=self.fill,
                method=self.method,
                preset=self.preset,
                epitome=self.epitome,
                time=self.seconds,
                rng=self.seed,
                threads=self.threads,
                callback=within(callback, ESTIMATING if self.noise.estimates else 0.0, share),
            )
            image = restored.image
            if self.keep:  # pixels of the mask hold no grain: they are filled in both images, or the same in both
                image = put_back(restored.noisy if self.fill else given.pixels, image, self.keep)
            clean = as_dtype(image, picture.pixels.dtype)
            if read.between is not None:
                clean = np.moveaxis(clean, read.between - 1, read.between)
            result = read.replace(clean, history=self._history(restored))
            losses = write(goal, result, overwrite=self.overwrite)
            if self.report is not None:
                data = restored.report(
                    self.report,
                    name=picture.name,
                    command=str(self.line),
                    clip=is_clip(picture.axes),
                    overwrite=self.overwrite,
                    threads=self.threads,
                    callback=within(callback, share, 1.0),
                )
        if self.save_model is not None:
            self._save(restored, file)
        for loss in losses:
            tell(f"note: {goal}: {loss}")
        self._tell(restored, file, goal)
        return self._result(restored, read, file, goal, data)

    def _estimate(self, picture: Picture, callback: Callback | None) -> Noise:
        """Estimate the noise as `restore` does, or by the model that the options name."""
        from epitomes.noise import estimate_noise
        from epitomes.restoration.masks import as_mask, filled

        pixels, layout = picture.pixels, picture.layout
        model, offset = model_of(picture, self.noise.poisson, self.noise.rician, self.noise.offset)
        return estimate_noise(
            pixels if self.mask is None else filled(pixels, as_mask(self.mask, layout), layout),
            model=model,
            offset=offset,
            channel_axis=picture.channel_axis,
            spatial=picture.spatial,
            callback=None
            if callback is None
            else lambda done, total: callback(ESTIMATING * done / total, "estimating the noise"),
        )

    def _history(self, restored: Restored) -> list[str]:
        """Lines for the file that is written: with them, the work can be done again."""
        from importlib.metadata import version

        return [
            f"epitomes {version('epitomes')}: {self.line}",
            f"noise: {restored.noise.describe()}",
            f"method: {restored.plan.method.label}",
        ]

    def _save(self, restored: Restored, file: Path) -> None:
        from epitomes.model_file import Provenance, save

        assert self.save_model is not None
        if restored.epitome is None:
            tell(f"warning: {self.save_model} is not written: {file} holds no noise, and no epitome was learned")
            return
        recipe = getattr(restored.plan.method, "recipe", None)
        origin = Provenance(
            lam=None if recipe is None else recipe.lam or recipe.lam_per_sigma * restored.noise.level,
            sigma=restored.noise.level,
            seed=self.seed,
            n_steps=None if restored.fit is None else len(restored.fit.history),
            source=file.name,
            note=f"epitomes denoise, {restored.plan.method.label}",
        )
        save(self.save_model, restored.epitome, origin, overwrite=self.overwrite)

    def _tell(self, restored: Restored, file: Path, goal: Path) -> None:
        """Print how the method was chosen, and doubts."""
        if restored.plan.reasons and not restored.unchanged:
            tell(f"{file}: {restored.plan.method.label} was chosen: {'; '.join(restored.plan.reasons)}")
        for note in restored.notes:
            tell(f"warning: {file}: {note}")
        self.tell_doubts(restored.noise, file, goal)

    def tell_doubts(self, noise: Noise, file: Path, goal: Path) -> None:
        """Print why an estimate of the noise may be wrong."""
        if not noise.estimated:
            return
        if noise.doubts and noise.level > 0:
            tell(f"warning: {file}: the noise estimate has low confidence")
        for text in doubts(noise, after_denoise(self.line.for_file(self.names, file), goal)):
            tell(text)

    def _result(self, restored: Restored, picture: Picture, file: Path, goal: Path, data: ReportData | None) -> Result:
        facts: dict[str, Any] = {
            "input": str(file),
            "output": str(goal),
            "model": None if self.save_model is None else str(self.save_model),
            "report": None if self.report is None else str(self.report),
            "axes": picture.axes,
            "shots": [str(shot) for shot in self.noise.merged(file)],
            "strength": self.noise.strength,
            "keep": self.keep,
            "masked": None if self.mask is None else int(self.mask.sum()),
            **restored.as_dict(),
            "dtype": str(picture.pixels.dtype),  # a mean of shots is of floats
        }
        words = [restored.noise.describe(), restored.plan.method.label]
        if shots := self.noise.merged(file):
            words.append(f"mean of {len(shots)} shots")
        if self.keep:
            words.append(f"{self.keep:.0%} of the removed noise put back")
        if restored.plan.planes > 1:
            words.append(f"{restored.plan.planes} planes")
        if restored.how:
            words.append(restored.how)
        if self.mask is not None:
            words.append(f"{facts['masked']} bad pixels {'filled' if self.fill else 'left unchanged'}")
        words.append(f"{facts['seconds']:.1f} s")
        if self.save_model is not None:
            words.append(f"epitome in {self.save_model}")
        if data is not None:
            facts["audit"] = None if data.audit is None else data.audit.as_dict()
            facts["flicker"] = None if data.flicker is None else data.flicker.as_dict()
            facts["sure"] = None if data.sure is None else data.sure.as_dict()
            words += [] if data.audit is None else [f"audit: {facts['audit']['verdict']}"]
            words += [] if data.flicker is None else [str(data.flicker)]
            if data.sure is not None and math.isfinite(data.sure.psnr):
                words.append(f"estimated PSNR {data.sure.psnr:.2f} dB {data.sure.reference}")
            words.append(f"report in {self.report}")
        return Result(f"{file} -> {goal}: {', '.join(words)}", facts)


def _require_room(file: Path, goal: Path, picture: Picture) -> None:
    """Refuse an output format that cannot hold the image, before the work."""
    from epitomes.formats import ImageFileError, require_format
    from epitomes.formats.registry import suffix_of

    if suffix_of(goal) == suffix_of(file):
        return
    try:
        require_format(goal, picture)
    except ImageFileError as error:
        other = goal.with_name(goal.name.removesuffix(suffix_of(goal)) + ".tif")
        raise CommandError(INPUT, f"{file}: {error}", "-o", str(other)) from error


def _has_missing(picture: Picture) -> bool:
    from epitomes.filling import missing_values

    return missing_values(picture.pixels) is not None


def _require_one_epitome(picture: Picture, preset: str) -> None:
    """Refuse images that learn several epitomes: one for each plane and, by the paper's method, for each channel."""
    if picture.axes not in (("YX", "YXC") if preset == "best" else ("YX",)):
        raise usage(
            f"--save-model needs one grey image, got the axes {picture.axes}: each plane learns its own epitome"
        )
