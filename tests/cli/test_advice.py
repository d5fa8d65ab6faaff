"""Commands to try next: composed from what was typed, with options added, replaced and left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from epitomes.cli.advice import CommandLine, after_denoise, after_noise, doubts
from epitomes.cli.errors import usage
from epitomes.noise import Noise

KINDS = ("texture", "clipped", "quantised", "tiny", "jpeg", "demosaicked", "correlated", "few levels", "narrow")


def line(text: str) -> CommandLine:
    return CommandLine(tuple(text.split()))


@pytest.mark.parametrize(
    ("typed", "option", "expected"),
    [
        ("denoise a.png -o b.png", ("--overwrite",), "denoise a.png -o b.png --overwrite"),
        ("denoise a.png -o b.png --overwrite", ("--overwrite",), "denoise a.png -o b.png --overwrite"),
        ("denoise a.png -o b.png --json", ("-o", "c.tif"), "denoise a.png --json -o c.tif"),
        ("denoise a.png --output b.png", ("-o", "c.tif"), "denoise a.png -o c.tif"),
        ("denoise a.png --output=b.png", ("--output", "c.tif"), "denoise a.png --output c.tif"),
        ("denoise a.png --sigma 0 -o b.png", ("--sigma", "auto"), "denoise a.png -o b.png --sigma auto"),
    ],
)
def test_options_are_added_or_replaced(typed: str, option: tuple[str, ...], expected: str) -> None:
    assert str(line(typed).adding(*option)) == f"epitomes {expected}"
    assert line(typed).remedy(usage("words", *option)) == f"epitomes {expected}"


def test_words_are_quoted() -> None:
    assert str(CommandLine(("noise", "my scan.tif"))) == "epitomes noise 'my scan.tif'"


def test_errors_without_a_remedy() -> None:
    assert line("denoise a.png").remedy(usage("words")) == line("denoise a.png").remedy(ValueError("words")) == ""
    assert line("learn a.png").remedy(FileExistsError("words")) == "epitomes learn a.png --overwrite"


def test_steps_after_denoise() -> None:
    step = after_denoise(line("denoise a.tif -o b.tif --sigma auto"), Path("b.tif"))
    assert str(step("growth")) == "epitomes denoise a.tif -o b.tif --overwrite --poisson"
    assert {str(step(kind)) for kind in KINDS} == {"epitomes denoise a.tif -o b.tif --overwrite --report b.html"}
    step = after_denoise(line("denoise a.tif -o b.tif --poisson --offset 3 --report c.html"), Path("b.tif"))
    assert str(step("no growth")) == "epitomes denoise a.tif --report c.html -o b.tif --overwrite"
    assert all(step(kind) is None for kind in KINDS)  # the report is there already


def test_steps_after_a_burst() -> None:
    step = after_denoise(line("denoise a.tif -o b.tif --burst c.tif"), Path("b.tif"))
    assert str(step("moved")) == "epitomes denoise a.tif --burst c.tif -o b.tif --overwrite --no-merge"
    step = after_denoise(line("denoise a.tif -o b.tif --burst c.tif --no-merge"), Path("b.tif"))
    assert str(step("moved")).endswith("--no-merge -o b.tif --overwrite --report b.html")


@pytest.mark.parametrize("words", ["--from 1,2,30,40", "--from=1,2,30,40"])
def test_a_region_has_another_name_after_noise(words: str, tmp_path: Path) -> None:
    step = after_noise(line(f"noise a.tif {words}"), tmp_path / "clean.tif")
    assert f"denoise a.tif --noise-{words[2:]} -o" in str(step("texture"))


def test_steps_after_noise(tmp_path: Path) -> None:
    goal = tmp_path / "clean.tif"
    step = after_noise(line("noise a.tif --axes TYX --json --save n.json"), goal)
    assert str(step("growth")) == "epitomes noise a.tif --axes TYX --json --poisson"
    expected = f"epitomes denoise a.tif --axes TYX -o {goal} --report {goal.with_suffix('.html')}"
    assert {str(step(kind)) for kind in KINDS} == {expected}
    goal.touch()
    assert "--overwrite" in str(after_noise(line("noise a.tif"), goal)("texture"))


def test_doubts_share_a_step() -> None:
    noise = Noise(
        sigma=np.asarray(3.0),
        doubts=("Texture.", "It grows.", "Clipped."),
        doubt_kinds=("texture", "growth", "clipped"),
        estimated=True,
    )
    assert doubts(noise, after_denoise(line("denoise a.tif -o b.tif"), Path("b.tif"))) == [
        "  - Texture.",
        "  - Clipped.",
        "    try: epitomes denoise a.tif -o b.tif --overwrite --report b.html",
        "  - It grows.",
        "    try: epitomes denoise a.tif -o b.tif --overwrite --poisson",
    ]
    nothing = Noise(doubts=("It is constant.",), doubt_kinds=("constant",), estimated=True)
    assert doubts(nothing, after_denoise(line("denoise a.tif -o b.tif"), Path("b.tif"))) == ["  - It is constant."]
