"""Input and output of every table and figure: a `Setting` in, a `Report` out.

A `Grid` is a table of text; the terminal and the page each draw it in their own way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from epitomes.baselines import METHODS
from epitomes.paper.photos import Photos
from epitomes.paper.printed import ROWS, SIGMAS
from epitomes.paper.rows import Log

QUICK = "A quick look with fewer images, noise levels, draws and steps. It does not measure the paper's numbers."


def _silent(words: str) -> None:
    del words


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Options of every table and figure."""

    photos: Photos
    quick: bool = False  # fewer images, noise levels, draws and steps: within 50 s on two cores
    seeds: int = 5  # number of noise draws, with seeds 0 to seeds - 1
    threads: int | None = None  # None: all cores
    rows: Sequence[str] = ROWS  # of table 1
    methods: Sequence[str] = tuple(METHODS)  # baselines of table 2
    sigmas: Sequence[float] = SIGMAS
    tell: Callable[[str], None] = field(default=_silent)  # receives a line after each measurement


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table of text. The first `n_labels` columns name the line."""

    title: str
    header: Sequence[str]
    lines: Sequence[Sequence[str]]
    n_labels: int = 1
    note: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """Result of a table or figure, ready to be shown."""

    name: str
    title: str
    text: str  # what the paper says, and how it was measured here
    grids: Sequence[Grid] = ()
    picture: NDArray[np.uint8] | None = None
    alt: str = ""  # describes the picture for screen readers
    facts: Mapping[str, object] | None = None  # numbers behind a figure, as plain JSON values
    notes: Sequence[str] = ()


Member = Callable[[Setting, Log], Report]  # a table or figure


def number(value: float | None, places: int = 2) -> str:
    """Format a number for a cell; None becomes a dash."""
    return "–" if value is None else f"{value:.{places}f}"


def signed(value: float | None, places: int = 2) -> str:
    """Format a difference with its sign; zero is +0.00, never -0.00."""
    return "–" if value is None else f"{round(value, places) + 0.0:+.{places}f}"


def minus(first: float | None, second: float | None) -> float | None:
    """Subtract, if both numbers are known."""
    return None if first is None or second is None else first - second
