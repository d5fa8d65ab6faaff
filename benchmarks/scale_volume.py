"""Time and peak memory of long clips and large volumes: 512 x 512 pixels, up to 300 planes, told sigma.

A shipped picture moves from plane to plane, with noise of sigma 25 in 255. Every run has a process of its own. The
first run of a kind has few planes; the time of the next is predicted from it, and more than half an hour is skipped.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

from benchmarks import peak
from benchmarks.options import Options
from benchmarks.peak import Task
from benchmarks.record import Scale
from benchmarks.scale import LIMIT, free_mb, say

SIDE, QUICK_SIDE = 512, 96
FEW = 24  # planes: more than the stages hold
KINDS = {"uint8": 300, "uint16": 256}  # planes of a clip, and of a volume
PRESETS = ("fast", "balanced")


def run(options: Options) -> Iterator[Scale]:
    """Yield one row for each run."""
    for preset in PRESETS[:1] if options.quick else PRESETS:
        for dtype, most in KINDS.items():
            if options.wants(f"{preset}, {dtype}"):
                yield from series(preset, dtype, (FEW,) if options.quick else (FEW, most), options)


def series(preset: str, dtype: str, sizes: tuple[int, ...], options: Options) -> Iterator[Scale]:
    """Few planes, and many."""
    side = QUICK_SIDE if options.quick else SIDE
    last: Scale | None = None
    for planes in sizes:
        label = f"{preset}, {planes} planes, {dtype}"
        if last is not None and last.planes is not None:
            seconds = last.seconds * planes / last.planes
            if seconds > LIMIT or last.peak_mb * 2 > free_mb():
                say(f"{label}: skipped, it would take about {seconds:.0f} s")
                return
        task = Task(method=preset, height=side, width=side, threads=options.threads, planes=planes, dtype=dtype)
        try:
            usage = peak.measure(task, timeout=2 * LIMIT)
        except subprocess.SubprocessError as error:
            say(f"{label}: failed ({error})")
            return
        megapixels = planes * side**2 / 1e6
        last = Scale(
            scale=preset,
            kind=dtype,
            image="shipped",
            megapixels=megapixels,
            height=side,
            width=side,
            seconds=usage.seconds,
            seconds_per_megapixel=usage.seconds / megapixels,
            memory_mb=usage.used_mb,
            predicted_mb=usage.predicted_mb,
            peak_mb=usage.peak_mb,
            threads=options.threads,
            pictures="shipped",
            planes=planes,
        )
        yield last
