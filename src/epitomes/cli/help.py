"""Help texts with options under headings, without the quarter of a second that rich takes for boxes."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

ARGUMENTS, OPTIONS = "Arguments", "Options"
NOISE, METHOD, OUTPUT, ADVANCED = "Noise", "Method", "Output", "Advanced"  # values of rich_help_panel
SCALE = "Scale"  # images larger than memory, and where tasks run
ORDER = (ARGUMENTS, OPTIONS, NOISE, METHOD, OUTPUT, SCALE, ADVANCED)

MOST_NAMES = 26  # characters in the column of names; a longer name has its own line
RANGE = re.compile(r"(; |  \[)x>=\d+(\])")  # a least value, which typer appends


class SectionedCommand(TyperCommand):
    """A command whose help lists its options under the headings that `rich_help_panel` names."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words after the name of the command, such as "[OPTIONS] FILES..."."""
        return ["[OPTIONS]", *(_name(each) for each in self.get_params(ctx) if each.param_type_name == "argument")]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each heading, with aligned descriptions."""
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in ORDER}
        for parameter in self.params:
            if (row := parameter.get_help_record(ctx)) is not None:
                argument = parameter.param_type_name == "argument"
                heading = getattr(parameter, "rich_help_panel", None) or (ARGUMENTS if argument else OPTIONS)
                text = RANGE.sub(lambda found: found[2] if found[1] == "; " else "", row[1])
                sections[heading].append((_name(parameter) if argument else row[0], text))
        width = min(MOST_NAMES, max(len(name) for rows in sections.values() for name, _ in rows))
        for heading, rows in sections.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(width), text) for name, text in rows], col_max=width)


def _name(argument: Any) -> str:
    return f"{argument.metavar or argument.name.upper()}{'...' if argument.nargs == -1 else ''}"


def examples(*commands: str) -> str:
    """Return the end of a help text: commands to copy."""
    lines = "\n".join(f"  epitomes {command}" for command in commands)
    return f"\b\nExamples:\n{lines}"  # \b: typer keeps the lines as they are
