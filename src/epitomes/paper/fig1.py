"""Figure 1 of the paper: a flat dictionary, and one epitome whose atoms overlap."""

from __future__ import annotations

from epitomes.paper import figures
from epitomes.paper.flat_beside import beside_flat
from epitomes.paper.report import Report, Setting
from epitomes.paper.rows import Log
from epitomes.phi import windows

NAME = "fig1"
TITLE = "Figure 1: a flat dictionary and an epitome"
TEXT = "The atoms of the epitome are all its overlapping patches; those of the flat dictionary share nothing."
PHI = windows((42, 42), figures.PATCH)


def run(setting: Setting, log: Log) -> Report:
    """Learn both and draw them."""
    return beside_flat(setting, name=NAME, title=TITLE, text=TEXT, phi=PHI, label="one epitome")
