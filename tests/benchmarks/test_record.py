"""Rows and files: what programs read must be whole, valid JSON, one object per line; and the stopwatch is fair."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import timing
from benchmarks.pictures import add_noise, from_folder, named
from benchmarks.record import Race, Record, Table, as_json, write_atomically

ROW = Race(
    race="pursuit",
    image="house",
    method="epitomes",
    peer="spams",
    ratio=14.9,
    seconds=0.1,
    peer_seconds=1.49,
    paired_ratio=14.8,
    rounds=3,
    clock="cpu",
    threads=1,
    n_patches=62001,
    pictures="given",
    epitome="noise",
    sigma=25,
    agree=1.0,
)


def test_row_as_json() -> None:
    read = json.loads(as_json(ROW))
    assert read["race"] == "pursuit"
    assert read["sigma"] == 25
    assert read["ratio"] == 14.9
    assert "lam" not in read  # a column that this race does not have
    table = Table(table="table1", row="E", image="house", sigma=10, seed=0, psnr=35.9, seconds=1.0, printed=35.86)
    assert json.loads(as_json(table))["printed"] == 35.86


def test_rows_are_frozen_and_numbers_are_finite() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ROW.ratio = 1.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json(dataclasses.replace(ROW, ratio=float("nan")))


def test_file_is_whole_after_every_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "new" / "rows.jsonl"
    record = Record(file)
    for count in (1, 2, 3):
        record.add(dataclasses.replace(ROW, seed=count))
        lines = file.read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["seed"] for line in lines] == list(range(1, count + 1))
    assert os.listdir(file.parent) == ["rows.jsonl"]  # no temporary files left
    assert "ratio=14.9" in capsys.readouterr().out


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rows.jsonl"
    write_atomically(file, b"old")

    def full(descriptor: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(file, b"new")
    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["rows.jsonl"]


def test_interleaving(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(timing.time, "perf_counter", lambda: float(next(ticks)))
    order: list[str] = []
    runners = {"a": lambda: order.append("a"), "b": lambda: order.append("b")}
    laps = timing.interleave(runners, rounds=4, clock="wall")
    assert order == ["a", "b"] * 5
    assert laps["a"].rounds == (1.0,) * 4  # the first round is not counted
    assert len(timing.interleave(runners, rounds=4, clock="wall", patience=-1.0)["a"].rounds) == 2
    fast, slow = timing.Lap((1.0, 2.0, 4.0), None), timing.Lap((3.0, 4.0, 40.0), None)
    assert timing.ratio(slow, fast) == 2.0
    assert timing.paired_ratio(slow, fast) == 3.0
    assert fast.scaled(10.0).seconds == 20.0


def test_pictures(tmp_path: Path) -> None:
    from PIL import Image

    small = np.arange(12, dtype=np.uint8).reshape(3, 4)
    Image.fromarray(small).save(tmp_path / "small.png")
    Image.fromarray(np.stack([small.repeat(2, axis=0)] * 3, axis=-1)).save(tmp_path / "large.png")
    pictures = from_folder(tmp_path)
    assert [(picture.name, picture.pixels.shape) for picture in pictures] == [("large", (6, 4)), ("small", (3, 4))]
    assert named(pictures, "small").name == "small"
    assert named(pictures, "absent").name == "large"
    noisy = add_noise(pictures[1].pixels, 5.0, seed=1)
    np.testing.assert_array_equal(noisy, add_noise(pictures[1].pixels, 5.0, seed=1))
    assert noisy.dtype == np.float32
    with pytest.raises(SystemExit, match="no PNG"):
        from_folder(tmp_path / "nowhere")


def test_command_line_lists_its_names() -> None:
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "benchmarks", "list"]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, timeout=60)
    assert {"race-pursuit", "race-lasso", "race-correlate", "race-threads"} <= set(found.stdout.split())
