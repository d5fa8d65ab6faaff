"""`epitomes denoise`: the library's result in a file, and errors in words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from epitomes import Epitome, demo, kernels, restore, windows
from epitomes.images import read_picture, write_picture
from epitomes.model_file import ModelError, inspect, load, save
from epitomes.restore.recipe import PRICE

Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The shipped epitome as a file of the user's."""
    save(tmp_path / "own.epitome", demo.shipped_epitome())
    return tmp_path / "own.epitome"


@pytest.mark.parametrize(("kind", "shape"), [("--several", (20, 15, 15)), ("--single", (42, 42))])
def test_command_is_the_library(
    kind: str, shape: tuple[int, ...], noisy: Path, clean: np.ndarray, tmp_path: Path, run: Run
) -> None:
    goal, kept = tmp_path / "clean.png", tmp_path / "kept.epitome"
    asked = ("denoise", noisy, "-o", goal, "--sigma", 20, kind, "--steps", 2, "--save-model", kept, "--json")
    code, out, err = run(*asked)
    assert (code, err) == (0, "")
    given, got = read_picture(noisy).pixels, read_picture(goal).pixels
    assert got.dtype == np.uint8 and demo.psnr(clean, got) > demo.psnr(clean, given) + 3
    facts = json.loads(out)
    assert facts["sigma"] == 20 and len(facts["objectives"][0]) == 2 and facts["model"] == str(kept)
    assert load(kept).pixels.shape == shape
    expected = restore.denoise(given, 20.0, epitome=load(kept))
    np.testing.assert_array_equal(got, expected.image)
    origin = inspect(kept).provenance
    assert origin is not None and (origin.sigma, origin.lam, origin.n_steps) == (20.0, 20.0 * PRICE, 2)


def test_model_is_used_as_it_is(noisy: Path, model: Path, tmp_path: Path, run: Run) -> None:
    code, out, _ = run("denoise", noisy, "-o", tmp_path / "a.npy", "--sigma", 20, "--model", model)
    assert code == 0 and out.count("\n") == 1
    expected = restore.denoise(read_picture(noisy).pixels, 20.0, epitome=load(model)).image
    np.testing.assert_array_equal(read_picture(tmp_path / "a.npy").pixels, expected)


def test_sixteen_bits_stay(model: Path, tmp_path: Path, clean: np.ndarray, run: Run) -> None:
    wide = (clean * 257).astype(np.uint16)
    write_picture(tmp_path / "wide.tif", wide)
    assert run("denoise", tmp_path / "wide.tif", "-o", tmp_path / "a.png", "--sigma", 500, "--model", model)[0] == 0
    got = read_picture(tmp_path / "a.png").pixels
    assert got.dtype == np.uint16 and np.abs(got.astype(float) - wide).mean() < 700
    assert len(np.unique(got)) > 256


def test_colours_one_by_one(model: Path, tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    pixels = rng.integers(0, 256, (20, 22, 3), dtype=np.uint8)
    write_picture(tmp_path / "rgb.png", pixels)
    code, _, err = run("denoise", tmp_path / "rgb.png", "-o", tmp_path / "a.png", "--sigma", 60, "--model", model)
    assert code == 0 and "one by one" in err
    got = read_picture(tmp_path / "a.png").pixels
    for channel in range(3):
        expected = restore.denoise(pixels[..., channel], 60.0, epitome=load(model)).image
        np.testing.assert_array_equal(got[..., channel], expected)
    asked = ("denoise", tmp_path / "rgb.png", "-o", tmp_path / "b.png", "--sigma", 60)
    code, _, err = run(*asked, "--save-model", tmp_path / "kept")
    assert code == 2 and "grey" in err


def test_colour_model(tmp_path: Path, rng: np.random.Generator, noisy: Path, run: Run) -> None:
    phi = windows((12, 12, 3), (6, 6, 3))
    save(tmp_path / "rgb.epitome", Epitome(rng.standard_normal(phi.epitome_shape), phi))
    write_picture(tmp_path / "rgb.png", rng.integers(0, 256, (20, 22, 3), dtype=np.uint8))
    asked = ("--sigma", 60, "--model", tmp_path / "rgb.epitome")
    assert run("denoise", tmp_path / "rgb.png", "-o", tmp_path / "a.png", *asked)[0] == 0
    assert read_picture(tmp_path / "a.png").pixels.shape == (20, 22, 3)
    code, _, err = run("denoise", noisy, "-o", tmp_path / "b.png", *asked)
    assert code == 2 and "do not fit" in err


def test_opaque_alpha_is_told(tmp_path: Path, model: Path, rng: np.random.Generator, run: Run) -> None:
    from PIL import Image

    pixels = rng.integers(0, 256, (16, 16, 4), dtype=np.uint8)
    pixels[..., 3] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    code, _, err = run("denoise", tmp_path / "a.png", "-o", tmp_path / "b.png", "--sigma", 60, "--model", model)
    assert code == 0 and "alpha" in err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "--sigma is needed"),
        (("--sigma", -1), "above 0"),
        (("--sigma", "inf"), "above 0"),
        (("--sigma", 5, "--gain", 0), "--gain"),
        (("--sigma", 5, "--lam", 0), "--lam"),
        (("--sigma", 5, "--model", "m.epitome", "--steps", 3), "--steps"),
        (("--sigma", 5, "--save-model", "no/folder/m"), "no folder"),
    ],
    ids=str,
)
def test_refused_before_any_work(more: tuple[object, ...], words: str, tmp_path: Path, run: Run) -> None:
    code, out, err = run("denoise", tmp_path / "not there.png", "-o", tmp_path / "a.png", *more)
    assert (code, out) == (2, "") and words in err and len(err.splitlines()) <= 2


def test_outputs(noisy: Path, model: Path, tmp_path: Path, run: Run) -> None:
    asked = ("--sigma", 20, "--model", model)
    code, _, err = run("denoise", noisy, "-o", tmp_path / "a.gif", *asked)
    assert code == 2 and ".png" in err
    before = noisy.read_bytes()
    code, _, err = run("denoise", noisy, "-o", noisy, *asked)
    assert code == 2 and "--overwrite" in err and noisy.read_bytes() == before
    assert run("denoise", noisy, "-o", noisy, *asked, "--overwrite")[0] == 0 and noisy.read_bytes() != before


def test_bad_files_have_their_codes(noisy: Path, tmp_path: Path, run: Run) -> None:
    with pytest.raises(ModelError):
        load(noisy)
    code, _, err = run("denoise", noisy, "-o", tmp_path / "a.png", "--sigma", 9, "--model", noisy)
    assert code == 5 and "noisy.png" in err and len(err.splitlines()) == 1
    (tmp_path / "bad.png").write_bytes(noisy.read_bytes()[:200])
    code, _, err = run("denoise", tmp_path / "bad.png", "-o", tmp_path / "a.png", "--sigma", 9)
    assert code == 3 and "damaged" in err
