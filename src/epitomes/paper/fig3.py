"""Figure 3 of the paper: a flat dictionary, and four epitomes."""

from __future__ import annotations

from epitomes.paper import figures
from epitomes.paper.flat_beside import beside_flat
from epitomes.paper.report import Report, Setting
from epitomes.paper.rows import Log
from epitomes.phi import windows

NAME = "fig3"
TITLE = "Figure 3: a flat dictionary and four epitomes"
TEXT = "The atoms are the overlapping patches of four small images, which share no pixels."
PHI = windows((4, 25, 25), figures.PATCH)


def run(setting: Setting, log: Log) -> Report:
    """Learn both and draw them."""
    return beside_flat(setting, name=NAME, title=TITLE, text=TEXT, phi=PHI, label="four epitomes")
