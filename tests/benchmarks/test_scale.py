"""Time and memory of large images: small ones here, the rules that end a series, and the plot."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import peak, scale, scale_volume
from benchmarks.options import Options
from benchmarks.peak import Task, Usage
from benchmarks.record import Scale, as_json
from epitomes import plan
from epitomes.formats import read, write


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """Replace the measurement: 2 s and 100 MB per megapixel."""
    seen: list[Task] = []

    def fake(task: Task, timeout: float) -> Usage:
        assert timeout == scale.LIMIT
        pixels = np.load(str(task.source))
        assert pixels.ndim == (3 if "3.npy" in str(task.source) else 2)
        seen.append(task)
        size = task.height * task.width / 1e6
        return Usage(seconds=2 * size, before_mb=50.0, peak_mb=50 + 100 * size, predicted_mb=90 * size)

    monkeypatch.setattr(peak, "measure", fake)
    monkeypatch.setattr(scale, "free_mb", lambda: 1e6)
    return seen


def test_it_is_registered_and_not_part_of_all() -> None:
    assert command.TABLES["scale"] == "benchmarks.scale"
    assert "scale" not in command.RACES


def test_every_size_preset_and_kind(tasks: list[Task], capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(scale.run(Options(threads=2)))
    assert len(rows) == len(tasks) == 4 * 2 * 2
    assert {(row.scale, row.kind) for row in rows} == {(a, b) for a in ("fast", "balanced") for b in ("grey", "RGB")}
    assert [round(row.megapixels) for row in rows[:4]] == [1, 3, 8, 24]
    for row in rows:
        assert row.width * row.height == pytest.approx(row.megapixels * 1e6)
        assert row.width / row.height == pytest.approx(4 / 3, rel=0.01)
        assert row.seconds_per_megapixel == pytest.approx(2.0)
        assert row.memory_mb == pytest.approx(100 * row.megapixels) and row.peak_mb == row.memory_mb + 50
        assert json.loads(as_json(row))["predicted_mb"] == pytest.approx(90 * row.megapixels)
    assert "16 runs: fast, balanced, grey and RGB, 1 to 24 megapixels, at most 1800 s each" in capsys.readouterr().err


def test_quick_and_a_given_image(tasks: list[Task], tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (9, 11, 3), dtype=np.uint8)
    write(tmp_path / "mine.png", pixels)
    rows = list(scale.run(Options(quick=True, images=tmp_path)))
    assert [round(row.megapixels, 2) for row in rows] == [0.25, 0.5, 1.0] * 2
    assert {(row.scale, row.image, row.pictures) for row in rows} == {("fast", "mine", "given")}
    with pytest.raises(SystemExit, match="holds no PNG images"):
        list(scale.run(Options(images=tmp_path / "none")))


def test_a_series_ends_where_the_next_run_would_be_too_large(
    tasks: list[Task], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scale, "free_mb", lambda: 1000.0)  # 8 megapixels fit, 24 do not
    rows = list(scale.run(Options()))
    assert [round(row.megapixels) for row in rows] == [1, 3, 8] * 4
    assert "fast, grey, 24 megapixels: skipped with all larger ones, because the run would need" in (
        capsys.readouterr().err
    )
    monkeypatch.setattr(scale, "free_mb", lambda: 1e6)
    monkeypatch.setattr(scale, "LIMIT", 6.5)
    assert [round(row.megapixels) for row in scale.run(Options())] == [1, 3] * 4
    assert "because the run would take about 16 s" in capsys.readouterr().err


def test_a_run_that_fails_ends_its_series(
    tasks: list[Task], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = peak.measure

    def fails(task: Task, timeout: float) -> Usage:
        if task.height * task.width > 5e6:
            raise subprocess.TimeoutExpired("benchmarks.peak", timeout)
        return good(task, timeout)

    monkeypatch.setattr(peak, "measure", fails)
    assert [round(row.megapixels) for row in scale.run(Options())] == [1, 3] * 4
    assert "fast, grey, 8 megapixels: failed, larger ones are skipped" in capsys.readouterr().err


def test_the_plot(tasks: list[Task], tmp_path: Path) -> None:
    rows = list(scale.run(Options(quick=True, curve=tmp_path / "new" / "scale.png")))
    pixels = read(tmp_path / "new" / "scale.png").pixels
    assert pixels.ndim == 3 and pixels.min() < 100 < pixels.max()
    line = scale.proportional(rows, "seconds")
    slope = np.diff(np.log(line.y)) / np.diff(np.log(line.x))
    assert slope == pytest.approx(1.0)
    assert (line.x[-1], line.y[-1]) == (rows[2].megapixels, rows[2].seconds)
    labels = [series.label for series in scale.lines(rows, "memory_mb")]
    assert labels == ["fast, grey", "fast, RGB"]
    assert isinstance(rows[0], Scale)


def test_images_are_enlarged_by_mirroring() -> None:
    np.testing.assert_array_equal(peak.mirrored(9, 3), [0, 1, 2, 2, 1, 0, 0, 1, 2])
    clean = np.random.default_rng(0).uniform(0, 255, (5, 7, 3)).astype(np.float32)
    noisy = peak.noisy_image(clean, 600, 20)  # several bands
    expected = np.pad(clean, ((0, 595), (0, 13), (0, 0)), mode="symmetric")
    noise = noisy - expected
    assert noisy.dtype == np.float32
    assert noise.std() == pytest.approx(peak.SIGMA, rel=0.02)
    assert abs(noise.mean()) < 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("method", "side"), [("fast", 480), ("paper", 120)])  # "fast" plans on tiles of 192 pixels
def test_a_run_in_a_process_of_its_own(method: str, side: int, tmp_path: Path) -> None:
    np.save(tmp_path / "clean.npy", np.full((16, 16), 100, np.float32))
    source = None if method == "paper" else str(tmp_path / "clean.npy")
    usage = peak.measure(Task(method=method, height=side, width=side, threads=1, source=source))
    assert usage.seconds > 0
    assert usage.peak_mb >= usage.before_mb > 20  # a small image may fit in what importing took
    assert usage.used_mb == usage.peak_mb - usage.before_mb
    if method == "fast":
        predicted = plan(np.zeros((side, side), np.float32), peak.SIGMA, preset="fast").memory
        assert usage.predicted_mb == pytest.approx(predicted / 2**20)
    with pytest.raises(subprocess.SubprocessError):
        peak.measure(Task(method="slow", height=96, width=120, threads=1))


def test_volumes_move_and_keep_their_dtype() -> None:
    clean = np.random.default_rng(0).uniform(60, 190, (16, 16)).astype(np.float32)
    task = Task(method="fast", height=20, width=24, threads=1, planes=5, dtype="uint16")
    volume = peak.noisy_volume(clean, task)
    assert volume.shape == (5, 20, 24) and volume.dtype == np.uint16
    expected = np.pad(clean, ((0, 4), (0, 8)), mode="symmetric")
    noise = np.stack([plane / 257 - np.roll(expected, k, axis=1) for k, plane in enumerate(volume)])
    assert noise.std() == pytest.approx(peak.SIGMA, rel=0.1)


def test_many_planes_are_measured_after_few(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fake(task: Task, timeout: float) -> Usage:
        return Usage(seconds=float(task.planes or 0), before_mb=50.0, peak_mb=90.0, predicted_mb=30.0)

    monkeypatch.setattr(peak, "measure", fake)
    monkeypatch.setattr(scale_volume, "free_mb", lambda: 1e6)
    rows = list(scale_volume.run(Options(cases=("fast",))))
    assert [(row.kind, row.planes) for row in rows] == [("uint8", 24), ("uint8", 300), ("uint16", 24), ("uint16", 256)]
    assert rows[1].memory_mb == 40.0 and rows[1].seconds_per_megapixel == pytest.approx(1 / 0.262144)
    monkeypatch.setattr(scale_volume, "LIMIT", 100.0)
    assert len(list(scale_volume.run(Options(cases=("balanced, uint8",))))) == 1
    assert "balanced, 300 planes, uint8: skipped, it would take about 300 s" in capsys.readouterr().err
    assert command.TABLES["scale-volume"] == "benchmarks.scale_volume"


@pytest.mark.slow
def test_peaks_only_rise() -> None:
    before = peak.peak_mb()
    block = np.ones(int(before + 20) * 2**20, np.uint8)  # more than anything before
    high = peak.peak_mb()
    assert high >= before + 20
    del block
    assert peak.peak_mb() >= high - 1  # the system counts pages in batches
