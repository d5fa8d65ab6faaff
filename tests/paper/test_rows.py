"""The file of rows: whole after every row, read back as written, and honest about what may be used again."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest

from epitomes.paper import rows as rows_module
from epitomes.paper.rows import Log, Row, read_rows

ROW = Row(table="table1", row="E", image="house", sigma=10, seed=0, psnr=35.9, printed=35.86, seconds=1.5, recipe="abc")


def test_a_line_has_the_columns_that_programs_expect(tmp_path: Path) -> None:
    log = Log(tmp_path / "rows.jsonl")
    log.add(ROW)
    (line,) = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    found = json.loads(line)
    wanted = {"table": "table1", "row": "E", "image": "house", "sigma": 10, "seed": 0, "psnr": 35.9, "printed": 35.86}
    assert wanted.items() <= found.items()
    assert found["seconds"] == 1.5


def test_the_file_is_whole_after_every_row(tmp_path: Path) -> None:
    file = tmp_path / "new" / "rows.jsonl"
    log = Log(file)
    for seed in range(3):
        log.add(dataclasses.replace(ROW, seed=seed))
        assert [row.seed for row in read_rows(file)] == list(range(seed + 1))
    assert os.listdir(file.parent) == ["rows.jsonl"]
    assert tuple(read_rows(file)) == log.rows


def test_a_row_that_cannot_be_written_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path / "rows.jsonl")
    log.add(ROW)
    with pytest.raises(ValueError, match="JSON"):
        log.add(dataclasses.replace(ROW, seed=1, psnr=float("nan")))

    def full(path: Path, content: bytes) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(rows_module, "write_atomically", full)
    with pytest.raises(OSError, match="disk full"):
        log.add(dataclasses.replace(ROW, seed=2))
    assert log.rows == tuple(read_rows(tmp_path / "rows.jsonl")) == (ROW,)


def test_resuming(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    first = Log(file)
    first.add(ROW)
    first.add(dataclasses.replace(ROW, seed=1))
    second = Log(file, resume=True)
    assert second.rows == first.rows
    assert second.find(ROW.key, "abc", quick=False) == ROW
    assert second.find((*ROW.key[:3], 10.0, 0), "abc", quick=False) == ROW  # 10 and 10.0 are one noise level
    assert second.find(ROW.key, "another", quick=False) is None
    assert second.find(ROW.key, "abc", quick=True) is None
    second.add(dataclasses.replace(ROW, recipe="another", psnr=36.0))
    assert [row.psnr for row in read_rows(file)] == [36.0, 35.9]  # in its old place


def test_an_earlier_file_is_not_lost_by_mistake(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    Log(file).add(ROW)
    with pytest.raises(FileExistsError, match="add --resume to continue"):
        Log(file)
    log = Log(file, overwrite=True)
    assert log.rows == ()
    assert len(list(read_rows(file))) == 1  # until there is something better
    log.add(dataclasses.replace(ROW, seed=7))
    assert [row.seed for row in read_rows(file)] == [7]


def test_resuming_with_nothing_there(tmp_path: Path) -> None:
    log = Log(tmp_path / "rows.jsonl", resume=True)
    assert log.rows == ()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"table": "table1", "row"', "line 2 of .* is not JSON"),
        ('{"table": "table1", "recipe": "abc"}', "line 2 of .* lacks row, image"),
        (json.dumps({**dataclasses.asdict(ROW), "psnr": "high"}), "psnr must be a number, got 'high'"),
        (json.dumps({**dataclasses.asdict(ROW), "seed": 0.5}), "seed must be a number, got 0.5"),
    ],
)
def test_damaged_lines_are_named(tmp_path: Path, line: str, words: str) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(dataclasses.asdict(ROW)) + "\n" + line + "\n")
    with pytest.raises(ValueError, match=words):
        Log(file, resume=True)


def test_lines_of_others_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"environment": "0.1.0"}\n\n{"race": "pursuit"}\n' + json.dumps(dataclasses.asdict(ROW)) + "\n")
    assert list(read_rows(file)) == [ROW]


def test_without_a_file_rows_are_kept_in_memory() -> None:
    log = Log()
    log.add(ROW)
    assert log.rows == (ROW,)
