"""`epitomes`: the commands, their help and the way out. Nothing heavy is imported here: help appears at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from epitomes.cli import denoise, doctor, info, learn, noise, paper, report, show
from epitomes.cli.common import examples
from epitomes.cli.errors import CODES, guarded

_CODES = "\b\nExit codes:\n" + "\n".join(f"  {code:3} {meaning}" for code, meaning in CODES.items())

app = typer.Typer(
    name="epitomes",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help in boxes takes rich a quarter of a second, and its examples cannot be copied
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "denoise noisy.png -o clean.png",
        "noise noisy.png",
        "learn photo.png -o photo.epitome --sigma 10",
    )
    + f"\n\n{_CODES}",
)
app.command(epilog=denoise.EXAMPLES)(denoise.denoise)
app.command(epilog=noise.EXAMPLES)(noise.noise)
app.command(epilog=report.EXAMPLES)(report.report)
app.command(epilog=info.EXAMPLES)(info.info)
app.command(epilog=learn.EXAMPLES)(learn.learn)
app.command(epilog=show.EXAMPLES)(show.show)
app.command(epilog=examples("paper table1 --quick -o paper", "paper all --images DIR -o paper"))(paper.paper)
app.command(epilog=doctor.EXAMPLES)(doctor.doctor)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"epitomes {version('epitomes')}")
        raise typer.Exit


@app.callback()
def epitomes(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version and leave")
    ] = False,
) -> None:
    """Sparse image representation with epitomes: denoise with them, learn them, look at them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code. Commands find their own words in the context, for who wants them again."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return guarded(lambda: app(words, prog_name="epitomes", standalone_mode=False, obj=words))
