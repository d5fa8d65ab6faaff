"""Claims of the paper, one file each: what it says of learning, as numbers and a drawing that can be made again.

Each file has `run(pictures, options)`, which yields rows and writes a PNG. Whether a claim holds is part of the row: a
claim that does not is reported, not hidden.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.options import Options
from benchmarks.pictures import read_pictures
from benchmarks.record import Claim


def run(options: Options) -> Iterator[Claim]:
    from benchmarks.claims import acceleration, flat, multiscale, patch_size, several

    if options.output is not None and options.output.is_file():
        raise SystemExit(f"{options.output} is a file: --output names the folder for the drawings")
    pictures = read_pictures(options.images)
    for claim in (acceleration, multiscale, flat, several, patch_size):
        yield from claim.run(pictures, options)
