"""Scale: time and peak memory of the non-local method for images of 1 to 24 megapixels, grey and RGB.

The images are made from one photograph by mirroring, with noise of sigma 25, which is given. Every run has a process of
its own. The first line says how many runs there are. A series ends early where the next run would take more than
half an hour or more memory than is free; both are predicted from the run before. `--curve FILE` draws both quantities
over the size, beside lines that are proportional to it.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import peak
from benchmarks.options import Options
from benchmarks.peak import Task, Usage
from benchmarks.record import Scale
from epitomes.draw import Series, png_curve
from epitomes.formats import write

SIZES = (1.0, 3.0, 8.0, 24.0)  # megapixels
QUICK_SIZES = (0.25, 0.5, 1.0)
PRESETS = ("fast", "balanced")
QUICK_PRESETS = ("fast",)
KINDS = {1: "grey", 3: "RGB"}  # by the number of channels
ASPECT = 4 / 3  # width over height
LIMIT = 1800.0  # seconds for one run
LUMINANCE = (0.299, 0.587, 0.114)


def run(options: Options) -> Iterator[Scale]:
    """Yield one row for each run, then draw."""
    sizes = QUICK_SIZES if options.quick else SIZES
    presets = QUICK_PRESETS if options.quick else PRESETS
    say(
        f"{len(sizes) * len(presets) * len(KINDS)} runs: {', '.join(presets)}, grey and RGB, "
        f"{sizes[0]:g} to {sizes[-1]:g} megapixels, at most {LIMIT:g} s each"
    )
    name, colour, source = photograph(options.images)
    found: list[Scale] = []
    with tempfile.TemporaryDirectory() as folder:
        for preset in presets:
            for channels in KINDS:
                file = Path(folder, f"{channels}.npy")
                np.save(file, colour if channels == 3 else (colour @ LUMINANCE).astype(np.float32))
                for row in series(name, source, file, preset, channels, sizes, options.threads):
                    found.append(row)
                    yield row
    if options.curve is not None and found:
        draw_curve(options.curve, found)


def series(
    name: str, source: str, file: Path, preset: str, channels: int, sizes: Sequence[float], threads: int
) -> Iterator[Scale]:
    """One preset and number of channels, from small to large images."""
    last: Scale | None = None
    for size in sizes:
        height = round(math.sqrt(size * 1e6 / ASPECT))
        width = round(size * 1e6 / height)
        label = f"{preset}, {KINDS[channels]}, {size:g} megapixels"
        if last is not None and (why := too_much(last, size / last.megapixels)):
            say(f"{label}: skipped with all larger ones, because the run {why}")
            return
        task = Task(method=preset, height=height, width=width, threads=threads, source=str(file))
        try:
            usage = peak.measure(task, timeout=LIMIT)
        except subprocess.SubprocessError as error:
            say(f"{label}: failed, larger ones are skipped ({error})")
            return
        last = row(name, source, preset, channels, height, width, usage, threads)
        yield last


def too_much(last: Scale, times: float) -> str | None:
    """Why an image so many times larger than the last one is not tried, if it is not."""
    if last.seconds * times > LIMIT:
        return f"would take about {last.seconds * times:.0f} s"
    if last.peak_mb * times > free_mb():
        return f"would need about {last.peak_mb * times:.0f} MB, and {free_mb():.0f} MB are free"
    return None


def free_mb() -> float:
    """Memory that is free; infinite if the system does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (ValueError, OSError):
        return math.inf


def row(
    name: str, source: str, preset: str, channels: int, height: int, width: int, usage: Usage, threads: int
) -> Scale:
    megapixels = height * width / 1e6
    return Scale(
        scale=preset,
        kind=KINDS[channels],
        image=name,
        megapixels=megapixels,
        height=height,
        width=width,
        seconds=usage.seconds,
        seconds_per_megapixel=usage.seconds / megapixels,
        memory_mb=usage.used_mb,
        predicted_mb=usage.predicted_mb,
        peak_mb=usage.peak_mb,
        threads=threads,
        pictures=source,
    )


def photograph(folder: Path | None) -> tuple[str, NDArray[np.float32], str]:
    """The first PNG image of the folder in colour, or one of scikit-image: name, pixels and origin."""
    from PIL import Image

    if folder is not None:
        files = sorted(folder.glob("*.png"))
        if not files:
            raise SystemExit(f"{folder} holds no PNG images: pass another folder with --images")
        with Image.open(files[0], formats=["PNG"]) as image:
            return files[0].stem, np.asarray(image.convert("RGB"), np.float32), "given"
    try:
        from skimage import data
    except ImportError:
        raise SystemExit("no images: pass a folder with --images DIR, or install scikit-image") from None
    return "astronaut", np.asarray(data.astronaut(), np.float32), "scikit-image"


def draw_curve(path: Path, found: Sequence[Scale]) -> None:
    """Draw time and memory over the size, with logarithmic axes."""
    charts = [
        png_curve(
            [*lines(found, column), proportional(found, column)],
            title=f"{title}, {found[0].threads} thread{'s' if found[0].threads > 1 else ''}",
            x_label="megapixels",
            y_label=unit,
            log_x=True,
            log_y=True,
        )
        for column, title, unit in (("seconds", "Time", "seconds"), ("memory_mb", "Peak memory of the run", "MB"))
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, np.concatenate(charts), overwrite=True)


def lines(found: Sequence[Scale], column: str) -> list[Series]:
    """One line for each preset and kind of image."""
    groups: dict[str, list[Scale]] = {}
    for one in found:
        groups.setdefault(f"{one.scale}, {one.kind}", []).append(one)
    return [
        Series(label, [one.megapixels for one in rows], [getattr(one, column) for one in rows])
        for label, rows in groups.items()
    ]


def proportional(found: Sequence[Scale], column: str) -> Series:
    """A line of slope 1 through the largest image of the first series, where fixed costs matter least."""
    sizes = [one.megapixels for one in found]
    last = max((one for one in found if (one.scale, one.kind) == (found[0].scale, found[0].kind)), key=_size)
    ends = [min(sizes), max(sizes)]
    return Series("proportional to the size", ends, [getattr(last, column) * x / last.megapixels for x in ends])


def _size(row: Scale) -> float:
    return row.megapixels


def say(words: str) -> None:
    print(f"# scale: {words}", file=sys.stderr, flush=True)
