"""`epitomes paper`: what it prints, writes and refuses. Denoising is replaced by something that takes no time."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from epitomes import restoration
from epitomes.cli import paper as paper_module
from epitomes.cli.main import main
from epitomes.formats import write
from epitomes.paper import MEMBERS

Seen = list[tuple[float, int]]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """What was denoised: sigma and seed; the third call of a run may be made to fail."""
    calls: Seen = []

    def fake(noisy, sigma, *, method, rng=0, threads=1):  # type: ignore[no-untyped-def]
        calls.append((sigma, rng))
        return SimpleNamespace(image=0.9 * noisy, seconds=0.25)

    monkeypatch.setattr(restoration, "restore", fake)
    monkeypatch.setenv("COLUMNS", "160")
    return calls


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    for name, side in {"house": 256, "peppers": 256, "boat": 512}.items():
        write(folder / f"{name}.png", np.random.default_rng(0).integers(0, 256, (side, side), dtype=np.uint8))
    return folder


def rows_of(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_table1(seen: Seen, images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out"
    asked = ["paper", "table1", "--images", str(images), "-o", str(output), "--seeds", "2", "--sigmas", "25,10"]
    assert main([*asked, "--rows", "e", "--pictures", "house,boat"]) == 0
    shown = capsys.readouterr()
    assert "Table 1" in shown.out
    assert "35.86" in shown.out  # house, E, 10: printed
    assert "difference" in shown.out
    assert "lacks cameraman, barbara, lena" in shown.err
    assert "house, sigma 10, E, seed 0" in shown.err
    found = rows_of(output / "rows.jsonl")
    assert len(found) == len(seen) == 2 * 2 * 2
    assert found[0]["table"] == "table1"
    assert {row["image"] for row in found} == {"house", "boat"}
    assert "35.86" in (output / "table1.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_stopped_run_goes_on(
    seen: Seen, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kept.jsonl"
    asked = ["paper", "table1", "--images", str(images), "-o", str(tmp_path / "out"), "--json", str(file)]
    asked += ["--seeds", "1", "--sigmas", "25"]
    whole = restoration.restore

    def stopped(*given: object, **named: object) -> object:
        if len(seen) == 4:
            raise KeyboardInterrupt
        return whole(*given, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(restoration, "restore", stopped)
        assert main(asked) == 130
    assert "4 rows are saved" in capsys.readouterr().err
    assert len(rows_of(file)) == 4
    assert main(asked) == 2
    assert "--resume" in capsys.readouterr().err
    assert main([*asked, "--resume"]) == 0
    assert len(rows_of(file)) == len(seen) == 6
    assert main([*asked, "--overwrite"]) == 0
    assert len(seen) == 12


def test_table2_with_pictures_missing(seen: Seen, images: Path, tmp_path: Path) -> None:
    asked = ["paper", "table2", "--images", str(images), "-o", str(tmp_path / "out"), "--seeds", "1", "--sigmas", "25"]
    assert main([*asked, "--methods", "bm3d"]) == 0
    found = [row for row in rows_of(tmp_path / "out" / "rows.jsonl") if row["table"] == "table2"]
    means = [row for row in found if row["image"].startswith("mean of")]
    assert {row["row"] for row in means} == {"IE", "E", "BM3D"} and len(means) == 3
    assert {row["row"] for row in found if row not in means} == {"BM3D"}
    assert all(row["printed"] is None for row in means)  # not the paper's five


def test_without_pictures_it_says_where_they_are(
    seen: Seen, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["paper", "table1", "--quick", "-o", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr()
    assert "USC-SIPI" in shown.err
    assert "Set12" in shown.err
    assert "quick look" in shown.out
    assert all(row["printed"] is None for row in rows_of(tmp_path / "out" / "rows.jsonl"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fig2"], "fig2"),
        (["table1", "--rows", "EI"], "--rows needs some of IE, E"),
        (["table1", "--sigmas", "10,loud"], "--sigmas needs noise levels above 0"),
        (["table1", "--sigmas", "0"], "--sigmas needs noise levels above 0"),
        (["table1", "--sigmas", "nan"], "--sigmas needs noise levels above 0"),
        (["table1", "--pictures", "mandrill"], "no picture named mandrill"),
        (["table1", "--seeds", "0"], "--seeds"),
        (["table2", "--methods", "bm3d,bm5d"], "--methods needs some of bm3d, "),
    ],
)
def test_bad_usage(
    arguments: list[str], words: str, seen: Seen, images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["paper", *arguments, "--images", str(images), "-o", str(tmp_path / "out")]) == 2
    assert words in capsys.readouterr().err
    assert not seen
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "table1", "--images", str(tmp_path / "nowhere"), "-o", str(tmp_path / "out")]) != 0
    assert "is not a folder" in capsys.readouterr().err


def test_the_names_are_those_of_the_registry() -> None:
    assert {each.value for each in paper_module.What} == {*MEMBERS, "all"}
