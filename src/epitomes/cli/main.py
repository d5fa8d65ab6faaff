"""`epitomes`: the commands and their help. Nothing heavy is imported here, so that help appears at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from epitomes.cli import compare, denoise, doctor, info, inpaint, learn, merge, noise, paper, report, show, stats
from epitomes.cli.advice import CommandLine
from epitomes.cli.errors import CODES, DONE, INTERRUPTED, guarded
from epitomes.cli.help import SectionedCommand, examples

_CODES = "\b\nExit codes:\n" + "\n".join(f"  {code:3} {meaning}" for code, meaning in CODES.items())

app = typer.Typer(
    name="epitomes",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich takes a quarter of a second for boxes, and their examples cannot be copied
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples(
        "denoise noisy.png -o clean.png",
        "noise noisy.png",
        "learn photo.png -o photo.epitome --sigma 10",
    )
    + f"\n\n{_CODES}",
)
for command, epilog in (
    (denoise.denoise, denoise.EXAMPLES),
    (inpaint.inpaint, inpaint.EXAMPLES),
    (noise.noise, noise.EXAMPLES),
    (report.report, report.EXAMPLES),
    (compare.compare, compare.EXAMPLES),
    (info.info, info.EXAMPLES),
    (learn.learn, learn.EXAMPLES),
    (stats.stats, stats.EXAMPLES),
    (merge.merge, merge.EXAMPLES),
    (show.show, show.EXAMPLES),
    (paper.paper, paper.EXAMPLES),
    (doctor.doctor, doctor.EXAMPLES),
):
    app.command(cls=SectionedCommand, epilog=epilog)(command)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"epitomes {version('epitomes')}")
        raise typer.Exit


@app.callback()
def epitomes(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version and exit")
    ] = False,
) -> None:
    """Denoise and complete images, estimate their noise and learn epitomes.

    Run "epitomes COMMAND --help" for the options of a command.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    words = tuple(sys.argv[1:] if arguments is None else arguments)
    line = CommandLine(words)
    with guarded(line.remedy) as outcome:
        code = app(list(words), prog_name="epitomes", standalone_mode=False, obj=line)
        if code == INTERRUPTED:  # typer has caught Ctrl-C
            raise KeyboardInterrupt
        outcome.code = code if isinstance(code, int) else DONE
    return outcome.code
