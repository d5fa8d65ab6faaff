"""`epitomes learn`: what it learns, writes and refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from epitomes import Patches, kernels
from epitomes.coders import Lasso
from epitomes.formats import Picture, read, write
from epitomes.learn import alternate, smooth_noise
from epitomes.learn import run as run_steps
from epitomes.model_file import inspect, load
from epitomes.phi import windows

Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")

SMALL = ("--width", 14, "--start", "noise", "--steps", 3)


def test_command_is_the_library(noisy: Path, tmp_path: Path, run: Run) -> None:
    """The file holds what the same steps give in Python, bit for bit, and says where it comes from."""
    goal = tmp_path / "a.epitome"
    code, out, err = run("learn", noisy, "-o", goal, *SMALL, "--lam", 80, "--seed", 5)
    assert (code, err) == (0, "") and out.count("\n") == 1 and str(goal) in out
    phi = windows((14, 14), (8, 8))
    patches = Patches(read(noisy).pixels, (8, 8))
    fit = run_steps(alternate(patches, smooth_noise(phi, rng=5), coder=Lasso(lam=80.0), rng=5), max_steps=3)
    np.testing.assert_array_equal(load(goal).pixels, fit.epitome.pixels)
    origin = inspect(goal).provenance
    assert origin is not None
    assert (origin.lam, origin.seed, origin.n_steps, origin.source) == (80.0, 5, 3, "noisy.png")


def test_sigma_sets_lam_and_says_so(noisy: Path, tmp_path: Path, run: Run) -> None:
    code, out, err = run("learn", noisy, "-o", tmp_path / "a.epitome", *SMALL, "--sigma", 20, "--json")
    assert code == 0 and "80" in err
    facts = json.loads(out)
    assert facts["lam"] == 80 and facts["epitome_shape"] == [14, 14] and facts["n_atoms"] == 49
    assert len(facts["objectives"]) == facts["n_steps"] == 3
    assert sorted(facts["objectives"], reverse=True) == facts["objectives"]  # over all patches it never rises


@pytest.mark.slow
def test_resumed_is_uninterrupted(noisy: Path, tmp_path: Path, run: Run) -> None:
    for scales in (1, 2):
        asked = ("learn", noisy, "--width", 14, "--start", "dct", "--lam", 80, "--scales", scales)
        whole, parts, kept = tmp_path / f"whole{scales}", tmp_path / f"parts{scales}", tmp_path / f"kept{scales}"
        assert run(*asked, "-o", whole, "--steps", 6)[0] == 0
        first = run(*asked, "-o", parts, "--steps", 6, "--seconds", 1e-9, "--checkpoint", kept)
        assert first[0] == 0 and "seconds are over" in first[1]
        assert run(*asked, "-o", parts, "--steps", 6, "--checkpoint", kept, "--resume", "--overwrite")[0] == 0
        np.testing.assert_array_equal(load(parts).pixels, load(whole).pixels)
        done = run(*asked, "-o", parts, "--steps", 6, "--checkpoint", kept, "--resume", "--overwrite")
        assert done[0] == 0 and "done before" in done[1]
        np.testing.assert_array_equal(load(parts).pixels, load(whole).pixels)


@pytest.mark.parametrize(
    "more",
    [
        ("--online", "--sample", 300),
        ("--sample", 500, "--count", 3),
        ("--start", "data"),
        ("--start", "dct", "--count", 2),
        ("--scales", 3),
        ("--tol", 0.9),
    ],
    ids=str,
)
def test_ways_to_learn(more: tuple[object, ...], noisy: Path, tmp_path: Path, run: Run) -> None:
    code, out, _ = run("learn", noisy, "-o", tmp_path / "a.epitome", *SMALL, "--lam", 80, "--json", *more)
    assert code == 0
    epitome, facts = load(tmp_path / "a.epitome"), json.loads(out)
    assert list(epitome.pixels.shape) == facts["epitome_shape"] and np.isfinite(epitome.pixels).all()
    assert ("tol" in facts["reason"]) == ("--tol" in more)


def test_natural_start(noisy: Path, tmp_path: Path, run: Run) -> None:
    assert run("learn", noisy, "-o", tmp_path / "a.epitome", "--lam", 80, "--steps", 1)[0] == 0
    code, _, err = run("learn", noisy, "-o", tmp_path / "b.epitome", "--lam", 80, "--width", 13)
    assert code == 2 and "--start noise" in err


def test_several_pictures_and_colour(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    names = []
    for number in range(2):
        names.append(tmp_path / f"{number}.png")
        write(names[-1], rng.integers(0, 256, (20, 24 + number, 3), dtype=np.uint8))
    assert run("learn", *names, "-o", tmp_path / "a.epitome", *SMALL, "--lam", 500)[0] == 0
    assert load(tmp_path / "a.epitome").pixels.shape == (14, 14, 3)
    write(tmp_path / "grey.png", rng.integers(0, 256, (20, 20), dtype=np.uint8))
    code, _, err = run("learn", names[0], tmp_path / "grey.png", "-o", tmp_path / "b.epitome", *SMALL, "--lam", 9)
    assert code == 2 and "one kind" in err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "is needed"),
        (("--lam", "nan"), "above 0"),
        (("--sigma", 0), "above 0"),
        (("--lam", 9, "--width", 5), "does not fit"),
        (("--lam", 9, "--scales", 2, "--online"), "--online"),
        (("--lam", 9, "--scales", 3, "--steps", 2), "--steps"),
        (("--lam", 9, "--seconds", 0), "--seconds"),
        (("--lam", 9, "--resume"), "--checkpoint"),
    ],
    ids=str,
)
def test_refused_before_any_work(more: tuple[object, ...], words: str, tmp_path: Path, run: Run) -> None:
    code, out, err = run("learn", tmp_path / "not there.png", "-o", tmp_path / "a.epitome", *more)
    assert (code, out) == (2, "") and words in err and len(err.splitlines()) <= 2


def test_outputs_are_safe(noisy: Path, tmp_path: Path, run: Run) -> None:
    goal, kept = tmp_path / "a.epitome", tmp_path / "kept"
    asked = ("learn", noisy, "-o", goal, *SMALL, "--lam", 80)
    goal.write_bytes(b"mine")
    code, _, err = run(*asked)
    assert code == 2 and "--overwrite" in err and goal.read_bytes() == b"mine"
    kept.write_bytes(b"mine")
    code, _, err = run("learn", noisy, "-o", tmp_path / "b", *SMALL, "--lam", 80, "--checkpoint", kept)
    assert code == 2 and "--resume" in err and kept.read_bytes() == b"mine"
    code, _, err = run("learn", noisy, "-o", tmp_path / "b", *SMALL, "--lam", 80, "--checkpoint", kept, "--resume")
    assert code == 5 and "kept" in err  # it is no checkpoint
    assert run(*asked, "--overwrite")[0] == 0 and load(goal).pixels.shape == (14, 14)
    assert run("learn", noisy, "-o", tmp_path, *SMALL, "--lam", 80)[0] == 2
    assert run("learn", noisy, "-o", tmp_path / "no" / "a", *SMALL, "--lam", 80)[0] == 2


def test_pictures_that_cannot_be_used(tmp_path: Path, noisy: Path, run: Run) -> None:
    holed = np.ones((20, 20))
    holed[3, 3] = np.nan
    write(tmp_path / "nan.npy", holed)
    write(tmp_path / "tiny.png", np.zeros((4, 4), np.uint8))
    write(tmp_path / "many.npy", np.zeros((20, 20, 7)))
    for name, code, words in (
        ("none.png", 3, "no file"),
        ("nan.npy", 3, "not finite"),
        ("many.npy", 3, "3 colours"),
        ("tiny.png", 2, "does not fit"),
    ):
        assert run("learn", tmp_path / name, "-o", tmp_path / "a.epitome", *SMALL, "--lam", 9)[0] == code, name
        assert words in run("learn", tmp_path / name, "-o", tmp_path / "a.epitome", *SMALL, "--lam", 9)[2]
    code, _, err = run("learn", noisy, "-o", tmp_path / "a.epitome", *SMALL, "--lam", 9, "--max-pixels", 100)
    assert code == 4 and "--max-pixels" in err


def test_a_clip_and_a_volume(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    """Their epitomes are volumes, which `show` draws as a film strip and `denoise` codes with."""
    clip = np.rint(100 + 30 * np.sin(np.indices((10, 30, 32)).sum(axis=0) / 3) + 9 * rng.standard_normal((10, 30, 32)))
    write(tmp_path / "clip.npz", Picture(clip, "TYX"))
    small = ("--width", 9, "--patch", 4, "--depth", 6, "--patch-depth", 3, "--steps", 2)
    model = tmp_path / "clip.epitome"
    code, out, _ = run("learn", tmp_path / "clip.npz", "-o", model, "--sigma", 9, *small, "--json")
    facts = json.loads(out)
    assert code == 0 and facts["epitome_shape"] == [6, 9, 9] and facts["patch_shape"] == [3, 4, 4]
    code, out, _ = run("show", model, "-o", tmp_path / "strip.png")
    assert code == 0 and "epitome 6 x 9 x 9" in out
    asked = ("denoise", tmp_path / "clip.npz", "-o", tmp_path / "b.npz", "--sigma", 9, "--model", model)
    assert run(*asked)[0] == 0
    code, _, err = run("learn", tmp_path / "clip.npz", "-o", model, "--overwrite", "--sigma", 9, "--patch-depth", 9)
    assert code == 2 and "--patch-depth 9 does not fit in --depth 8" in err
    write(tmp_path / "a.png", clip[0].astype(np.uint8))
    code, _, err = run("learn", tmp_path / "a.png", "-o", model, "--overwrite", "--sigma", 9, "--depth", 9)
    assert code == 2 and "--depth is for volumes and clips" in err
