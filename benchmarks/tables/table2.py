"""Table 2 of the paper: means over five images, for every noise level and noise realisation.

`--cases lssc,wnnm` measures these methods alone, by the names of `epitomes.baselines.METHODS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.options import Options
from benchmarks.record import Table
from benchmarks.tables import as_table, setting
from epitomes.paper import Log, table2


def run(options: Options) -> Iterator[Table]:
    asked = setting(options)
    if options.cases:
        methods = tuple(name for name in asked.methods if options.wants(name))
        asked = replace(asked, rows=tuple(row for row in asked.rows if options.wants(row)), methods=methods)
    for row in table2.rows(asked, Log()):
        yield as_table(row)
