"""Volumes, clips and their time series, as `NonLocal` takes them: across planes and time points, or one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from epitomes.checks import Array
from epitomes.colours import CELL
from epitomes.epitome import Epitome
from epitomes.noise import BlockSpectrum
from epitomes.restoration.method import Callback, Estimate, float_type, within
from epitomes.restoration.non_local.colour import Turn, turn_for
from epitomes.restoration.non_local.volumes import (
    SHARED,
    Series,
    Whole,
    arranged,
    best_times,
    chosen,
    cosine_dictionary,
    denoise_frames,
    denoise_series,
    denoise_volume,
    measured,
    named,
    related,
    shape_of,
    support_of_stages,
    trial_share,
)
from epitomes.restoration.whole_image import Support, WholeImage

REACHING = {"aligned": "aligned along their motion", "shared": "denoised by what many of them share"}


@dataclass(frozen=True, kw_only=True, eq=False)
class AcrossPlanes:
    """Settings of `NonLocal` for groups across planes and time points; volumes are `(planes, height, width[, c])`."""

    preset: str
    planes: str  # an arrangement, or "auto"
    spacing: float | None
    times: str  # "joined", "mixed", "single" or "auto"
    epitome: Epitome | None  # with three-dimensional patches; None: cosines
    whole: WholeImage | None = None  # what a part of a volume must know of it; None: it is no part

    def run(
        self, image: Array, sigma: float, *, seed: int, threads: int | None, callback: Callback | None
    ) -> Estimate | None:
        """Denoise a volume or clip with white noise; None if neighbouring planes have little in common."""
        if self.whole is None and self.planes == "auto" and self.epitome is None and not related(image, sigma):
            return None
        share, dtype = 0.0, float_type(image)
        if self.whole is None:
            share = trial_share(shape_of(image), self.planes, self.spacing, self.preset)
            choose = arranged if self.epitome is None else chosen
            trial = within(callback, 0.0, share)
            how = choose(image, sigma, self.planes, self.spacing, self.preset, seed, threads, trial)
        else:
            how = self._known(None).arrangement
        used = cosine_dictionary(how.coding.patch) if self.epitome is None else self.epitome
        rest = within(callback, share, 1.0)
        if how is SHARED:
            frames = denoise_frames(image, sigma, preset=self.preset, dtype=dtype, threads=threads, callback=rest)
            return Estimate(np.stack(list(frames)), used, None, 0.0, how=how.words)
        found = denoise_volume(
            image,
            sigma,
            measured(image, sigma, how) if self.whole is None else self._known(turn_for(self.whole, image[0])),
            preset=self.preset,
            epitome=self.epitome,
            dtype=dtype,
            threads=threads,
            callback=rest,
        )
        return Estimate(found, used, None, 0.0, how=how.words)

    def for_parts(self, sample: Array, sigma: float) -> WholeImage:
        """What parts of a volume must know, from a sample of it; refuses modes that reach across all of it."""
        if self.planes in REACHING:
            raise ValueError(
                f"planes that are {REACHING[self.planes]} reach across all of a volume: use planes='wide' or 'auto', "
                "or denoise a clip from frames to frames"
            )
        if self.planes == "auto" and self.epitome is None and not related(sample, sigma):
            raise ValueError("neighbouring planes have little in common: use NonLocal(planes='single')")
        arrangement = chosen(sample, sigma, self.planes, self.spacing, self.preset, 0, None, lying=True)
        found = measured(sample, sigma, arrangement)
        return WholeImage(
            levels=(),
            double=(),
            mean=found.mean,
            contrast=found.contrast,
            turned=found.turn is CELL,
            arrangement=arrangement.name,
        )

    def support(self) -> Support:
        """Which voxels around a part reach into it, once this is settled."""
        return support_of_stages(self.preset, self._known(None), self.epitome)

    def _known(self, turn: Turn) -> Whole:
        whole = self.whole
        assert whole is not None  # it was settled
        return Whole(whole.mean, whole.contrast, turn, named(whole.arrangement, self.spacing)[0], part=True)

    @property
    def joins(self) -> bool:
        """Whether time points may be denoised together."""
        return self.times != "single" and self.epitome is None

    def decided(
        self, volumes: Sequence[Array], sigmas: Sequence[float], *, seed: int, threads: int | None
    ) -> tuple[str, str]:
        """`planes` and `times`, by trials on some time points of a series with noise of these levels."""
        first, sigma = volumes[0], sigmas[0]
        if not self.joins:
            return self.planes, "single"
        if self.planes == "auto" and not related(first, sigma):
            return "single", "single"
        arrangement = chosen(first, sigma, self.planes, self.spacing, self.preset, seed, threads)
        if self.times != "auto":
            return arrangement.name, self.times
        return arrangement.name, best_times(Series(volumes, sigmas), arrangement, self.preset, seed, threads)

    def run_series(
        self,
        volumes: Sequence[Array],
        sigmas: Sequence[float],
        *,
        seed: int,
        threads: int | None,
        callback: Callback | None,
    ) -> list[Estimate]:
        """Denoise some time points of a series of volumes together."""
        arrangement = chosen(volumes[0], sigmas[0], self.planes, self.spacing, self.preset, seed, threads)
        images = denoise_series(
            Series(volumes, sigmas, self.times),
            arrangement,
            preset=self.preset,
            dtype=float_type(volumes[0]),
            threads=threads,
            callback=callback,
        )
        what = "time points together" if self.times == "joined" else "volumes together, by what they share"
        how = f"{len(images)} {what}, {arrangement.words}"
        return [Estimate(image, cosine_dictionary(arrangement.coding.patch), None, 0.0, how=how) for image in images]


def is_deep(spatial: tuple[int, ...]) -> bool:
    """Whether spatial axes of these lengths have planes to find groups across."""
    return len(spatial) > 2 and spatial[-3] > 1


def denoised_volume(
    across: AcrossPlanes | None,
    image: Array,
    sigma: float,
    blocks: BlockSpectrum | None,
    each: Callable[..., Estimate],
    seed: int,
    threads: int | None,
    callback: Callback | None,
) -> Estimate:
    """Denoise a volume or clip; each plane by itself, by `each`, if its noise is correlated or planes are unrelated."""
    alone = "as asked for" if across is None else "its noise is correlated"
    if across is not None and blocks is None:
        found = across.run(image, sigma, seed=seed, threads=threads, callback=callback)
        if found is not None:
            return found
        alone = "neighbouring planes have little in common"
    n = len(image)
    estimates = [each(plane, callback=within(callback, k / n, (k + 1) / n)) for k, plane in enumerate(image)]
    stack = np.stack([each.image for each in estimates])
    notes = dict.fromkeys(note for each in estimates for note in each.notes)
    return replace(estimates[0], image=stack, notes=tuple(notes), how=f"each plane by itself: {alone}")
