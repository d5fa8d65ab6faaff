"""Means over the images of a case, and how often a method did harm."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.real_noise.measure import OURS, Measured

COLUMNS = ("images", "noisy", "PSNR", "least", "gain", "worst", "refused", "below", "ours +", "worst")


def summarised(rows: Iterable[Measured]) -> Iterator[Measured]:
    """Pass on all rows, then print their summary."""
    found = []
    for row in rows:
        found.append(row)
        yield row
    if found:
        print(summary(found), flush=True)


def summary(rows: Sequence[Measured]) -> str:
    """Summarise each method of each case in a line.

    The columns are: number of images, PSNR of the noisy images and of the results (mean, least), gain (mean, least),
    number of images refused, number of results below their input, and how far ours is above this method (mean, least).
    """
    groups: dict[tuple[str, str], list[Measured]] = {}
    for row in rows:
        groups.setdefault((row.noise, row.method), []).append(row)
    lines = [line("case, method", COLUMNS)]
    return "\n".join(lines + [line(f"{case}: {method}", cells(groups, case, method)) for case, method in groups])


def cells(groups: dict[tuple[str, str], list[Measured]], case: str, method: str) -> list[str]:
    """Format the numbers of one method in one case."""
    rows = groups[case, method]
    ours = {(row.image, row.seed): row.psnr for row in groups.get((case, OURS), ())}
    same = [ours[row.image, row.seed] - row.psnr for row in rows if method != OURS and (row.image, row.seed) in ours]
    gains = [row.gain for row in rows if row.gain is not None]
    return [
        str(len(rows)),
        mean([row.noisy_psnr for row in rows if row.noisy_psnr is not None]),
        mean([row.psnr for row in rows]),
        least([row.psnr for row in rows]),
        mean(gains, "+.2f"),
        least(gains, "+.2f"),
        str(sum(bool(row.unchanged) for row in rows)),
        str(sum(gain < 0 for gain in gains)),
        mean(same, "+.2f"),
        least(same, "+.2f"),
    ]


def mean(values: Sequence[float], form: str = ".2f") -> str:
    """Format the mean, if there is one."""
    return format(statistics.fmean(values), form) if values else "-"


def least(values: Sequence[float], form: str = ".2f") -> str:
    """Format the least value, if there is one."""
    return format(min(values), form) if values else "-"


def line(label: str, numbers: Sequence[str]) -> str:
    """Format a line."""
    return f"{label:<50}" + "".join(f"{number:>9}" for number in numbers)
