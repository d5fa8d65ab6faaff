"""Table 2 of the paper: means over five images, for every noise level and noise realisation."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.options import Options
from benchmarks.record import Table
from benchmarks.tables import as_table, setting
from epitomes.paper import Log, table2


def run(options: Options) -> Iterator[Table]:
    for row in table2.rows(setting(options), Log()):
        yield as_table(row)
