"""Tables of denoising quality. Those of the paper are measured by `epitomes.paper`."""

from __future__ import annotations

import sys

from benchmarks.options import Options
from benchmarks.record import Table
from epitomes.paper import Row, Setting, find_photos


def setting(options: Options) -> Setting:
    """Convert the options to those of `epitomes.paper`; notes about the images go to stderr."""
    photos = find_photos(options.images)
    for note in photos.notes:
        print(f"# {note}", file=sys.stderr)
    return Setting(photos=photos, quick=options.quick, seeds=options.seeds, threads=options.threads)


def as_table(row: Row) -> Table:
    """Convert a row of `epitomes.paper`."""
    return Table(
        table=row.table,
        row=row.row,
        image=row.image,
        sigma=row.sigma,
        seed=row.seed,
        psnr=row.psnr,
        seconds=row.seconds,
        printed=row.printed,
    )
