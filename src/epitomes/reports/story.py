"""Story: all that a report tells. The images and the noise level are needed; the rest is told where it is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import as_floats
from epitomes.restoration import Restored

Fact = str | int | float | bool | None


class Found(Protocol):
    """How the noise was found, as `epitomes.noise` says it: a dataclass whose numbers are shown, and its doubts."""

    @property
    def reliable(self) -> bool: ...

    @property
    def reason(self) -> str: ...


class Figures(Protocol):
    """Anything that gives its numbers as plain values."""

    def as_dict(self) -> dict[str, Any]: ...


class Judged(Figures, Protocol):
    """An audit."""

    @property
    def verdict(self) -> str: ...

    @property
    def reasons(self) -> Sequence[str]: ...

    @property
    def advice(self) -> Sequence[str]: ...

    @property
    def leak_map(self) -> NDArray[Any]: ...


class Risk(Figures, Protocol):
    """An estimate of the error without the clean image."""

    @property
    def psnr(self) -> float: ...

    @property
    def interval(self) -> tuple[float, float]: ...


class Errors(Figures, Protocol):
    """An estimate of the error of every pixel."""

    @property
    def std(self) -> NDArray[Any]: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Story:
    """One restored image, what was done to it, and what is known of the result."""

    noisy: NDArray[Any]  # (height, width), or (height, width, 3) in colour
    restored: Restored
    sigma: float | NDArray[Any]  # the noise level that was used: one number, one per channel, or a map
    name: str = "image"
    command: str = ""  # that makes the same result again
    noise: Found | None = None  # how sigma was found; None: it was given
    audit: Judged | None = None
    sure: Risk | None = None
    error: Errors | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)  # what took how long
    settings: Mapping[str, Fact] = field(default_factory=dict)
    notes: Sequence[str] = ()  # what the reader must know besides

    def __post_init__(self) -> None:
        noisy, image = np.asarray(self.noisy), np.asarray(self.restored.image)
        if noisy.ndim not in (2, 3) or noisy.shape[2:] not in ((), (1,), (3,)):
            raise ValueError(
                f"a report shows one plane, (height, width) or (height, width, 3), got shape {noisy.shape}: "
                "give one plane of a stack, and say which one in notes"
            )
        if image.shape != noisy.shape:
            raise ValueError(f"noisy has the shape {noisy.shape}, the restored image {image.shape}: they must be equal")
        level = np.asarray(self.sigma, np.float64)
        if level.size == 0 or not (np.isfinite(level).all() and (level >= 0).all()):
            raise ValueError("sigma must be 0 or above, and finite, everywhere")
        maps = {
            "the error map": None if self.error is None else self.error.std,
            "the leak map": None if self.audit is None else self.audit.leak_map,
        }
        for name, found in maps.items():
            if found is not None and found.shape[:2] != noisy.shape[:2]:
                raise ValueError(
                    f"{name} has the shape {found.shape}, the image {noisy.shape}: give those of one image"
                )
        object.__setattr__(self, "noisy", noisy)

    @property
    def before(self) -> NDArray[Any]:
        """The noisy image as floats; a single channel is left out."""
        return _image("noisy", self.noisy)

    @property
    def after(self) -> NDArray[Any]:
        """The restored image, likewise."""
        return _image("restored", self.restored.image)

    @property
    def level(self) -> float:
        """The noise level as one number, the root mean square of a map; what was taken away, if it is 0."""
        found = math.sqrt(float(np.mean(np.square(np.asarray(self.sigma, np.float64)))))
        return found or float(np.std(self.before - self.after))


def _image(name: str, value: NDArray[Any]) -> NDArray[Any]:
    pixels = as_floats(name, value)
    return pixels[..., 0] if pixels.shape[2:] == (1,) else pixels
