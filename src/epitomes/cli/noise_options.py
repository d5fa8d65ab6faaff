"""What the user knows of the noise: options that say it, and the noise model that they give for each file."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from epitomes.cli.common import read_any
from epitomes.cli.errors import INPUT, CommandError, usage
from epitomes.cli.help import NOISE

if TYPE_CHECKING:
    from epitomes.formats import Picture
    from epitomes.noise import Noise
    from epitomes.noise.profile import Origin

    Estimate = Callable[[Picture], Noise]
    Model = Literal["auto", "poisson-gaussian", "sensor", "rician"]

LEAST_SIDE = 16  # pixels of a region
NUMBERS = re.compile(r"[-+\d\s,.]+")

NoiseFrom = Annotated[
    str | None,
    typer.Option(
        "--noise-from",
        metavar="X,Y,W,H|FILE",
        help="measure the noise on a flat region of the image, or on a dark or flat frame",
        rich_help_panel=NOISE,
    ),
]
Gain = Annotated[
    float | None,
    typer.Option(
        metavar="X", help="gain of the camera: brightness per count (Poisson-Gaussian noise)", rich_help_panel=NOISE
    ),
]
DarkOffset = Annotated[
    float | None,
    typer.Option(
        "--offset",
        metavar="X",
        help="brightness without light, for --poisson [default: estimated] and --gain [default: 0]",
        rich_help_panel=NOISE,
    ),
]
ReadNoise = Annotated[
    float | None,
    typer.Option(metavar="X", help="read noise of the camera, for --gain [default: 0]", rich_help_panel=NOISE),
]
Rician = Annotated[
    bool,
    typer.Option("--rician", help="estimate the Rician noise of magnitude MR images", rich_help_panel=NOISE),
]
Burst = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILES",
        help='more shots of the same scene, such as "shot*.png": measure the noise on their differences',
        rich_help_panel=NOISE,
    ),
]
Merge = Annotated[
    bool | None,
    typer.Option(
        "--merge/--no-merge",
        help="with --burst: denoise the mean of all shots [default], or the image alone",
        rich_help_panel=NOISE,
    ),
]
Strength = Annotated[
    float,
    typer.Option(
        metavar="X", help="multiply the noise level: below 1 removes less, above 1 more", rich_help_panel=NOISE
    ),
]


def require_one_noise(
    named: Mapping[str, object], offset: float | None = None, gain: float | None = None, read_noise: float | None = None
) -> None:
    """Refuse options that describe the noise twice, and parameters without their model."""
    given = [name for name, value in named.items() if value]
    if len(given) > 1:
        raise usage(f"{' and '.join(given)} exclude each other: use one of them")
    if offset is not None and not (named.get("--poisson") or gain is not None):
        raise usage("--offset is a parameter of the Poisson-Gaussian model", "--poisson")
    if read_noise is not None and gain is None:
        raise usage("--read-noise belongs to --gain: add the gain, or give the level of Gaussian noise with --sigma")


@dataclass(frozen=True)
class Region:
    """A rectangle of an image, in pixels."""

    option: str  # as typed
    left: int
    top: int
    width: int
    height: int

    @classmethod
    def parse(cls, name: str, text: str) -> Region:
        """Read the value of an option."""
        option = f"{name} {text}"
        try:
            left, top, width, height = map(int, text.split(","))
        except ValueError:
            expected = "expected X,Y,W,H: left, top, width and height of a region in pixels"
            raise usage(f"{option}: {expected}") from None
        if min(width, height) < LEAST_SIDE:
            raise usage(
                f"{option}: the region needs {LEAST_SIDE} x {LEAST_SIDE} pixels or more, got {width} x {height}"
            )
        return cls(option, left, top, width, height)

    def noise(self, picture: Picture) -> Noise:
        """Measure the noise of this part of a picture."""
        from epitomes.noise import noise_from_flat

        down, across = picture.axes.index("Y"), picture.axes.index("X")
        height, width = picture.pixels.shape[down], picture.pixels.shape[across]
        right, bottom = self.left + self.width, self.top + self.height
        if min(self.left, self.top) < 0 or right > width or bottom > height:
            raise CommandError(
                INPUT,
                f"{self.option}: the region ends at {right},{bottom}, outside the image of {width} x {height} pixels",
            )
        place = [slice(None)] * picture.pixels.ndim
        place[down], place[across] = slice(self.top, bottom), slice(self.left, right)
        with naming(self.option):
            return noise_from_flat(picture.pixels[tuple(place)], channel_axis=picture.channel_axis)


@dataclass(frozen=True, kw_only=True)
class NoiseOptions:
    """What the options say of the noise, the same for every file."""

    sigma: float | None
    profile: Path | None
    poisson: bool
    rician: bool
    offset: float | None
    gain: float | None
    read_noise: float | None
    noise_from: str | None
    burst: tuple[Path, ...]
    merge: bool | None
    strength: float
    axes: str | None
    series: str | None
    max_pixels: int | None

    def require(self, n_files: int) -> None:
        """Refuse what contradicts itself, before any file is read."""
        named = {
            "--sigma": self.sigma,
            "--noise": self.profile,
            "--poisson": self.poisson,
            "--rician": self.rician,
            "--gain": self.gain is not None,
            "--noise-from": self.noise_from,
            "--burst": self.burst,
        }
        require_one_noise(named, self.offset, self.gain, self.read_noise)
        if self.gain is not None and not 0 < self.gain < math.inf:
            raise usage(f"--gain must be above 0, got {self.gain:g}: give the level of Gaussian noise with --sigma")
        if self.read_noise is not None and not 0 <= self.read_noise < math.inf:
            raise usage(f"--read-noise must be 0 or above, got {self.read_noise:g}")
        if not 0 < self.strength < math.inf:
            raise usage(f"--strength must be above 0, got {self.strength:g}", "--strength", "1")
        if self.merge is not None and not self.burst:
            raise usage(f"--{'merge' if self.merge else 'no-merge'} is a setting of --burst: name the shots with it")
        if self.burst and self.merge is not False and n_files > 1:
            raise usage(f"--burst merges all shots into one image, got {n_files} to denoise", "--no-merge")
        _ = self.region  # refused if it is none

    @cached_property
    def region(self) -> Region | None:
        """The flat region that --noise-from gives; None if it names a file."""
        text = self.noise_from
        if text is None or not NUMBERS.fullmatch(text) or Path(text).exists():
            return None
        return Region.parse("--noise-from", text)

    @property
    def level(self) -> float | None:
        """The level that --sigma sets."""
        return None if self.sigma is None else self.strength * self.sigma

    @property
    def is_plain(self) -> bool:
        """Whether a level was given at most."""
        others = (self.profile, self.gain, self.noise_from, self.burst or None)
        return not self.estimates and all(each is None for each in others)

    @property
    def estimates(self) -> bool:
        """Whether the noise has to be estimated here, because it is not used as `restore` would find it."""
        sources = (self.sigma, self.profile, self.gain, self.noise_from, self.burst or None)
        return self.poisson or self.rician or (self.strength != 1 and all(each is None for each in sources))

    def apply(self, file: Path, picture: Picture, estimate: Estimate) -> tuple[Picture, Noise | None]:
        """Return the picture to denoise and its noise; None if --sigma sets it, or nothing is known."""
        found: Noise | None
        if shots := self.merged(file):
            picture, found = self._mean(shots, picture)
        else:
            found = estimate(picture) if self.estimates else self._measured(file, picture)
        return picture, found if found is None or self.strength == 1 else found.times(self.strength)

    def merged(self, file: Path) -> list[Path]:
        """List the shots that are merged, the file itself first; none without --burst."""
        if not self.burst or self.merge is False:
            return []
        return [file, *(shot for shot in self.burst if shot.resolve() != file.resolve())]

    def _measured(self, file: Path, picture: Picture) -> Noise | None:
        from epitomes.noise import Noise

        if self.gain is not None:
            return Noise.poisson_gaussian(self.gain, self.offset or 0.0, self.read_noise or 0.0)
        if self.region is not None:
            return self.region.noise(picture)
        if self.elsewhere is None:
            return None
        source, found, origin = self.elsewhere
        require_fit(source, origin, file, picture)
        return found

    @cached_property
    def elsewhere(self) -> tuple[str, Noise, Origin] | None:
        """The noise that other files show, the option that names them, and what it was measured on."""
        from epitomes.noise import noise_from_burst, noise_from_flat

        if self.profile is not None:
            return (f"--noise {self.profile}", *load_noise(self.profile))
        if self.noise_from is not None and self.region is None:
            picture = read_any(Path(self.noise_from), self.max_pixels)
            with naming(source := f"--noise-from {self.noise_from}"):
                return source, noise_from_flat(picture.pixels, channel_axis=picture.channel_axis), origin_of(picture)
        if self.burst and self.merge is False:
            shots = self._read(self.burst)
            with naming("--burst", self.burst):
                found = noise_from_burst([shot.pixels for shot in shots], channel_axis=shots[0].channel_axis)
            return f"--burst {self.burst[0]}", found, origin_of(shots[0])
        return None

    def _mean(self, files: Sequence[Path], picture: Picture) -> tuple[Picture, Noise]:
        """The mean of the shots, the first of which is `picture`, and its noise."""
        from epitomes.noise import merge_burst

        shots = [picture, *self._read(files[1:])]
        for file, shot in zip(files[1:], shots[1:], strict=True):
            require_fit(f"--burst {file}", origin_of(shot), files[0], picture)
        with naming("--burst", files):
            mean, noise = merge_burst([shot.pixels for shot in shots], channel_axis=picture.channel_axis)
        return picture.replace(mean), noise

    def _read(self, shots: Sequence[Path]) -> list[Picture]:
        return [read_any(shot, self.max_pixels, self.axes, series=self.series) for shot in shots]


@contextmanager
def naming(option: str, shots: Sequence[Path] = ()) -> Iterator[None]:
    """Put the option in front of what the library refuses, with the name of the shot if it is one of several."""
    from epitomes.noise import ShotError

    try:
        yield
    except ShotError as error:
        raise CommandError(INPUT, f"{option} {shots[error.shot]}: {error.text}") from error
    except ValueError as error:
        raise CommandError(INPUT, f"{option}: {error}") from error


def model_of(
    picture: Picture, poisson: bool, rician: bool, offset: float | None
) -> tuple[Model, Sequence[float] | float | None]:
    """Return the model to estimate, and its offset: those of the options, or of the sensor of a camera."""
    from epitomes.formats.raw import black_levels

    if poisson or rician:
        return "poisson-gaussian" if poisson else "rician", offset
    black = black_levels(picture)
    return ("auto", None) if black is None else ("sensor", black)


def load_noise(path: Path) -> tuple[Noise, Origin]:
    """Read a noise profile and what it was measured on."""
    from epitomes.noise.profile import read_with_origin

    try:
        return read_with_origin(path)
    except ValueError as error:
        raise CommandError(INPUT, str(error)) from error


def origin_of(picture: Picture) -> Origin:
    """Return the kind of image that noise is measured on."""
    from epitomes.noise.profile import Origin

    return Origin.of(picture.pixels, picture.channel_axis)


def require_fit(source: str, origin: Origin, file: Path, picture: Picture) -> None:
    """Refuse noise that was measured on images with other units or channels."""
    own = origin_of(picture)
    if not origin.fits(own):
        raise CommandError(
            INPUT, f"{source} is for {origin}, and {file} is {own}: the data type and the number of channels must agree"
        )
