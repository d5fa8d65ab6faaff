"""The bar is drawn for terminals only, and shows the objective."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest

from epitomes import Epitome
from epitomes.cli.progress import moving, watching
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


def test_moving(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with moving("[a].png", 2) as move:
        move(1.5, "Z 1 pass 2 of 4")
    shown = terminal.getvalue()
    assert "[a].png" in shown and "75%" in shown and "Z 1 pass 2 of 4" in shown
    silent = io.StringIO()
    monkeypatch.setattr(sys, "stderr", silent)
    with moving("a.png", 2) as move:
        move(1.0, "")
    assert silent.getvalue() == ""
