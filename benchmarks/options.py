"""Options of the command line, for every benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of one run."""

    images: Path | None = None  # folder of PNG images; None: those inside scikit-image
    quick: bool = False  # fewer images and rounds
    threads: int = 1  # of every method
    seeds: int = 1  # noise seeds 0 .. seeds-1
    output: Path | None = None  # file or folder that a tool writes
    held_out: Path | None = None  # folder of natural images: every 20th is kept for measuring
    presets: tuple[str, ...] = ("balanced", "best")  # of denoise, for table-best
    curve: Path | None = None  # PNG file that race-denoise and scale draw
    peers: str = "all"  # of real-noise and made-noise: none, fast or all
    cases: tuple[str, ...] = ()  # of real-noise and made-noise, by how their names begin; empty: all

    @property
    def rounds(self) -> int:
        """Number of runs of each method; medians are taken over them."""
        return 3 if self.quick else 5

    @property
    def patience(self) -> float:
        """Seconds after which no further round starts."""
        return 1.5 if self.quick else 120.0

    def wants(self, case: str) -> bool:
        """Whether this case is to be measured."""
        return not self.cases or case.startswith(self.cases)
