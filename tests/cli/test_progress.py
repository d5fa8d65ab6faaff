"""The bar is drawn for terminals only, and shows the objective."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from epitomes import Epitome, kernels
from epitomes.cli import denoise_file
from epitomes.cli.main import main
from epitomes.cli.progress import progress, watching
from epitomes.formats import read, write
from epitomes.learn import Progress, Step
from epitomes.phi import windows


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def step(index: int) -> Step:
    return Step(Progress(index, 0, 123.456, 2.5, 0, 0.1), Epitome(np.ones((8, 8)), windows((8, 8), (8, 8))))


def test_silent_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    with watching("learning", 3) as watch:
        assert watch is None
    assert written.getvalue() == ""


def test_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with watching("learning", 2) as watch:
        assert watch is not None
        watch(step(1))
        watch(step(2))
    shown = terminal.getvalue()
    assert "objective 123.456" in shown and "2/2" in shown
    assert capsys.readouterr().out == ""


def test_one_bar_per_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress("[a].png") as callback:
        assert callback is not None
        callback(0.75, "pass 2 of 4")
    shown = terminal.getvalue()
    assert "[a].png" in shown and "75%" in shown and "pass 2 of 4" in shown and "-:--:--" in shown
    silent = io.StringIO()
    monkeypatch.setattr(sys, "stderr", silent)
    with progress("a.png") as callback:
        assert callback is None
    assert silent.getvalue() == ""


@pytest.mark.slow
@pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")
@pytest.mark.parametrize(
    "options",
    [
        ("--preset", "balanced", "--sigma", "20", "--report", "a.html"),
        ("--preset", "balanced", "--sigma", "70", "--report", "a.html"),  # strong noise is coded at three scales
        ("--preset", "balanced", "--poisson", "--report", "a.html"),  # without an estimate of the error
        ("--method", "paper"),
    ],
)
def test_the_bar_moves_steadily(
    options: tuple[str, ...], noisy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From 0 to 1, never back, and without leaps, though the image is small; a report is part of it."""
    seen: list[float] = []

    @contextmanager
    def recorded(label: str) -> Iterator[object]:
        assert label == "large.png"
        yield lambda fraction, stage: seen.append(fraction)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(denoise_file, "progress", recorded)
    write("large.png", np.tile(read(noisy).pixels, (2, 2)))
    assert main(["denoise", "large.png", "-o", "a.png", "--threads", "1", *options]) == 0
    assert seen == sorted(seen) and max(np.diff([0.0, *seen, 1.0])) < 0.35
