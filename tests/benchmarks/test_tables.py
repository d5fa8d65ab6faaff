"""The tables of the benchmarks are those of `epitomes.paper`, in the columns that benchmarks record."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks.options import Options
from benchmarks.record import as_json
from epitomes import restoration
from epitomes.baselines import METHODS
from epitomes.formats import write


@pytest.fixture
def images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, side in {"house": 256, "cameraman": 256, "lena": 512}.items():
        pixels = np.random.default_rng(0).integers(0, 256, (side, side), dtype=np.uint8)
        write(tmp_path / f"{name}.png", pixels)

    def fake(noisy, sigma, *, method, rng=0, threads=None):  # type: ignore[no-untyped-def]
        assert threads == 1
        return SimpleNamespace(image=0.9 * noisy, seconds=0.25)

    monkeypatch.setattr(restoration, "restore", fake)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_rows"), [("table1", 3 * 5 * 2 * 2), ("table2", (2 + 1) * 5 * 2 * (2 + len(METHODS)))]
)
def test_rows(name: str, n_rows: int, images: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(command.TABLES[name])
    found = list(module.run(Options(images=images, seeds=2)))
    assert len(found) == n_rows
    for row in found:
        read = json.loads(as_json(row))
        assert read["table"] == name
        assert {"row", "image", "sigma", "seed", "psnr", "seconds"} <= set(read)
    assert "lacks peppers, barbara, boat" in capsys.readouterr().err


@pytest.mark.slow
def test_printed_numbers(images: Path) -> None:
    module = importlib.import_module(command.TABLES["table1"])
    cells = {(row.image, row.sigma, row.row): row.printed for row in module.run(Options(images=images))}
    assert cells["house", 10, "E"] == 35.86
    assert cells["lena", 50, "IE"] == 27.90


def test_quick_is_smaller(images: Path) -> None:
    module = importlib.import_module(command.TABLES["table1"])
    assert 0 < len(list(module.run(Options(images=images, quick=True, seeds=5)))) <= 4


def test_tables_can_be_asked_for_and_are_not_part_of_all() -> None:
    assert command.parser().parse_args(["table1"]).name == "table1"
    assert not set(command.TABLES) & set(command.RACES)
