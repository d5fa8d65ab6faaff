"""`epitomes learn` on collections, `epitomes stats` and `epitomes merge`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from dask_cluster import cluster
from scale_learn_cases import pictures

from epitomes import kernels
from epitomes.formats import write
from epitomes.model_file import Provenance, inspect, load, save
from epitomes.scale import dictionary_step, learn_from, load_statistics, start_for, statistics_of

Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")

SMALL = ("--width", 12, "--patch", 5, "--start", "noise", "--lam", 30, "--sample", 60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six pictures, half of them in a directory of their own, and one that is damaged."""
    (tmp_path / "in" / "sub").mkdir(parents=True)
    for number, pixels in enumerate(pictures(6)):
        write(tmp_path / "in" / ("sub" if number % 2 else ".") / f"{number}.png", pixels)
    (tmp_path / "in" / "sub" / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n nothing")
    return tmp_path


def test_a_pattern_is_a_collection(folder: Path, run: Run) -> None:
    """The command gives the bits of `learn_from`, and names what it skipped."""
    goal = folder / "a.epitome"
    asked = ("learn", f"{folder}/in/**/*.png", "-o", goal, *SMALL, "--epochs", 2, "--shard", 2, "--seed", 3)
    code, out, err = run(*asked)
    assert code == 0 and "from 6 pictures in 2 rounds" in out and str(goal) in out
    assert "1 pictures cannot be used" in err and "bad.png" in err
    files = f"{folder}/in/**/*.png"
    first = start_for(files, epitome_shape=12, patch_shape=5, start="noise", rng=3)
    expected = learn_from(files, first, lam=30.0, sample=60, epochs=2, shard_size=2, rng=3)
    assert load(goal).pixels.tobytes() == expected.epitome.pixels.tobytes()
    origin = inspect(goal).provenance
    assert origin is not None and origin.source.startswith("7 pictures: ") and "1 pictures skipped" in origin.note


@pytest.mark.slow
def test_workers_and_json_lines(folder: Path, run: Run) -> None:
    asked = ("learn", folder / "in", *SMALL, "--epochs", 2, "--shard", 1)
    assert run(*asked, "-o", folder / "a.epitome")[0] == 0
    code, out, err = run(*asked, "-o", folder / "b.epitome", "--workers", 2, "--json", "--progress", "json")
    assert code == 0
    assert load(folder / "a.epitome").pixels.tobytes() == load(folder / "b.epitome").pixels.tobytes()
    facts = json.loads(out)
    assert facts["n_pictures"] == 3 and facts["failed"] == [] and len(facts["objectives"]) == facts["n_rounds"] == 2
    lines = [json.loads(line) for line in err.splitlines()]
    assert lines[-1]["shards"] == lines[-1]["of"] == 6 and lines[-1]["seconds_left"] == 0
    assert all(line["progress"] == "learning" and line["failed"] == 0 for line in lines)


@pytest.mark.slow
def test_a_cluster(folder: Path, run: Run) -> None:
    pytest.importorskip("distributed")
    asked = ("learn", folder / "in", *SMALL, "--shard", 1)
    assert run(*asked, "-o", folder / "a.epitome")[0] == 0
    with cluster(1) as running:
        code = run(*asked, "-o", folder / "b.epitome", "--cluster", running.address)[0]
    assert code == 0
    assert load(folder / "a.epitome").pixels.tobytes() == load(folder / "b.epitome").pixels.tobytes()


def test_resumed_after_too_many_failures(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from epitomes.scale import rounds

    whole, parts, kept = folder / "whole.epitome", folder / "parts.epitome", folder / "kept"
    asked = ("learn", folder / "in", *SMALL, "--shard", 1, "--epochs", 3)
    assert run(*asked, "-o", whole)[0] == 0
    real = rounds.code_shard

    def failing(*arguments: object, epoch: int, **named: object) -> object:
        if epoch == 2:
            raise OSError("the disk is gone")
        return real(*arguments, epoch=epoch, **named)

    monkeypatch.setattr(rounds, "code_shard", failing)
    code, _, err = run(*asked, "-o", parts, "--checkpoint", kept)
    assert code == 6 and "1 of 3 shards failed" in err and "the disk is gone" in err and "--resume" in err
    assert "--max-failed 0.34" in err and not parts.exists()
    monkeypatch.undo()
    code, _, err = run(*asked, "-o", parts, "--checkpoint", kept)
    assert code == 2 and "--resume" in err
    assert run(*asked, "-o", parts, "--checkpoint", kept, "--resume")[0] == 0
    assert load(parts).pixels.tobytes() == load(whole).pixels.tobytes()


def test_a_failed_shard_is_left_out_and_told(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from epitomes.scale import rounds

    real = rounds.code_shard

    def failing(epitome: object, shard: object, **named: object) -> object:
        if shard.index == 1:  # type: ignore[attr-defined]
            raise OSError("the disk is gone")
        return real(epitome, shard, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(rounds, "code_shard", failing)
    asked = ("learn", folder / "in", *SMALL, "--shard", 1, "--max-failed", 0.4, "-o", folder / "a.epitome")
    code, out, err = run(*asked)
    assert code == 6 and "written to" in out and "1 of 3 shards failed" in err and "2.png" in err
    assert load(folder / "a.epitome").pixels.shape == (12, 12)


def test_two_laboratories(folder: Path, run: Run) -> None:
    """Statistics of two parts give the epitome of the whole, to 1e-10."""
    (folder / "in" / "sub" / "bad.png").unlink()
    shared = folder / "shared.epitome"
    save(shared, start_for(pictures(1), epitome_shape=12, patch_shape=5, start="noise"), Provenance(lam=30.0))
    for number, files in (("1", folder / "in"), ("2", folder / "in" / "sub")):
        code, out, err = run("stats", files, "-o", folder / f"lab{number}.stats", "--epitome", shared, "--sample", 80)
        assert (code, err) == (0, "") and "coded 240 patches of 3 pictures" in out
        assert load_statistics(folder / f"lab{number}.stats").lam == 30.0
    labs = (folder / "lab1.stats", folder / "lab2.stats")
    code, out, err = run("merge", *labs, "-o", folder / "joint.epitome", "--json")
    assert (code, err) == (0, "") and json.loads(out)["n_pictures"] == 6
    joint = statistics_of(f"{folder}/in/**/*.png", load(shared), lam=30.0, sample=80)[0]
    expected, found = dictionary_step(joint).pixels, load(folder / "joint.epitome").pixels
    assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()
    assert run("merge", *labs, "-o", folder / "both.stats")[0] == 0
    assert run("merge", folder / "both.stats", "-o", folder / "again.epitome")[0] == 0
    assert load(folder / "again.epitome").pixels.tobytes() == found.tobytes()


def test_statistics_that_do_not_fit(folder: Path, run: Run) -> None:
    shared = folder / "shared.epitome"
    save(shared, start_for(pictures(1), epitome_shape=12, patch_shape=5, start="noise"))
    asked = ("stats", folder / "in", "--epitome", shared)
    code, _, err = run(*asked, "-o", folder / "a.stats")
    assert code == 2 and "--lam is needed" in err
    assert run(*asked, "-o", folder / "a.stats", "--lam", 30)[0] == 0
    assert run(*asked, "-o", folder / "b.stats", "--lam", 31, "--all")[0] == 0
    code, _, err = run("merge", folder / "a.stats", folder / "b.stats", "-o", folder / "c.epitome")
    assert code == 2 and "lambda differ, 30 and 31" in err
    code, _, err = run("merge", folder / "a.stats", folder / "in" / ".." / "a.stats", "-o", folder / "c.epitome")
    assert code == 2 and "named twice" in err
    code, _, err = run("merge", shared, "-o", folder / "c.epitome")
    assert code == 5 and "not a statistics file" in err
    code, _, err = run(*asked, "-o", folder / "a.stats", "--lam", 30)
    assert code == 2 and "--overwrite" in err
    assert run(*asked, "-o", folder / "d.stats", "--lam", 30, "--all", "--sample", 9)[0] == 2


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--steps", 3), "--steps works on images in memory"),
        (("--online",), "--online"),
        (("--scales", 2), "--scales"),
        (("--seconds", 2), "--seconds"),
        (("--start", "data"), "--start data"),
        (("--workers", 2, "--cluster", "tcp://127.0.0.1:1"), "leave one of them out"),
        (("--start", "natural"), "no natural epitome"),
        (("--depth", 8), "none of the first"),
        (("--max-pixels", 8), "--max-pixels"),
    ],
    ids=str,
)
def test_options_that_do_not_fit(more: tuple[object, ...], words: str, folder: Path, run: Run) -> None:
    code, out, err = run("learn", folder / "in", "-o", folder / "a.epitome", *SMALL, *more)
    assert code in (2, 3) and out == "" and words in err and len(err.splitlines()) <= 2, err


def test_nothing_there(tmp_path: Path, run: Run) -> None:
    for name in (tmp_path, tmp_path / "*.png"):
        code, _, err = run("learn", name, "-o", tmp_path / "a.epitome", *SMALL)
        assert code == 3 and str(tmp_path) in err
