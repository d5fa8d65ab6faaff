"""Claims of the paper about learning, one file each, as numbers and plots.

Each file has `run(pictures, options)`, which yields rows and writes a PNG. The row says whether the claim holds.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.options import Options
from benchmarks.pictures import read_pictures
from benchmarks.record import Claim


def run(options: Options) -> Iterator[Claim]:
    """Measure all claims."""
    from benchmarks.claims import acceleration, flat, multiscale, patch_size, several

    if options.output is not None and options.output.is_file():
        raise SystemExit(f"{options.output} is a file: pass a folder for the plots with --output")
    pictures = read_pictures(options.images)
    for claim in (acceleration, multiscale, flat, several, patch_size):
        yield from claim.run(pictures, options)
