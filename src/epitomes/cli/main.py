"""`epitomes`: the commands, their help and the way out. Nothing heavy is imported here: help appears at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from epitomes.cli import denoise, learn, paper, show
from epitomes.cli.common import examples
from epitomes.cli.errors import guarded

app = typer.Typer(
    name="epitomes",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help in boxes takes rich a quarter of a second, and its examples cannot be copied
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples("denoise noisy.png -o clean.png --sigma 25", "learn photo.png -o photo.epitome --sigma 10"),
)
app.command(epilog=learn.EXAMPLES)(learn.learn)
app.command(epilog=denoise.EXAMPLES)(denoise.denoise)
app.command(epilog=show.EXAMPLES)(show.show)
app.command(epilog=examples("paper table1 --quick -o paper", "paper all --images DIR -o paper"))(paper.paper)


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
    """Sparse image representation with epitomes: learn them, look at them, denoise with them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return guarded(lambda: app(arguments, prog_name="epitomes", standalone_mode=False))
