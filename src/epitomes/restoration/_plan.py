"""Plan: what will be done to an image, and why; printable, saveable, and runnable again."""

from __future__ import annotations

import dataclasses
import math
import os
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epitomes.blocks import n_threads
from epitomes.checks import RNG, Array, as_dtype, as_seed, require_finite, require_real
from epitomes.layout import Layout, Place
from epitomes.noise import Noise
from epitomes.noise.stabilise import Stabilised
from epitomes.restoration._stack import joined_estimates, parts_of, planes_of, told_how
from epitomes.restoration.flux import with_fluxes
from epitomes.restoration.masks import bad_pixels, filled, missing_note
from epitomes.restoration.method import Callback, Estimate, Method, within
from epitomes.restoration.non_local import NonLocal
from epitomes.restoration.non_local.volumes import may_share, memory_of_frames
from epitomes.restoration.patchwise import Patchwise
from epitomes.restoration.planning import Trial
from epitomes.restoration.restored import Restored
from epitomes.restoration.whole_image import WholeImage

UNCHANGED = "no noise was found, and the image is unchanged: pass sigma if there is noise to remove"


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """What will be done to an image, and why.

    Parameters
    ----------
    method : NonLocal or Patchwise
        Denoising method with its settings.
    noise : Noise
        Noise model.
    layout : Layout
        Meaning of the axes of the image.
    trials : tuple of Trial, optional
        Candidates that were compared.
    reasons : tuple of str, optional
        Why the method was chosen.
    seconds : float, optional
        Predicted time; None if nothing was measured.
    time : float, optional
        Time budget in seconds.
    spent : float, default: 0.0
        Seconds that estimating the noise and planning took.

    See Also
    --------
    plan : Make a plan for an image.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import plan
    >>> noisy = np.random.default_rng(0).normal(100, 10, (48, 48))
    >>> chosen = plan(noisy, 10.0)
    >>> chosen.method.label
    'balanced'
    >>> restored = chosen.run(noisy)
    """

    method: Method
    noise: Noise
    layout: Layout
    trials: tuple[Trial, ...] = ()
    reasons: tuple[str, ...] = ()
    seconds: float | None = None
    time: float | None = None
    spent: float = 0.0

    @property
    def planes(self) -> int:
        """Number of planes that are denoised one by one; 1 for an image."""
        planes = planes_of(self.method, self.layout.picture_shape, self.layout.channel_axis is not None)
        return math.prod(self.layout.stack_shape) * len(planes)

    @property
    def memory(self) -> int:
        """Predicted peak memory in bytes, without the input: working copies, sums of a few bands and the result."""
        shape, channels = self.layout.picture_shape, self.layout.n_channels or 1
        plane = math.prod(shape[max(0, self.layout.spatial - 2) : self.layout.spatial])
        if isinstance(self.method, NonLocal) and self.method.prepare(shape, self.layout.n_channels is not None) == 3:
            together = max(map(len, parts_of(self.method, self.layout)))
            # Planes that stages hold, of all time points that may be denoised together, and the result.
            held = plane * channels * together * 1900
            deep = shape[0], shape[1], shape[2]
            if self.method.planes in ("auto", "shared") and together == 1 and may_share(deep, channels):
                held = max(held, memory_of_frames(deep, channels))
            return held + 9 * math.prod(self.layout.shape)
        copies = 20 * channels if isinstance(self.method, NonLocal) else 40  # bytes per pixel
        return plane * copies + shape[self.layout.spatial - 1] * channels * 20_000 + 8 * math.prod(self.layout.shape)

    def _layout(self, shape: tuple[int, ...]) -> Layout:
        """The meaning of the axes of another image."""
        if len(shape) != len(self.layout.shape):
            raise ValueError(
                f"the plan is for images with {len(self.layout.shape)} axes, such as {self.layout.shape}, got shape "
                f"{shape}: make another plan for it"
            )
        return Layout.of(shape, self.layout.channel_axis, self.layout.spatial)

    def explain(self) -> str:
        """Say in one line what will be done and why.

        Returns
        -------
        str
            The label of the method and the reasons.
        """
        return f"{self.method.label}: {'; '.join(self.reasons) or 'as requested'}"

    def __str__(self) -> str:
        planes = f", {self.planes} planes one by one" if self.planes > 1 else ""
        lines = [
            f"method: {self.method.label}{planes}",
            f"noise: {self.noise.describe()}",
            *(f"because: {reason}" for reason in self.reasons),
            f"memory: about {self.memory / 2**20:.0f} MB",
        ]
        if self.seconds is not None:
            lines.append(f"time: about {self.seconds:.2g} s")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON.

        Returns
        -------
        dict
            Method, settings, noise, trials and reasons.
        """
        return {
            "label": self.method.label,
            **settings_of(self.method),
            "noise": self.noise.as_dict(),
            "planes": self.planes,
            "reasons": list(self.reasons),
            "trials": [dataclasses.asdict(trial) for trial in self.trials],
            "seconds": self.seconds,
            "memory": self.memory,
            "time": self.time,
            "seconds_spent": self.spent,
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Read a plan that `save` wrote.

        Parameters
        ----------
        path : path-like
            A JSON file.

        Returns
        -------
        Plan
            The plan.

        Raises
        ------
        ValueError
            If the file is not a plan; the message says what is wrong with it.
        """
        from epitomes.restoration.plan_file import read_plan

        return read_plan(path)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the plan to a JSON file, to run it again on other images.

        Parameters
        ----------
        path : path-like
            Name of the file.
        overwrite : bool, default: False
            Whether an existing file may be replaced.

        Raises
        ------
        ValueError
            If the plan holds an epitome, or its noise model an array of more than 65536 values.
        FileExistsError
            If the file exists and `overwrite` is False.
        """
        from epitomes.restoration.plan_file import write_plan

        write_plan(self, path, overwrite=overwrite)

    def run(
        self,
        image: ArrayLike,
        *,
        mask: ArrayLike | None = None,
        fill: bool = False,
        rng: RNG = 0,
        threads: int | None = None,
        callback: Callback | None = None,
    ) -> Restored:
        """Denoise an image as planned.

        Parameters
        ----------
        image : array_like
            Image of the axes that the plan was made for; its lengths may differ.
        mask : array_like, optional
            Non-zero at bad pixels, which are not used.
        fill : bool, default: False
            Whether bad pixels are estimated. Otherwise they stay as they are.
        rng : Generator, int or None, default: 0
            Random number generator or seed, for learning.
        threads : int, optional
            Number of threads. It changes no bit of the result.
        callback : callable, optional
            Called as ``callback(fraction, stage)``.

        Returns
        -------
        Restored
            The denoised image and how it was made.
        """
        began = time.perf_counter()
        given = require_real("image", image)
        layout = self._layout(given.shape)
        require_run(threads, callback)
        self.method.prepare(layout.picture_shape, layout.channel_axis is not None)  # refused here, before any work
        bad = bad_pixels(given, mask, layout)
        pixels = given if bad is None else filled(given, bad, layout)
        require_finite("image", pixels)
        canonical, channels, seed = layout.canonical(pixels), layout.channel_axis is not None, as_seed(rng)
        clean = np.empty(canonical.shape, pixels.dtype)
        notes, counts = [*missing_note(given, fill)], list[float]()
        first: Estimate | None = None
        if callback is not None:
            callback(0.0, "denoising")
        method, parts = self.method, parts_of(self.method, layout)
        for number, part in enumerate(parts):
            evens = {place: self._even(canonical[place], place, layout) for place in part}
            tell = within(callback, number / len(parts), (number + 1) / len(parts))
            method, joined = joined_estimates(method, evens, channels, seed, threads, tell)
            for count, (place, even) in enumerate(evens.items()):
                picture = canonical[place]
                if even is None:
                    clean[place] = picture
                    notes.append(UNCHANGED)
                    continue
                planes = planes_of(method, picture.shape, channels) if place not in joined else [()]
                whole: Array | None = None
                for at, plane in enumerate(planes):
                    found = joined.get(place) or method.run(
                        np.ascontiguousarray(even.image[plane]),
                        even.sigma,
                        blocks=even.blocks,
                        channels=channels,
                        seed=seed,
                        threads=threads,
                        callback=within(tell, *_share(count, at, len(evens), len(planes))),
                    )
                    if even.blocks is None:
                        settled: WholeImage | None = getattr(method, "whole", None)
                        kept = with_fluxes(even.image[plane], found.image, even.sigma, settled)
                        found = replace(found, image=kept)
                    whole = found.image if plane == () else _placed(whole, plane, found.image, picture.shape)
                    first = replace(found, image=found.image[:0]) if first is None else first
                    notes += found.notes
                    counts.append(found.atoms_per_patch)
                assert whole is not None  # a picture has a plane
                clean[place] = as_dtype(even.back(whole), pixels.dtype)
        estimate = layout.original(clean)
        if callback is not None:
            callback(1.0, "denoising")
        image = estimate
        if bad is not None and not fill:
            image = estimate.copy()
            image[bad] = given[bad]
        return Restored(
            image=image,
            noisy=pixels,
            estimate=estimate,
            plan=self,
            epitome=None if first is None else first.epitome,
            fit=None if first is None else first.fit,
            atoms_per_patch=sum(counts) / max(1, len(counts)),
            seconds=time.perf_counter() - began,
            notes=tuple(dict.fromkeys(notes)),
            how="" if first is None else told_how(method, parts, first.how),
        )

    def _even(self, picture: Array, place: Place, layout: Layout) -> Stabilised | None:
        """A picture of the stack with even noise; None if it has none."""
        noise = self.noise.at(place, layout)
        return None if noise.level == 0 else noise.stabilise(picture, spatial=layout.spatial)


def require_run(threads: int | None, callback: Callback | None) -> None:
    """Refuse, before any work, what would fail in the middle of it."""
    n_threads(threads)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of a fraction and a stage, got {callback!r}")


def _placed(whole: Array | None, plane: Place, part: Array, shape: tuple[int, ...]) -> Array:
    """The estimate of a picture with one more plane in it."""
    whole = np.empty(shape, part.dtype) if whole is None else whole
    whole[plane] = part
    return whole


def _share(picture: int, plane: int, n_pictures: int, n_planes: int) -> tuple[float, float]:
    """From which to which fraction of the work one plane goes."""
    n = n_pictures * n_planes
    first = picture * n_planes + plane
    return first / n, (first + 1) / n


def settings_of(method: Method) -> dict[str, Any]:
    """The settings of a method as plain values; an epitome by its shape."""
    names: dict[type[Any], str] = {NonLocal: "nonlocal", Patchwise: "paper"}
    values: dict[str, Any] = {"method": names.get(type(method), type(method).__name__)}
    settings: Any = method
    for field in dataclasses.fields(settings) if dataclasses.is_dataclass(settings) else ():
        value = getattr(settings, field.name)
        match value:
            case None | bool() | int() | float() | str():
                values[field.name] = value
            case _ if hasattr(value, "phi"):
                values[field.name] = list(value.phi.epitome_shape)
            case _:
                values[field.name] = repr(value)
    return values
