"""ReportData: everything that a report shows. The images and the noise level are required, the rest is optional."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import as_floats
from epitomes.epitome import Epitome
from epitomes.learn import Fit

Fact = str | int | float | bool | None


class Figures(Protocol):
    """Anything that gives its numbers as plain values."""

    def as_dict(self) -> Mapping[str, Any]: ...


class NoiseModel(Figures, Protocol):
    """A noise model, for example `epitomes.noise.Noise`."""

    def describe(self) -> str:
        """Describe the noise in a few words."""
        ...

    @property
    def estimated(self) -> bool:
        """Whether the noise was estimated from the image; otherwise the user set it."""
        ...

    @property
    def doubts(self) -> Sequence[str]:
        """Reasons why the estimate may be wrong; none if it is reliable."""
        ...


class AuditResult(Figures, Protocol):
    """An audit of the residual, for example `epitomes.validation.Audit`."""

    @property
    def verdict(self) -> str: ...

    @property
    def reasons(self) -> Sequence[str]:
        """Reasons for a warning; none if the audit passed."""
        ...

    @property
    def advice(self) -> Sequence[str]: ...

    @property
    def leak_map(self) -> NDArray[Any]: ...


class RiskEstimate(Figures, Protocol):
    """An estimate of the error without the clean image, for example `epitomes.validation.Sure`."""

    @property
    def psnr(self) -> float: ...

    @property
    def interval(self) -> tuple[float, float]: ...

    @property
    def peak(self) -> float: ...

    @property
    def reference(self) -> str:
        """The range that the PSNR refers to, in words."""
        ...


class PixelErrors(Figures, Protocol):
    """An estimate of the error of every pixel, for example `epitomes.validation.ErrorMap`."""

    @property
    def std(self) -> NDArray[Any]: ...


@dataclass(frozen=True, eq=False)
class Volume:
    """A volume or clip before and after: `(planes, height, width)`, or with three colours last."""

    noisy: NDArray[Any]
    restored: NDArray[Any]
    clip: bool = False  # planes are frames

    def __post_init__(self) -> None:
        if self.noisy.ndim not in (3, 4) or self.noisy.shape[3:] not in ((), (3,)):
            raise ValueError(f"a volume needs (planes, height, width) or colours last, got shape {self.noisy.shape}")
        if self.restored.shape != self.noisy.shape:
            raise ValueError(
                f"noisy has shape {self.noisy.shape} and restored has {self.restored.shape}: they must be equal"
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class ReportData:
    """Content of a report: one denoised image, how it was made, and what is known about its quality.

    Parameters
    ----------
    noisy : ndarray
        The noisy image, ``(H, W)`` or ``(H, W, 3)``, of any real dtype. Of a stack or volume, give one plane and say in
        `notes` which one.
    restored : ndarray
        The denoised image, of the same shape.
    sigma : float or ndarray
        Standard deviation of the noise, in the units of the image: one number, one per channel, or a map.
    noise : Noise, optional
        The noise model that was used. If None, the user set the level.
    name : str, optional
        Title of the report, usually the file name.
    command : str, optional
        Command line that makes the same result again.
    audit : Audit, optional
        What the residual says about the result, from `epitomes.audit`. Without it the verdict is never "Looks good".
    sure : Sure, optional
        Estimate of the PSNR, from `epitomes.validation.sure`.
    error : ErrorMap, optional
        Estimate of the error of each pixel, from `epitomes.validation.error_map`.
    epitome : Epitome, optional
        The epitome that was used.
    fit : Fit, optional
        How the epitome was learned.
    atoms_per_patch : float, optional
        Mean number of atoms in the code of a patch.
    seconds : mapping of str to float, optional
        Time of each step of the computation.
    settings : mapping of str to str, int, float, bool or None, optional
        Parameters of the method. The opening shows ``settings["method"]`` and ``settings["preset"]``.
    plan : sequence of str, optional
        Short sentences that say why these settings were chosen.
    notes : sequence of str, optional
        Anything else that the reader must know.
    volume : Volume, optional
        The volume or clip that the plane belongs to: the page shows its planes with sliders.
    flicker : Flicker, optional
        Change from plane to plane in still areas, from `epitomes.validation.flicker`.

    Raises
    ------
    ValueError
        If the images are not single planes of the same shape, if a map has another shape, or if `sigma` is negative or
        not finite.

    See Also
    --------
    write_report : Write the report to a file.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.reports import ReportData
    >>> noisy = np.random.default_rng(0).normal(100.0, 5.0, (32, 32))
    >>> data = ReportData(noisy=noisy, restored=np.full((32, 32), 100.0), sigma=5.0, name="flat.png")
    >>> data.level
    5.0
    """

    noisy: NDArray[Any]
    restored: NDArray[Any]
    sigma: float | NDArray[Any]
    noise: NoiseModel | None = None
    name: str = "image"
    command: str = ""
    audit: AuditResult | None = None
    sure: RiskEstimate | None = None
    error: PixelErrors | None = None
    epitome: Epitome | None = None
    fit: Fit | None = None
    atoms_per_patch: float | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Fact] = field(default_factory=dict)
    plan: Sequence[str] = ()
    notes: Sequence[str] = ()
    volume: Volume | None = None
    flicker: Figures | None = None

    def __post_init__(self) -> None:
        noisy, restored = np.asarray(self.noisy), np.asarray(self.restored)
        if noisy.ndim not in (2, 3) or noisy.shape[2:] not in ((), (1,), (3,)):
            raise ValueError(
                f"a report shows one plane, (H, W) or (H, W, 3), got shape {noisy.shape}: "
                "give one plane of a stack, and say in notes which one"
            )
        if restored.shape != noisy.shape:
            raise ValueError(f"noisy has shape {noisy.shape} and restored has {restored.shape}: they must be equal")
        level = np.asarray(self.sigma, np.float64)
        if level.size == 0 or not (np.isfinite(level).all() and (level >= 0).all()):
            raise ValueError("sigma must be finite and 0 or above everywhere: give the level of the noise")
        maps = {
            "error.std": None if self.error is None else self.error.std,
            "audit.leak_map": None if self.audit is None else self.audit.leak_map,
        }
        for name, found in maps.items():
            if found is not None and found.shape[:2] != noisy.shape[:2]:
                raise ValueError(f"{name} has shape {found.shape}, the image {noisy.shape}: give a map of this image")
        object.__setattr__(self, "noisy", noisy)
        object.__setattr__(self, "restored", restored)

    @property
    def before(self) -> NDArray[Any]:
        """The noisy image as floats; a single channel is dropped."""
        return _plane("noisy", self.noisy)

    @property
    def after(self) -> NDArray[Any]:
        """The denoised image as floats; a single channel is dropped."""
        return _plane("restored", self.restored)

    @property
    def level(self) -> float:
        """The noise level as one number: `sqrt(mean(sigma^2))`."""
        return math.sqrt(float(np.mean(np.square(np.asarray(self.sigma, np.float64)))))


def _plane(name: str, value: NDArray[Any]) -> NDArray[Any]:
    pixels = as_floats(name, value)
    return pixels[..., 0] if pixels.shape[2:] == (1,) else pixels
