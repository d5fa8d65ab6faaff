"""Tables: the quality of denoising beside the numbers that the paper prints, measured by `epitomes.paper`."""

from __future__ import annotations

import sys

from benchmarks.options import Options
from benchmarks.record import Table
from epitomes.paper import Row, Setting, find_photos


def setting(options: Options) -> Setting:
    """What the command line asked for, in the terms of `epitomes.paper`; notes about the pictures go to stderr."""
    photos = find_photos(options.images)
    for note in photos.notes:
        print(f"# {note}", file=sys.stderr)
    return Setting(photos=photos, quick=options.quick, seeds=options.seeds, threads=options.threads)


def as_table(row: Row) -> Table:
    """The columns that benchmarks record."""
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
