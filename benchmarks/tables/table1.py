"""Table 1 of the paper: PSNR after denoising, for every image, noise level and noise realisation."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.options import Options
from benchmarks.record import Table
from benchmarks.tables import as_table, setting
from epitomes.paper import Log, table1


def run(options: Options) -> Iterator[Table]:
    for row in table1.rows(setting(options), Log()):
        yield as_table(row)
