"""Images larger than memory: 1 to 400 megapixels of 16 bits, from OME-Zarr to OME-Zarr by `epitomes denoise --memory`.

Each image is the shipped photograph with noise, rolled by another distance in every chunk, and written chunk by chunk.
A run is a command of its own; the memory of all its processes is sampled while it runs. From 25 megapixels on, its
processor time per megapixel is compared with that of the same plan on a crop in memory, measured just before and after.
Random windows of the result are compared with what the settled plan makes of each window with more pixels around it
than it needs. `--cases 1,25` chooses sizes in megapixels, `--presets fast` the method, `--curve FILE` draws time and
memory over the size, `--output DIR` is where the images are kept while it runs.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import Options
from benchmarks.peak import noisy_image
from benchmarks.record import Claim, StoreRun
from epitomes.demo import shipped_picture
from epitomes.draw import Series, png_curve
from epitomes.formats import write
from epitomes.formats.errors import library
from epitomes.formats.stored import open_stored
from epitomes.noise import Noise
from epitomes.restoration import NonLocal, Plan
from epitomes.restoration.parts import with_whole
from epitomes.scale.settling import SettledStore, plan_for, settle_store

SIZES = (1.0, 4.0, 25.0, 100.0, 400.0)  # megapixels
QUICK = (1.0, 4.0)
CHUNK = 512
GAIN = 100  # of the photograph, whose noise has level 25
SIGMA = 25.0 * GAIN
MEMORY = "1500M"
MOST_MB = 1536.0  # peak memory of all processes
SLOWER = 1.15  # processor time in tiles, over that in memory
LARGE = 25.0  # megapixels, from which time is compared; the start of the command, 2.6 s, is a tenth of it there
WINDOWS, SIDE, MORE = 40, 200, 40  # compared with untiled ones: how many, their side, and spare pixels around them
CROP = 1000  # side of the part that is denoised in memory
EVERY = 0.05  # seconds between two looks at the memory


def run(options: Options) -> Iterator[StoreRun | Claim]:
    """Yield a row for each size, and what is claimed of it."""
    wanted = QUICK if options.quick else SIZES
    sizes = tuple(map(float, options.cases)) or wanted
    preset = options.presets[0] if options.presets[0] == "fast" or len(options.presets) == 1 else "fast"
    found: list[StoreRun] = []
    for megapixels in sizes:
        side = round(1000 * math.sqrt(megapixels))
        with tempfile.TemporaryDirectory(dir=options.output) as folder:
            source, goal = Path(folder, "noisy.zarr"), Path(folder, "clean.zarr")
            make_store(source, side)
            in_memory = [rate_in_memory(source, preset)]
            row = measured(source, goal, side, preset, options.threads)
            in_memory.append(rate_in_memory(source, preset))
            row = replace(row, seconds_per_megapixel_in_memory=float(np.mean(in_memory)))
            found.append(row)
            yield row
            yield from claims(row, differing(source, goal, preset))
    if options.curve is not None and found:
        draw(options.curve, found)


def make_store(path: Path, side: int) -> None:
    """Write an image of 16 bits chunk by chunk."""
    zarr = library("zarr", extra="zarr", what="Zarr")
    noisy = np.clip(GAIN * noisy_image(shipped_picture(), 2 * CHUNK, 2 * CHUNK) + 2000, 0, 65535).astype(np.uint16)
    array = zarr.create_array(
        store=str(path), shape=(side, side), chunks=(CHUNK, CHUNK), dtype="uint16", dimension_names=("y", "x")
    )
    for top in range(0, side, CHUNK):
        for left in range(0, side, CHUNK):
            part = np.roll(noisy, (7 * top // CHUNK, 13 * left // CHUNK + 5 * top // CHUNK), (0, 1))
            array[top : top + CHUNK, left : left + CHUNK] = part[: min(CHUNK, side - top), : min(CHUNK, side - left)]


def measured(source: Path, goal: Path, side: int, preset: str, threads: int) -> StoreRun:
    """Run the command and watch its processes."""
    command = [sys.executable, "-m", "epitomes", "denoise", str(source), "-o", str(goal), "--json"]
    command += ["--sigma", str(SIGMA), "--preset", preset, "--memory", MEMORY, "--threads", str(threads)]
    began, peak, over = time.perf_counter(), 0.0, threading.Event()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:

        def watch() -> None:
            nonlocal peak
            while not over.wait(EVERY):
                peak = max(peak, memory_mb(process.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            assert process.stdout is not None
            facts = json.loads(process.stdout.read())
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            over.set()
            watcher.join()
    megapixels = side * side / 1e6
    return StoreRun(
        store=preset,
        megapixels=megapixels,
        side=side,
        tile=facts["tile"][0],
        halo=facts["halo"][0],
        tiles=facts["tiles"],
        seconds=time.perf_counter() - began,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        cpu_seconds_per_megapixel=(usage.ru_utime + usage.ru_stime) / megapixels,
        seconds_per_megapixel_in_memory=0.0,
        peak_mb=peak,
        threads=threads,
    )


def memory_mb(pid: int) -> float:
    """Memory of a process and its descendants; pages that they share are counted once."""
    pids, total = [pid], 0.0
    for each in pids:  # grows on the way
        try:
            for task in Path(f"/proc/{each}/task").iterdir():
                pids += [int(child) for child in (task / "children").read_text().split()]
            found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{each}/smaps_rollup").read_text(), re.MULTILINE)
        except OSError:  # it has ended
            continue
        total += int(found[1]) / 1024 if found else 0.0
    return total


def settled(source: Path, preset: str) -> tuple[Plan, SettledStore]:
    """The plan that the command ran, and what it settled: the same every time."""
    image = open_stored(source)
    plan, _ = plan_for(image, None, Noise.gaussian(SIGMA), None, NonLocal(preset=preset), "auto", None)
    return plan, settle_store(image, plan, 1)


def rate_in_memory(source: Path, preset: str) -> float:
    """Processor seconds per megapixel of the same plan on a part in memory."""
    _, known = settled(source, preset)
    part = known.units.read((), tuple(slice(0, min(CROP, n)) for n in known.units.spatial))
    began = time.process_time()
    known.plan.run(part, threads=1)
    return (time.process_time() - began) / (part.size / 1e6)


def differing(source: Path, goal: Path, preset: str) -> int:
    """How many of some random windows of the result differ from the untiled one."""
    _, known = settled(source, preset)
    clean, rng, different = open_stored(goal), np.random.default_rng(0), 0
    shape = known.units.spatial
    for _ in range(WINDOWS):
        corner = [int(rng.integers(0, max(1, n - SIDE))) for n in shape]
        expected = untiled(known, corner, shape)
        window = {letter: slice(at, at + SIDE) for letter, at in zip("YX", corner, strict=True)}
        different += not np.array_equal(clean.read(window), expected)
    return different


def untiled(known: SettledStore, corner: list[int], shape: tuple[int, ...]) -> NDArray[np.generic]:
    """A window as it is in the whole image: with more pixels around it than reach into it."""
    grid = known.support.grid
    begin = [max(0, at - halo - MORE) // g * g for at, halo, g in zip(corner, known.support.halo, grid, strict=True)]
    end = [min(n, at + SIDE + halo + MORE) for n, at, halo in zip(shape, corner, known.support.halo, strict=True)]
    noisy = known.units.read((), tuple(map(slice, begin, end)))
    plan = replace(known.plan, method=with_whole(known.plan.method, known.wholes[()]))
    inner = tuple(slice(at - first, at - first + SIDE) for at, first in zip(corner, begin, strict=True))
    return plan.run(noisy, threads=1).image[inner]


def claims(row: StoreRun, different: int) -> Iterator[Claim]:
    """What the figures must show."""
    name = f"{row.megapixels:g} megapixels, {row.store}"
    slower = row.cpu_seconds_per_megapixel / row.seconds_per_megapixel_in_memory
    figures = [
        ("windows that differ from the untiled result", different, 0, f"of {WINDOWS}"),
        ("peak memory of all processes", row.peak_mb, MOST_MB, "MB"),
    ]
    if row.megapixels >= LARGE:
        figures.append(("processor time over that in memory", slower, SLOWER, "per megapixel, all included"))
    for claim, value, against, note in figures:
        yield Claim(claim=claim, image=name, value=value, against=against, holds=value <= against, note=note)


def draw(path: Path, found: list[StoreRun]) -> None:
    """Draw time and memory over the size."""
    sizes = [row.megapixels for row in found]
    slope = found[-1].cpu_seconds / found[-1].megapixels
    lines = [Series(found[0].store, sizes, [row.cpu_seconds for row in found])]
    lines.append(Series("proportional", sizes, [slope * size for size in sizes]))
    memory = [Series("peak of all processes", sizes, [row.peak_mb for row in found])]
    charts = [
        png_curve(each, title=title, x_label="megapixels", y_label=unit, log_x=True, log_y=True)
        for each, title, unit in ((lines, "Processor time", "seconds"), (memory, "Memory", "MB"))
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, np.concatenate(charts), overwrite=True)
