"""The registry: all tables and figures of the paper that can be measured again, in the order of `all`."""

from __future__ import annotations

from epitomes.paper import fig1, fig3, fig5, fig6, fig7, fig8, table1, table2
from epitomes.paper.report import Member

MEMBERS: dict[str, Member] = {
    "table1": table1.run,
    "table2": table2.run,  # after table 1, whose rows it uses
    "fig1": fig1.run,
    "fig3": fig3.run,
    "fig5": fig5.run,
    "fig6": fig6.run,
    "fig7": fig7.run,
    "fig8": fig8.run,
}
