"""Rows of results: frozen dataclasses, printed for people and written as JSON lines for programs."""

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
    """One competitor against one peer on one problem. Columns that a race does not have are None and left out."""

    race: str
    image: str
    method: str
    peer: str
    ratio: float  # the peer's median seconds over ours, same run
    seconds: float  # median over the rounds
    peer_seconds: float
    paired_ratio: float  # median over the rounds of (peer / ours) within one round: steadier on a busy machine
    rounds: int
    clock: str  # "cpu": processor seconds, for one thread; "wall": elapsed seconds, for several
    threads: int
    n_patches: int
    pictures: str  # "given", or "scikit-image" when no folder was named
    epitome: str  # that the race begins with: "shipped", or "noise"
    seed: int = 0
    sigma: float | None = None
    peer_patches: int | None = None  # a slow peer coded only so many; its seconds are scaled to n_patches
    agree: float | None = None  # share of patches whose supports are identical
    nonzeros: float | None = None  # mean over the patches, ours
    lam: float | None = None
    start: str | None = None  # lasso: "cold" or "warm"
    objective_mean: float | None = None  # (ours - peer) / peer, mean over the patches; negative: ours is lower
    objective_min: float | None = None  # the same, smallest and largest over the patches
    objective_max: float | None = None
    gap: float | None = None  # duality gap / objective, largest over the patches, ours
    peer_gap: float | None = None
    bits_equal: bool | None = None  # the codes of both are equal bit for bit
    gflops: float | None = None  # as if every correlation took 2 m operations
    reached: bool | None = None  # learning: ours came at least as low as the peer; if not, ratio is 0
    n_steps: int | None = None  # learning: iterations until then
    peer_n_steps: int | None = None
    objective: float | None = None  # learning: Eq. 3 per patch, ours and the peer's, judged alike
    peer_objective: float | None = None
    psnr: float | None = None  # denoising, in dB
    peer_psnr: float | None = None


@dataclass(frozen=True, kw_only=True)
class Table:
    """One number of a quality table, beside the number that the paper printed."""

    table: str
    row: str
    image: str
    sigma: float
    seed: int
    psnr: float
    seconds: float
    printed: float | None = None


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """A method with one thing changed, beside the whole of it on the same noise."""

    ablation: str  # what was changed
    image: str
    sigma: float
    seed: int
    psnr: float
    difference: float  # to the whole, in dB: negative where the change hurts
    seconds: float  # learning of dictionaries not counted


@dataclass(frozen=True, kw_only=True)
class Memory:
    """The most memory that one call needed, in a process that did nothing else."""

    memory: str  # the call
    width: int
    height: int
    peak_mb: float  # the whole process: interpreter, libraries, image, result
    before_mb: float  # the same before the call
    bytes_per_pixel: float  # (peak - before) over the pixels
    threads: int


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of the paper, as a number against another number."""

    claim: str
    image: str
    value: float
    against: float
    holds: bool
    note: str  # what the two numbers are
    seed: int | None = None
    figure: str | None = None  # the file that shows it


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Where and with what the rows were measured: always the first line."""

    environment: str  # of the library
    isa: str  # instruction set of the kernels
    cpu: str
    cores: int
    threads: int
    python: str
    versions: dict[str, str]


Row = Race | Table | Ablation | Memory | Claim | Environment


def environment(options: Options) -> Environment:
    """Versions, processor and instruction set of this run."""
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
    """The processor's name as the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def as_dict(row: Row) -> dict[str, object]:
    """The row's columns without the empty ones."""
    return {name: value for name, value in dataclasses.asdict(row).items() if value is not None}


def as_json(row: Row) -> str:
    """One line. NaN and infinity are no JSON, so they raise here rather than in the reader's program."""
    return json.dumps(as_dict(row), ensure_ascii=False, allow_nan=False)


def as_text(row: Row) -> str:
    """One line for people: text as it is, floats short."""
    cells = as_dict(row).items()
    return "  ".join(f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in cells)


class Record:
    """Prints each row and keeps the JSON file complete after every one, so a stopped run loses nothing."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self.rows: list[Row] = []

    def add(self, row: Row) -> None:
        self.rows.append(row)
        print(as_text(row), flush=True)
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.file, "".join(as_json(each) + "\n" for each in self.rows).encode())
