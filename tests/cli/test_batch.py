"""Many files: patterns, a directory of results, failures that do not stop the others, and their exit code."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import wait
from pathlib import Path

import numpy as np
import pytest

from epitomes import blocks, denoise, kernels
from epitomes.cli import batch
from epitomes.cli.batch import files_at_once, files_of, goals_in
from epitomes.cli.common import Result
from epitomes.formats import read, write

Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")

FAST = ("--sigma", 20, "--preset", "fast")


@pytest.fixture
def folder(tmp_path: Path, noisy: Path) -> Path:
    """Two pictures, one in a folder of its own, and something that is none."""
    inner = tmp_path / "in" / "deep"
    inner.mkdir(parents=True)
    noisy.rename(tmp_path / "in" / "a.png")
    write(inner / "b.png", read(tmp_path / "in" / "a.png").pixels[::-1])
    (tmp_path / "in" / "bad.png").write_bytes(b"none")
    return tmp_path / "in"


def test_one_line_per_file_and_a_summary(folder: Path, tmp_path: Path, run: Run) -> None:
    goal = tmp_path / "out"
    code, out, err = run("denoise", f"{folder}/**/*.png", "-o", goal, *FAST)
    assert code == 6
    lines = out.splitlines()
    assert len(lines) == 3 and "a.png" in lines[0] and "b.png" in lines[1] and lines[2].startswith("2 of 3 files")
    assert "not a PNG" in err.splitlines()[0] and str(folder / "bad.png") in err.splitlines()[-1]
    assert sorted(path.name for path in goal.iterdir()) == ["a.png", "b.png"]
    for name, source in (("a.png", folder / "a.png"), ("b.png", folder / "deep" / "b.png")):
        expected = denoise(read(source).pixels, 20.0, preset="fast")
        np.testing.assert_array_equal(read(goal / name).pixels, expected)


def test_nothing_is_replaced_unasked(folder: Path, tmp_path: Path, run: Run) -> None:
    names, goal = (folder / "a.png", folder / "deep" / "b.png"), tmp_path / "out"
    goal.mkdir()
    (goal / "b.png").write_bytes(b"mine")
    code, out, err = run("denoise", *names, "-o", goal, *FAST)
    assert code == 6 and "1 of 2" in out and "exists already" in err and (goal / "b.png").read_bytes() == b"mine"
    code, out, err = run("denoise", *names, "-o", goal, *FAST, "--overwrite")
    assert (code, err) == (0, "") and "2 of 2" in out and read(goal / "b.png").pixels.shape == (48, 48)


def test_json_lines(folder: Path, tmp_path: Path, run: Run) -> None:
    code, out, _ = run("denoise", f"{folder}/*.png", "-o", tmp_path / "out", *FAST, "--json")
    first, bad, summary = map(json.loads, out.splitlines())
    assert code == 6 and first["output"] == str(tmp_path / "out" / "a.png")
    assert bad["exit_code"] == 3 and "bad.png" in bad["error"] and bad["input"] == str(folder / "bad.png")
    assert (summary["files"], summary["done"], summary["failed"]) == (2, 1, [str(folder / "bad.png")])


def test_a_pattern_or_a_folder_for_one(folder: Path, tmp_path: Path, run: Run) -> None:
    assert run("denoise", f"{folder}/a*.png", "-o", tmp_path / "new", *FAST)[0] == 0
    assert (tmp_path / "new" / "a.png").is_file()
    assert run("denoise", folder / "deep" / "b.png", "-o", tmp_path / "new", *FAST, "--suffix", ".tif")[0] == 0
    assert read(tmp_path / "new" / "b.tif").pixels.dtype == np.uint8


def test_other_commands_take_many(folder: Path, run: Run) -> None:
    code, out, _ = run("info", f"{folder}/*.png", "--json")
    assert code == 6 and json.loads(out.splitlines()[0])["shape"] == [48, 48]
    code, out, err = run("noise", folder / "a.png", folder / "deep" / "b.png")
    assert (code, err) == (0, "") and out.count("Gaussian, sigma") == 2 and "2 of 2" in out


@pytest.mark.parametrize(
    ("names", "output", "code", "words"),
    [
        (("in/a.png", "in/deep/b.png"), "clean.png", 2, "need a directory"),
        (("in/a.png", "in/deep/b.png"), "in/a.png", 2, "is a file"),
        (("in/a.png", "in/deep/b.png"), "-", 2, "name a directory"),
        (("in/a.png", "in/deep/b.png"), "no/out", 2, "create it first"),
        (("in/a.png", "in/deep/b.png"), "out.zarr", 2, "need a directory"),
        (("in/a.png", "in/deep/../a.png", "in/./a.png"), "out", 2, "the same name"),
        (("in/x*.png",), "out", 3, "no file matches"),
        (("-", "in/a.png"), "out", 2, "stdin"),
        (("-",), "in", 2, "stdin has no name"),
        (("in/a.png", "in/bad.png", "--report", "r.html"), "out", 2, "--report"),
        (("in/a.png", "in/bad.png", "--suffix", "tif"), "out", 2, "--suffix"),
        (("in/a.png", "in/bad.png", "--suffix", ".avi"), "out", 2, "not written"),
        (("in/a.png", "in/deep/b.png", "--time", "3", "--preset", "best"), "out", 2, "time chooses the method"),
    ],
    ids=str,
)
def test_refused_before_any_work(
    names: tuple[str, ...],
    output: str,
    code: int,
    words: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Run,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    found = run("denoise", *names, "-o", output, "--sigma", 20)
    first, *rest = found[2].splitlines()
    assert found[:2] == (code, "") and words in first and all(line.startswith("  try: ") for line in rest)
    assert sorted(tmp_path.rglob("*")) == before


def test_names_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = [Path(name) for name in ("a.ome.tif", "b.DCM", "c.avi", "d.nef", "e.nii.gz", "f.xyz", "g.gif")]
    names = [goal.name for goal in goals_in(Path("out"), files, None).values()]
    assert names == ["a.ome.tif", "b.DCM", "c.mkv", "d.dng", "e.nii.gz", "f.xyz", "g.png"]
    assert goals_in(Path("out"), files[:1], ".npz")[files[0]] == Path("out/a.npz")
    (tmp_path / "[1].png").write_bytes(b"")  # a file whose name looks like a pattern
    assert files_of([Path("[1].png")]) == [Path("[1].png")]


def test_next_steps_name_the_file(folder: Path, tmp_path: Path, run: Run) -> None:
    """In a batch, the command to try after a doubt is for the one file."""
    _, _, err = run("denoise", f"{folder}/a.png", f"{folder}/deep/*.png", "-o", tmp_path / "out", "--preset", "fast")
    step = next(line.split("try: ")[1] for line in err.splitlines() if "try: " in line)
    assert step.startswith(f"epitomes denoise {folder}/a.png --preset fast -o {tmp_path}/out/a.png --overwrite")
    assert "deep" not in step


@pytest.fixture
def many(tmp_path: Path, noisy: Path) -> list[Path]:
    """Six pictures, the third of which is none."""
    pixels, files = read(noisy).pixels, [tmp_path / f"{number}.png" for number in range(6)]
    for number, file in enumerate(files):
        write(file, np.roll(pixels, 5 * number, axis=0))
    files[2].write_bytes(b"none")
    return files


@pytest.mark.slow
def test_several_at_once_are_the_same(
    many: list[Path], tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes, lines and their order, failures and the exit code; one file per core."""
    answers = []
    for at_once in (1, 3):
        monkeypatch.setenv("EPITOMES_NUM_THREADS", str(at_once))
        goal = tmp_path / f"out{at_once}"
        code, out, err = run("denoise", *many, "-o", goal, *FAST, "--json")
        facts = [json.loads(line) for line in out.splitlines()]
        names = [fact.get("input", "") for fact in facts]
        files = {path.name: path.read_bytes() for path in goal.iterdir()}
        answers.append((code, names, files, err.replace(str(goal), "")))
    assert answers[0] == answers[1]
    assert answers[0][0] == 6 and len(answers[0][2]) == 5 and answers[0][1][:6] == [str(file) for file in many]


def test_how_many_at_once(many: list[Path], tmp_path: Path) -> None:
    assert files_at_once(many, 2) == 2 and files_at_once(many, 99) == 6 and files_at_once(many[:1], 4) == 1
    large = tmp_path / "large.npy"
    large.write_bytes(bytes(2**21 + 1))
    assert files_at_once([*many, large], 4) == 1 and files_at_once([*many, tmp_path / "none.png"], 4) == 1


@pytest.mark.slow
def test_ctrl_c_stops_all_of_them(many: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that work on files hear of it, and the next command works again."""
    began = threading.Event()

    def work(file: Path) -> Result:
        def piece(number: int, stop: blocks.Stop) -> None:
            began.set()
            while not stop[0]:
                time.sleep(0.01)

        blocks.run(piece, [1, 2], threads=2)
        return Result("", {})

    def interrupted(*given: object, **more: object) -> object:
        if began.is_set():
            raise KeyboardInterrupt
        return wait(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(batch, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        batch.each(many, work, done="seen", at_once=3)
    assert blocks.run(lambda piece, stop: piece, [1, 2]) == [1, 2]
