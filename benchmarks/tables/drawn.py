"""Presets and BM3D on drawn pictures, none of which anything was learned from or tuned on."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.drawings import drawn
from benchmarks.options import Options
from benchmarks.record import Table
from benchmarks.tables.best import rows, small, summary

NAME = "drawn"
FIRST_SEED, N_PICTURES = 1000, 24  # `make-regressions` takes smaller seeds
SIGMAS = (5, 10, 25, 50)
QUICK_SIGMAS = (25,)


def run(options: Options) -> Iterator[Table]:
    pictures = small(list(drawn(N_PICTURES, FIRST_SEED)), options)
    found = []
    for row in rows(NAME, pictures, QUICK_SIGMAS if options.quick else SIGMAS, options.seeds, options):
        found.append(row)
        yield row
    print(summary(found, published=False), flush=True)
