"""What the arguments of `denoise`, `restore` and `plan` say: the image and its axes, its noise, and the method."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import one_of, positive, require_real
from epitomes.epitome import Epitome
from epitomes.formats import Picture
from epitomes.formats.raw import black_levels
from epitomes.layout import Layout
from epitomes.noise import Noise, find_impulses, find_stripes
from epitomes.restoration.masks import as_mask, bad_pixels, filled
from epitomes.restoration.method import Method
from epitomes.restoration.non_local import NonLocal
from epitomes.restoration.patchwise import Patchwise
from epitomes.restoration.planning import TINY

if TYPE_CHECKING:
    from epitomes.formats.stored import StoredImage  # which needs Pillow; arrays do not

METHODS = ("nonlocal", "paper")
PRESETS = ("auto", "fast", "balanced", "best")
MOST_COLOURS = 4  # a last axis that is no longer is hardly spatial
LEAST_SAMPLE, SAMPLE_PER_SECOND = 2**17, 2**13  # pixels from which noise is estimated within a time limit
LEAST_SIDE = 256  # pixels of such a sample
DEFECTS = 0.25  # share of such a sample in which impulses and stripes are looked for first
LEAST_VALUES = 64  # of an image whose range says something about its noise
UNIT, BYTE, WORD = 2.0, 255.0, 65535.0  # ranges of images: floats around [0, 1], and whole numbers


@dataclass(frozen=True, eq=False)
class Request:
    """The image with the meaning of its axes and its bad pixels."""

    given: NDArray[Any]
    layout: Layout
    mask: NDArray[np.bool_] | None
    black: tuple[float, ...] | None = None  # levels of the channels of a sensor, if it is one
    spacing: float | None = None  # distance of planes over that of pixels, if the file says it
    between: int | None = None  # axis of a picture that was put before its planes; see `Picture.by_volume`

    @classmethod
    def of(
        cls, image: ArrayLike | Picture, channel_axis: int | None, spatial: int | None, mask: ArrayLike | None
    ) -> Request:
        """Read the axes and refuse what cannot be denoised."""
        spacing = between = None
        if isinstance(image, Picture):
            if channel_axis is not None or spatial is not None:
                raise ValueError(
                    f"channel_axis and spatial are known from the axes {image.axes} of the picture: leave them out"
                )
            spacing, black, between = plane_spacing(image), black_levels(image), image.between
            if between is not None and mask is not None and np.shape(mask) == image.pixels.shape:
                mask = np.moveaxis(np.asarray(mask), between, between - 1)
            image = image.by_volume()
            given, layout = image.pixels, image.layout
        elif isinstance(image, (str, os.PathLike)):
            raise TypeError(f"image must be an array or a Picture, got {image!r}: read files with epitomes.read first")
        else:
            given = require_real("image", image)
            if channel_axis is None and spatial is None and _looks_coloured(given.shape):
                raise ValueError(
                    f"image of shape {given.shape} looks like one with {given.shape[-1]} channels: pass "
                    f"channel_axis=-1, or spatial=3 if it is a volume"
                )
            layout, black = Layout.of(given.shape, channel_axis, spatial), None
        return cls(given, layout, None if mask is None else as_mask(mask, layout), black, spacing, between)

    def back(self, pixels: NDArray[Any]) -> NDArray[Any]:
        """An array in the order of the picture's axes."""
        at = self.between
        return pixels if at is None else np.ascontiguousarray(np.moveaxis(pixels, at - 1, at))

    def spaced(self, method: Method) -> Method:
        """The method, told the spacing of the planes if it can use that and was told no other."""
        if self.spacing is None or not isinstance(method, NonLocal) or method.spacing is not None:
            return method
        return replace(method, spacing=self.spacing)

    @cached_property
    def bad(self) -> NDArray[np.bool_] | None:
        """Pixels of the mask, and missing ones."""
        return bad_pixels(self.given, self.mask, self.layout)

    @cached_property
    def pixels(self) -> NDArray[Any]:
        """The image without its bad pixels."""
        bad = self.bad
        pixels = self.given if bad is None else filled(self.given, bad, self.layout)
        if pixels.dtype.kind == "f" and (infinite := int(np.isinf(pixels).sum())):
            raise ValueError(
                f"image holds {infinite} infinite values, of {pixels.size}: leave them out with mask=np.isinf(image), "
                "or set them to NaN, which counts as missing"
            )
        return pixels

    def sample(self, time: float | None, share: float = 1.0) -> NDArray[Any]:
        """The part of the image from which its noise is estimated: all of it, or its middle if there is little time.

        Defects are looked for in a smaller `share` of the part first.
        """
        pixels, layout = self.pixels, self.layout
        if time is None or layout.spatial == 1:
            return pixels
        high, wide = layout.picture_shape[: layout.spatial][-2:]
        area = share * max(LEAST_SAMPLE, time * SAMPLE_PER_SECOND) / max(1, math.prod(layout.stack_shape))
        scale = min(1.0, math.sqrt(area / (high * wide)))
        sides = [min(side, max(LEAST_SIDE, round(scale * side))) for side in (high, wide)]
        rows, columns = (slice((n - m) // 2, (n - m) // 2 + m) for n, m in zip((high, wide), sides, strict=True))
        canonical = layout.canonical(pixels)
        middle = canonical[..., rows, columns, :] if layout.channel_axis is not None else canonical[..., rows, columns]
        return layout.original(middle)

    def without_defects(self, time: float | None = None) -> tuple[Request, tuple[str, ...]]:
        """The request without impulses and stripes, and a note for each that was found.

        With little `time` they are looked for in a part of the image first.
        """
        request, impulses = self.without_impulses(time)
        request, stripes = request.without_stripes(time)
        return request, (*impulses, *stripes)

    def without_stripes(self, time: float | None = None) -> tuple[Request, tuple[str, ...]]:
        """The request without the offsets of its rows and columns, and a note; itself if there are none."""
        layout, part = self.layout, self.sample(time, DEFECTS)
        found = find_stripes(part, channel_axis=layout.channel_axis, spatial=layout.spatial)
        if found.found and part.shape != self.given.shape:
            found = find_stripes(self.pixels, channel_axis=layout.channel_axis, spatial=layout.spatial)
        if not found.found:
            return self, ()
        given = self.given - (found.offsets if self.mask is None else np.where(self.mask, 0, found.offsets))
        if self.given.dtype.kind in "iu":
            limits = np.iinfo(self.given.dtype)
            given = np.clip(np.rint(given), limits.min, limits.max)
        note = f"{found.describe()}: they were subtracted before the noise was removed"
        return replace(self, given=given.astype(self.given.dtype)), (note,)

    def without_impulses(self, time: float | None = None) -> tuple[Request, tuple[str, ...]]:
        """The request with impulses replaced by their neighbours, and a note; itself if there are none."""
        layout = self.layout
        part = self.sample(time, DEFECTS)
        found = find_impulses(part, channel_axis=layout.channel_axis, spatial=layout.spatial)
        if not found.mask.any():
            return self, ()
        if part.shape != self.given.shape:
            found = find_impulses(self.pixels, channel_axis=layout.channel_axis, spatial=layout.spatial)
        if self.bad is not None:
            found = replace(found, mask=found.mask & ~self.bad)
        if not found.mask.any():
            return self, ()
        note = f"{found.describe()}: their neighbours took their place before the noise was removed"
        return replace(self, given=filled(self.given, found.mask, layout)), (note,)


def plane_spacing(picture: Picture | StoredImage) -> float | None:
    """The distance of the planes of a volume over that of its pixels; None if it is unknown or there are no planes."""
    letters = [letter for letter in picture.axes if letter != "C"][-3:]
    if {*letters} != {*"ZYX"} or any(letter not in picture.spacing for letter in letters):
        return None
    planes, rows, columns = (picture.spacing[letter] for letter in letters)
    same = len({picture.units.get(letter, "") for letter in letters}) == 1
    return planes / math.sqrt(rows * columns) if same else None


def _looks_coloured(shape: tuple[int, ...]) -> bool:
    """Whether the last axis is too short for one of an image, and the two before it are not."""
    return len(shape) > 2 and shape[-1] <= MOST_COLOURS < TINY <= min(shape[-3:-1])


class SigmaError(ValueError):
    """A noise level that cannot be meant; `value` is one that may be, if it is known."""

    argument = "sigma"

    def __init__(self, message: str, value: float | None) -> None:
        super().__init__(message)
        self.value = value


def require_sigma(sigma: float | None, pixels: NDArray[Any]) -> None:
    """Refuse a noise level in other units than those of the image: no noise is stronger than all that varies."""
    if sigma is None or pixels.size < LEAST_VALUES:
        return
    low, high = float(pixels.min()), float(pixels.max())
    if not 0 < high - low < sigma:
        return
    likely, why = None, ""
    if high - low <= UNIT and sigma <= BYTE:
        likely, why = sigma / BYTE, f"{sigma:g} / 255"
    elif sigma > BYTE >= high - low > UNIT:
        likely, why = sigma / WORD * BYTE, f"{sigma:g} / 257"
    advice = f"did you mean {likely:.3g} ({why})?" if likely else "leave it out, and it is estimated"
    raise SigmaError(
        f"sigma {sigma:g} is larger than the whole range of the image, {low:.4g} to {high:.4g}: it must be in the "
        f"units of the image, so {advice}",
        None if likely is None else float(f"{likely:.3g}"),
    )


def noise_of(sigma: float | None, noise: Noise | None) -> Noise | None:
    if sigma is not None and noise is not None:
        raise ValueError("sigma is short for noise=Noise.gaussian(sigma), and both were given: leave one of them out")
    if noise is not None and not isinstance(noise, Noise):
        raise TypeError(f"noise must be a Noise, got {type(noise).__name__}: use Noise.gaussian(...) or sigma=...")
    if sigma is None:
        return noise
    if np.ndim(sigma):
        raise TypeError(
            f"sigma must be one number, got an array of shape {np.shape(sigma)}: pass noise=Noise.gaussian(...) for "
            "one level per channel, or noise=Noise.map(...) for one per pixel"
        )
    try:
        return Noise.gaussian(positive("sigma", sigma))
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error}; leave sigma out to estimate the noise") from None


def as_method(
    method: str | Method | None, preset: str = "auto", epitome: Epitome | None = None, time: float | None = None
) -> Method | None:
    """Return the method that arguments of `denoise` name, and refuse arguments that exclude each other.

    Parameters
    ----------
    method, preset, epitome, time : see `denoise`
        As for `denoise`.

    Returns
    -------
    NonLocal, Patchwise or None
        The method with its settings. None if it is to be chosen by trials.

    Raises
    ------
    ValueError
        If arguments exclude each other, or the method cannot use the epitome.

    Examples
    --------
    >>> from epitomes.restoration import as_method
    >>> as_method("paper").label, as_method(None, "best").label, as_method(None)
    ('paper', 'best', None)
    """
    one_of("preset", preset, PRESETS)
    named = [name for name, value in (("method", method), ("epitome", epitome)) if value is not None]
    if preset != "auto":
        named.append("preset")
    if time is not None:
        positive("time", time)
        if named:
            raise ValueError(f"time chooses the method, and {named[0]} sets it: leave one of them out")
    if method is not None and not isinstance(method, str):
        if isinstance(method, type) or not isinstance(method, Method):
            raise TypeError(
                f"method must be 'nonlocal', 'paper', or an object such as NonLocal() or Patchwise(), got {method!r}"
            )
        if len(named) > 1:
            raise ValueError(f"{named[1]} is a setting of the method object: set it there")
        return method
    if method is not None:
        one_of("method", method, METHODS)
    if method == "paper":
        if preset != "auto":
            raise ValueError("preset is a setting of the non-local method: leave out preset or method='paper'")
        return Patchwise(epitome=epitome)
    if not named:
        return None
    return NonLocal(preset="balanced" if preset == "auto" else preset, epitome=epitome)
