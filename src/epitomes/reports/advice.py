"""Next steps: one command or one call for each reason for doubt, made from what was done.

A report that a command wrote gives a command, any other one a call of Python. Both can be run as they are, after
`import epitomes`; in calls, `image` is the noisy image.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from epitomes.reports.data import ReportData

LOOK = 'Look at "What was removed" below: it should show noise and no structure.'
NOISE_OPTIONS = ("--sigma", "--noise", "--noise-from", "--gain", "--offset", "--read-noise")  # with a value each
SIDE = 32  # of a flat region, pixels
LESS, MORE = 0.8, 1.25  # times the noise level
LEVEL = re.compile(r"sigma=([0-9.e+-]*[0-9])")  # the level that an audit found

OVERSMOOTHED = ("structure", "edges", "variance", "regions")
UNDERSMOOTHED = ("left", "left fine")


def next_step(kind: str, advice: str, data: ReportData) -> str:
    """Return what to do about one kind of doubt."""
    axis = ", channel_axis=-1" if np.ndim(data.noisy) == 3 else ""
    found = LEVEL.search(advice)
    if kind == "gain":
        return _either(data, ("--preset", "best"), f'epitomes.denoise(image{axis}, preset="best")')
    if kind in ("growth", "brightness"):
        model = f'epitomes.estimate_noise(image{axis}, model="poisson-gaussian")'
        return _either(data, ("--poisson",), f"epitomes.denoise(image, noise={model}{axis})")
    if kind in ("impulses", "no growth"):
        return _either(data, ("--sigma", "auto"), f"epitomes.denoise(image{axis})")
    if kind in OVERSMOOTHED or kind in UNDERSMOOTHED:
        share = LESS if kind in OVERSMOOTHED else MORE
        return _either(
            data, ("--strength", f"{share:g}"), f"epitomes.denoise(image, sigma={share * data.level:.3g}{axis})"
        )
    if found is not None:
        return _either(data, ("--sigma", found[1]), f"epitomes.denoise(image, sigma={found[1]}{axis})")
    return _flat(data, axis)


def _flat(data: ReportData, axis: str) -> str:
    """Measure the noise where the image is flattest."""
    top, left, high, wide = flattest(data.before)
    part = f"epitomes.noise.noise_from_flat(image[{top}:{top + high}, {left}:{left + wide}]{axis})"
    return _either(
        data, ("--noise-from", f"{left},{top},{wide},{high}"), f"epitomes.denoise(image, noise={part}{axis})"
    )


def flattest(image: np.ndarray) -> tuple[int, int, int, int]:
    """Row, column, height and width of the square that varies least, of those that vary at all."""
    high, wide = (min(SIDE, side) for side in image.shape[:2])
    best, least = (0, 0), np.inf
    for top in range(0, image.shape[0] - high + 1, high):
        for left in range(0, image.shape[1] - wide + 1, wide):
            spread = float(np.var(image[top : top + high, left : left + wide], axis=(0, 1)).mean())
            if 0 < spread < least:
                best, least = (top, left), spread
    return (*best, high, wide)


def _either(data: ReportData, options: tuple[str, ...], call: str) -> str:
    """The command that was run with other options, or the call; after other commands than `denoise`, a look."""
    if not data.command:
        return call
    words = shlex.split(data.command)
    return shlex.join(_changed(words, options)) if words[1:2] == ["denoise"] else LOOK


def _changed(words: list[str], options: tuple[str, ...]) -> list[str]:
    """The words of a command with options, in the place of those that exclude them."""
    about_noise = options[0] in (*NOISE_OPTIONS, "--poisson")
    dropped = {options[0], *(NOISE_OPTIONS if about_noise else ())}
    if options[0] == "--preset":
        dropped |= {"--method", "--model", "--time"}
    flags = {"--overwrite", "--poisson"} if about_noise else {"--overwrite"}
    kept, skip = [], False
    for word in words:
        name, is_whole = word.partition("=")[0], "=" in word
        if skip:
            skip = False
        elif name in dropped:
            skip = not is_whole and name not in flags
        elif word not in flags:
            kept.append(word)
    return [*kept, *options, "--overwrite"]
