"""What the command line asks of every benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Options:
    images: Path | None = None  # folder of PNG pictures; None: those inside scikit-image
    quick: bool = False  # fewer pictures and rounds
    threads: int = 1  # for every competitor
    seeds: int = 1  # noise seeds 0 .. seeds-1
    output: Path | None = None  # where a tool writes its result
    held_out: Path | None = None  # folder of natural pictures: every 20th is kept for measuring
    presets: tuple[str, ...] = ("balanced", "best")  # of denoise, for table-best
    curve: Path | None = None  # where race-denoise draws quality over time

    @property
    def rounds(self) -> int:
        """How often each competitor runs; medians are taken over the rounds."""
        return 3 if self.quick else 5

    @property
    def patience(self) -> float:
        """Seconds after which one problem gets no further round."""
        return 1.5 if self.quick else 120.0
