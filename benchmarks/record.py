"""Rows of results: frozen dataclasses, printed as text and written as JSON lines."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import os
import platform
from dataclasses import dataclass
from pathlib import Path

from benchmarks.options import Options
from epitomes.files import write_atomically

PEERS = ("numpy", "scipy", "spams-bin", "scikit-learn", "scikit-image", "bm3d")


@dataclass(frozen=True, kw_only=True)
class Race:
    """One of our methods against one peer on one problem. Columns that a race does not have are None and left out."""

    race: str
    image: str
    method: str
    peer: str
    ratio: float  # the peer's median seconds over ours, same run
    seconds: float  # median over the rounds
    peer_seconds: float
    paired_ratio: float  # median over the rounds of (peer / ours) within a round: varies less on a busy machine
    rounds: int
    clock: str  # "cpu": processor seconds, for one thread; "wall": elapsed seconds, for several
    threads: int
    n_patches: int
    pictures: str  # "given", or "scikit-image" if no folder was given
    epitome: str  # that the race starts from: "shipped" or "noise"
    seed: int = 0
    sigma: float | None = None
    known: float | None = None  # share of known pixels
    peer_patches: int | None = None  # a slow peer codes a sample of this size; its seconds are scaled to n_patches
    agree: float | None = None  # share of patches with identical supports
    nonzeros: float | None = None  # mean over the patches, ours
    lam: float | None = None
    start: str | None = None  # lasso: "cold" or "warm"
    objective_mean: float | None = None  # (ours - peer) / peer, mean over the patches; negative: ours is lower
    objective_min: float | None = None  # the same, smallest and largest over the patches
    objective_max: float | None = None
    gap: float | None = None  # duality gap / objective, largest over the patches, ours
    peer_gap: float | None = None
    bits_equal: bool | None = None  # the codes of both are equal bit for bit
    gflops: float | None = None  # at 2 m operations per correlation
    reached: bool | None = None  # learning: our objective became as low as that of the peer; if not, ratio is 0
    n_steps: int | None = None  # learning: number of iterations until then
    peer_n_steps: int | None = None
    objective: float | None = None  # learning: Eq. 3 per patch, computed in the same way for both
    peer_objective: float | None = None
    psnr: float | None = None  # denoising, in dB
    peer_psnr: float | None = None


@dataclass(frozen=True, kw_only=True)
class Table:
    """One number of a quality table, with the number that the paper prints."""

    table: str
    row: str
    image: str
    sigma: float
    seed: int
    psnr: float
    seconds: float
    printed: float | None = None


@dataclass(frozen=True, kw_only=True)
class SequenceRace:
    """A volume or clip, denoised across planes or plane by plane, and by a peer on the same noise."""

    race: str
    sequence: str
    preset: str
    sigma: float
    psnr: float
    peer_psnr: float | None  # None: the peer is not installed
    flicker: float  # root mean square of the change of the error from plane to plane, in grey levels
    peer_flicker: float | None
    flicker_along: float  # the same along the motion of the clean planes
    peer_flicker_along: float | None
    seconds: float
    peer_seconds: float | None
    ratio: float | None  # the peer's time over ours
    peer: str
    threads: int
    shape: list[int]
    source: str


@dataclass(frozen=True, kw_only=True)
class SeriesRace:
    """A series of volumes or a clip, denoised by one of several methods on the same noise."""

    race: str
    series: str
    method: str
    sigma: float
    psnr: float
    seconds: float
    threads: int
    shape: list[int]


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """A method with one change, compared with the unchanged method on the same noise."""

    ablation: str  # the change
    image: str
    sigma: float
    seed: int
    psnr: float
    difference: float  # to the unchanged method, in dB: negative if the change hurts
    seconds: float  # without the learning of dictionaries


@dataclass(frozen=True, kw_only=True)
class Planted:
    """Patterns that were planted in a signal, and how many of them were learned from it."""

    planted: str  # "signal" or "image"
    seed: int
    n_patterns: int
    found: int
    least: float  # correlation of the pattern that was learned worst
    error: float  # squared error over the squared norm of the signal
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Peak memory of one call, in a process of its own."""

    memory: str  # the call
    width: int
    height: int
    peak_mb: float  # the whole process: interpreter, libraries, image, result
    before_mb: float  # the same before the call
    bytes_per_pixel: float  # (peak - before) over the number of pixels
    threads: int


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Time and peak memory of one run on a large image or volume, in a process of its own."""

    scale: str  # the preset
    kind: str  # "grey" or "RGB"; of volumes, their dtype
    image: str
    megapixels: float
    height: int
    width: int
    seconds: float
    seconds_per_megapixel: float
    memory_mb: float  # of the run: peak of the process minus what it held before, the noisy image included
    predicted_mb: float  # the same, predicted by the plan
    peak_mb: float  # of the whole process
    threads: int
    pictures: str
    planes: int | None = None  # of a volume


@dataclass(frozen=True, kw_only=True)
class StoreRun:
    """An image that was denoised in tiles, from file to file."""

    store: str  # the preset
    megapixels: float
    side: int
    tile: int
    halo: int
    tiles: int
    seconds: float
    cpu_seconds: float  # of all processes
    cpu_seconds_per_megapixel: float
    seconds_per_megapixel_in_memory: float  # processor time, of a crop
    peak_mb: float  # of all processes together
    threads: int


@dataclass(frozen=True, kw_only=True)
class CollectionRun:
    """Learning over a collection of files, start of the processes included."""

    collection: str
    workers: int
    n_pictures: int
    n_shards: int
    n_patches: int  # of all epochs
    epochs: int
    seconds: float
    patches_per_second: float
    objective: float
    atoms_per_patch: float
    pictures: str


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a large job would take, computed from rates that were measured on a small one."""

    estimate: str
    microseconds_per_patch: float  # processor time of one core: coding and sums
    nanoseconds_per_pixel: float  # reading PNG files
    core_hours_coding: float
    core_hours_reading: float
    network_gb: float  # statistics that the driver receives
    disk_gb: float  # that is read
    statistics_mb: float  # of one shard
    shard: int  # pictures


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement, as one number compared with another."""

    claim: str
    image: str
    value: float
    against: float
    holds: bool
    note: str  # what the two numbers are
    seed: int | None = None
    figure: str | None = None  # file name of the plot


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Machine and versions: always the first line."""

    environment: str  # of the library
    isa: str  # instruction set of the kernels
    cpu: str
    cores: int
    threads: int
    python: str
    versions: dict[str, str]


Row = (
    Race
    | SequenceRace
    | Table
    | Ablation
    | Planted
    | Memory
    | Scale
    | StoreRun
    | CollectionRun
    | Estimate
    | Claim
    | Environment
)


def environment(options: Options) -> Environment:
    """Collect versions, processor and instruction set of this run."""
    import epitomes.kernels

    found = {}
    for name in PEERS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return Environment(
        environment=importlib.metadata.version("epitomes"),
        isa=str(epitomes.kernels.isa),
        cpu=cpu_model(),
        cores=os.cpu_count() or 1,
        threads=options.threads,
        python=platform.python_version(),
        versions=found,
    )


def cpu_model() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def as_dict(row: Row) -> dict[str, object]:
    """Return the columns of a row without the empty ones."""
    return {name: value for name, value in dataclasses.asdict(row).items() if value is not None}


def as_json(row: Row) -> str:
    """Convert to one line. NaN and infinity, which JSON does not have, raise an error."""
    return json.dumps(as_dict(row), ensure_ascii=False, allow_nan=False)


def as_text(row: Row) -> str:
    """Convert to one line of text, floats with four digits."""
    cells = as_dict(row).items()
    return "  ".join(f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in cells)


class Record:
    """Prints each row and rewrites the JSON file after it, so that an interrupted run loses nothing."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self.rows: list[Row] = []

    def add(self, row: Row) -> None:
        self.rows.append(row)
        print(as_text(row), flush=True)
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.file, "".join(as_json(each) + "\n" for each in self.rows).encode())
