"""`epitomes denoise`: the library's result in a file, what is said of it, and errors in words."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from epitomes import Epitome, demo, kernels, restoration
from epitomes.formats import Picture, read, write
from epitomes.model_file import ModelError, inspect, load, save
from epitomes.noise import anscombe, estimate_noise, fit_poisson_gaussian, inverse_anscombe
from epitomes.phi import windows
from epitomes.restoration.recipe import PRICE

Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The shipped epitome as a file of the user's."""
    save(tmp_path / "own.epitome", demo.shipped_epitome())
    return tmp_path / "own.epitome"


# The methods


def test_nothing_but_names_is_needed(noisy: Path, clean: np.ndarray, tmp_path: Path, run: Run) -> None:
    code, out, _ = run("denoise", noisy, "-o", tmp_path / "a.png", "--json")
    given, got, facts = read(noisy).pixels, read(tmp_path / "a.png").pixels, json.loads(out)
    found = estimate_noise(given)
    assert code == 0 and (facts["method"], facts["preset"], facts["estimated"]) == ("nonlocal", "balanced", True)
    assert facts["sigma"] == found.sigma and facts["levels"][0]["low"] == found.low
    np.testing.assert_array_equal(got, restoration.denoise(given, found.sigma).image)
    assert got.dtype == np.uint8 and demo.psnr(clean, got) > demo.psnr(clean, given) + 3


def test_words_say_the_estimate(noisy: Path, tmp_path: Path, run: Run) -> None:
    code, out, _ = run("denoise", noisy, "-o", tmp_path / "a.png", "--preset", "fast")
    found = estimate_noise(read(noisy).pixels)
    assert code == 0 and out.count("\n") == 1
    assert f"sigma {found.sigma:.4g}, estimated: {found.low:.4g} to {found.high:.4g}" in out and "fast" in out


@pytest.mark.parametrize("preset", ["fast", "balanced", "best"])
def test_presets_reach_the_library(
    preset: str, noisy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """The real ones are tested where they are made; the best takes its time."""
    seen: dict[str, object] = {}

    def fake(pixels: np.ndarray, sigma: float, **options: object) -> restoration.Restored:
        seen.update(options, sigma=sigma)
        return restoration.Restored(pixels // 2, demo.shipped_epitome(), None, 1.5, 0.1)

    monkeypatch.setattr(restoration, "denoise", fake)
    more = ("--save-model", tmp_path / "m.epitome") if preset == "best" else ()
    asked = ("denoise", noisy, "-o", tmp_path / "a.png", "--sigma", 20, "--preset", preset, "--seed", 3, *more)
    assert run(*asked)[::2] == (0, "")
    assert (seen["method"], seen["preset"], seen["seed"], seen["sigma"]) == ("nonlocal", preset, 3, 20.0)
    np.testing.assert_array_equal(read(tmp_path / "a.png").pixels, read(noisy).pixels // 2)
    if more:
        origin = inspect(tmp_path / "m.epitome").provenance
        assert origin is not None and (origin.sigma, origin.source) == (20.0, "noisy.png") and "best" in origin.note


@pytest.mark.parametrize(("kind", "shape"), [("--several", (20, 15, 15)), ("--single", (42, 42))])
def test_the_papers_method(
    kind: str, shape: tuple[int, ...], noisy: Path, clean: np.ndarray, tmp_path: Path, run: Run
) -> None:
    goal, kept = tmp_path / "clean.png", tmp_path / "kept.epitome"
    asked = ("denoise", noisy, "-o", goal, "--sigma", 20, "--method", "paper", kind, "--steps", 2)
    code, out, err = run(*asked, "--save-model", kept, "--json")
    assert (code, err) == (0, "")
    given, got = read(noisy).pixels, read(goal).pixels
    assert got.dtype == np.uint8 and demo.psnr(clean, got) > demo.psnr(clean, given) + 3
    facts = json.loads(out)
    assert facts["sigma"] == 20 and len(facts["objectives"][0]) == 2 and facts["model"] == str(kept)
    assert load(kept).pixels.shape == shape
    expected = restoration.denoise(given, 20.0, method="paper", epitome=load(kept))
    np.testing.assert_array_equal(got, expected.image)
    origin = inspect(kept).provenance
    assert origin is not None and (origin.sigma, origin.lam, origin.n_steps) == (20.0, 20.0 * PRICE, 2)


@pytest.mark.parametrize("method", ["nonlocal", "paper"])
def test_model_is_used_as_it_is(method: str, noisy: Path, model: Path, tmp_path: Path, run: Run) -> None:
    asked = ("denoise", noisy, "-o", tmp_path / "a.npy", "--sigma", 20, "--model", model, "--method", method)
    code, out, _ = run(*asked)
    assert code == 0 and out.count("\n") == 1
    expected = restoration.denoise(read(noisy).pixels, 20.0, epitome=load(model), method=method).image
    np.testing.assert_array_equal(read(tmp_path / "a.npy").pixels, expected)


def test_noise_of_counted_light(clean: np.ndarray, tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    pixels = (4 * rng.poisson(np.tile(clean, (2, 2)) / 4)).astype(np.uint16)
    write(tmp_path / "low.tif", pixels)
    asked = ("denoise", tmp_path / "low.tif", "-o", tmp_path / "a.tif", "--preset", "fast")
    code, out, _ = run(*asked, "--poisson", "--json")
    fit, facts = fit_poisson_gaussian(pixels), json.loads(out)
    assert code == 0 and facts["levels"][0]["gain"] == fit.model.gain > 1
    even = restoration.denoise(anscombe(pixels, fit.model), 1.0, preset="fast").image
    expected = np.rint(inverse_anscombe(even, fit.model)).astype(np.uint16)
    np.testing.assert_array_equal(read(tmp_path / "a.tif").pixels, expected)
    code, _, err = run(*asked, "--overwrite")
    assert code == 0 and ("add --poisson" in err or "texture" in err)  # one level is not enough, and it says so


# Any picture


def test_sixteen_bits_stay(tmp_path: Path, clean: np.ndarray, run: Run) -> None:
    wide = (clean * 257).astype(np.uint16)
    write(tmp_path / "wide.tif", wide)
    assert run("denoise", tmp_path / "wide.tif", "-o", tmp_path / "a.png", "--sigma", 500)[0] == 0
    got = read(tmp_path / "a.png").pixels
    assert got.dtype == np.uint16 and np.abs(got.astype(float) - wide).mean() < 700
    assert len(np.unique(got)) > 256


def test_three_colours_together(tmp_path: Path, clean: np.ndarray, rng: np.random.Generator, run: Run) -> None:
    pixels = np.stack([clean, 0.8 * clean, 255 - clean], axis=-1) + 15 * rng.standard_normal((*clean.shape, 3))
    write(tmp_path / "rgb.png", np.clip(np.rint(pixels), 0, 255).astype(np.uint8))
    code, out, _ = run("denoise", tmp_path / "rgb.png", "-o", tmp_path / "a.png", "--sigma", 15)
    assert code == 0 and "colours together" in out
    expected = restoration.denoise(read(tmp_path / "rgb.png").pixels, 15.0).image
    np.testing.assert_array_equal(read(tmp_path / "a.png").pixels, expected)


def test_colours_one_by_one(model: Path, tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    """By the paper's method, and where there are two or four of them."""
    pixels = rng.integers(0, 256, (20, 22, 3), dtype=np.uint8)
    write(tmp_path / "rgb.png", pixels)
    asked = ("denoise", tmp_path / "rgb.png", "-o", tmp_path / "a.png", "--sigma", 60, "--method", "paper")
    code, out, _ = run(*asked, "--model", model)
    assert code == 0 and "one by one" in out
    got = read(tmp_path / "a.png").pixels
    for channel in range(3):
        expected = restoration.denoise(pixels[..., channel], 60.0, method="paper", epitome=load(model)).image
        np.testing.assert_array_equal(got[..., channel], expected)
    code, _, err = run(*asked, "--overwrite", "--save-model", tmp_path / "kept")
    assert code == 2 and "grey" in err
    write(tmp_path / "two.npy", pixels[..., :2].astype(float))
    code, out, _ = run("denoise", tmp_path / "two.npy", "-o", tmp_path / "b.npy", "--sigma", 60)
    assert code == 0 and "one by one" in out and read(tmp_path / "b.npy").pixels.shape == (20, 22, 2)


def test_colour_model(tmp_path: Path, rng: np.random.Generator, noisy: Path, run: Run) -> None:
    phi = windows((12, 12, 3), (6, 6, 3))
    save(tmp_path / "rgb.epitome", Epitome(rng.standard_normal(phi.epitome_shape), phi))
    write(tmp_path / "rgb.png", rng.integers(0, 256, (20, 22, 3), dtype=np.uint8))
    asked = ("--sigma", 60, "--model", tmp_path / "rgb.epitome")
    code, out, _ = run("denoise", tmp_path / "rgb.png", "-o", tmp_path / "a.png", *asked, "--method", "paper")
    assert code == 0 and "together" in out and read(tmp_path / "a.png").pixels.shape == (20, 22, 3)
    code, _, err = run("denoise", tmp_path / "rgb.png", "-o", tmp_path / "b.png", *asked)
    assert code == 2 and "--method paper" in err
    code, _, err = run("denoise", noisy, "-o", tmp_path / "b.png", *asked, "--method", "paper")
    assert code == 2 and "do not fit" in err


def test_volumes_plane_by_plane(clean: np.ndarray, tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    pixels = np.rint(clean + 10 * rng.standard_normal((2, 3, *clean.shape))).clip(0, 255).astype(np.uint8)
    pixels[1, 2] = 7  # an empty plane
    steps, units = {"Z": 2.0, "Y": 0.5, "X": 0.5}, dict.fromkeys("ZYX", "um")
    write(tmp_path / "a.ome.tif", Picture(pixels, "TZYX", steps, units))
    asked = ("denoise", tmp_path / "a.ome.tif", "-o", tmp_path / "b.ome.tif", "--preset", "fast")
    code, out, err = run(*asked, "--json")
    facts, got = json.loads(out), read(tmp_path / "b.ome.tif")
    assert code == 0 and facts["plane_by_plane"] and facts["planes"] == 6 and "1 of 6 planes: no noise" in err
    assert got.axes == "TZYX" and dict(got.spacing) == steps
    np.testing.assert_array_equal(got.pixels[1, 2], pixels[1, 2])
    for place in ((0, 0), (1, 1)):
        sigma = estimate_noise(pixels[place]).sigma
        level = next(each for each in facts["levels"] if each["label"] == f"T {place[0]}, Z {place[1]}")
        assert level["sigma"] == sigma
        np.testing.assert_array_equal(got.pixels[place], restoration.denoise(pixels[place], sigma, preset="fast").image)
    code, out, _ = run(*asked, "--overwrite", "--sigma", 10)
    assert code == 0 and "6 planes, plane by plane" in out


def test_axes_can_be_told(tmp_path: Path, clean: np.ndarray, run: Run) -> None:
    write(tmp_path / "a.npy", np.stack([clean, clean[::-1], clean.T]))  # three planes look like no colours
    code, out, _ = run("denoise", tmp_path / "a.npy", "-o", tmp_path / "b.npz", "--axes", "cyx", "--sigma", 9, "--json")
    assert code == 0 and json.loads(out)["axes"] == read(tmp_path / "b.npz").axes == "CYX"
    code, _, err = run("denoise", tmp_path / "a.npy", "-o", tmp_path / "c.npz", "--axes", "YX", "--sigma", 9)
    assert code == 3 and "axes" in err
    code, _, err = run("denoise", tmp_path / "a.npy", "-o", tmp_path / "c.npz", "--axes", "QYX", "--sigma", 9)
    assert code == 2 and "--axes" in err


def test_what_is_told(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    """Alpha that is kept, and what the format of the output loses."""
    from PIL import Image

    pixels = rng.integers(0, 256, (16, 16, 4), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    asked = ("denoise", tmp_path / "a.png", "--sigma", 60, "-o")
    code, _, err = run(*asked, tmp_path / "b.png")
    assert code == 0 and "alpha" in err
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "b.png"))[..., 3], pixels[..., 3])
    assert "does not keep the alpha" in run(*asked, tmp_path / "b.jpg")[2]


def test_noise_that_is_not_there(tmp_path: Path, run: Run) -> None:
    flat = np.repeat(np.arange(0, 200, 4, dtype=np.uint8), 50).reshape(50, 50)
    write(tmp_path / "flat.png", flat)
    code, _, err = run("denoise", tmp_path / "flat.png", "-o", tmp_path / "a.png")
    assert code == 0 and "no noise is taken off, flat areas" in err and "--sigma" in err
    np.testing.assert_array_equal(read(tmp_path / "a.png").pixels, flat)
    write(tmp_path / "tiny.png", flat[:5, :5])
    code, _, err = run("denoise", tmp_path / "tiny.png", "-o", tmp_path / "b.png")
    assert code == 3 and "give its level with --sigma" in err and len(err.splitlines()) == 1


def test_through_pipes(noisy: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    from epitomes.cli.main import main

    piped = io.TextIOWrapper(io.BytesIO(noisy.read_bytes()))
    monkeypatch.setattr(sys, "stdin", piped)
    assert main(["denoise", "-", "-o", "-", "--sigma", "20", "--preset", "fast"]) == 0
    out, err = capfdbinary.readouterr()
    noisy.with_name("piped.png").write_bytes(out)
    expected = restoration.denoise(read(noisy).pixels, 20.0, preset="fast").image
    np.testing.assert_array_equal(read(noisy.with_name("piped.png")).pixels, expected)
    assert err.startswith(b"denoised - in")


# What is refused


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--sigma", -1), "above 0"),
        (("--sigma", 0), "above 0"),
        (("--sigma", "inf"), "above 0"),
        (("--sigma", "nan"), "above 0"),
        (("--sigma", "much"), "or auto"),
        (("--method", "paper", "--gain", 0), "--gain"),
        (("--method", "paper", "--lam", 0), "--lam"),
        (("--method", "paper", "--preset", "best"), "--preset"),
        (("--steps", 3), "add --method paper"),
        (("--single",), "add --method paper"),
        (("--gain", 1.2), "add --method paper"),
        (("--model", "m.epitome", "--method", "paper", "--steps", 3), "--steps"),
        (("--method", "paper", "--save-model", "no/folder/m"), "no folder"),
        (("--save-model", "m.epitome"), "--preset best"),
        (("--report", "no/folder/r.html"), "no folder"),
        (("--poisson", "--sigma", 3), "leave one"),
        (("--offset", 3), "--poisson"),
        (("--suffix", ".tif"), "--suffix"),
        (("--axes", "YXX"), "--axes"),
    ],
    ids=str,
)
def test_refused_before_any_work(more: tuple[object, ...], words: str, tmp_path: Path, run: Run) -> None:
    code, out, err = run("denoise", tmp_path / "not there.png", "-o", tmp_path / "a.png", *more)
    assert (code, out) == (2, "") and words in err and len(err.splitlines()) == 1


def test_outputs(noisy: Path, tmp_path: Path, run: Run) -> None:
    asked = ("--sigma", 20, "--preset", "fast")
    code, _, err = run("denoise", noisy, "-o", tmp_path / "a.gif", *asked)
    assert code == 2 and ".png" in err
    before = noisy.read_bytes()
    code, _, err = run("denoise", noisy, "-o", noisy, *asked)
    assert code == 2 and "--overwrite" in err and noisy.read_bytes() == before
    assert run("denoise", noisy, "-o", noisy, *asked, "--overwrite")[0] == 0 and noisy.read_bytes() != before
    code, _, err = run("denoise", noisy, "-o", tmp_path / "a.png", "--report", tmp_path / "a.png")
    assert code == 2 and "same file" in err


def test_bad_models_have_their_code(noisy: Path, tmp_path: Path, run: Run) -> None:
    with pytest.raises(ModelError):
        load(noisy)
    code, _, err = run("denoise", noisy, "-o", tmp_path / "a.png", "--sigma", 9, "--model", noisy)
    assert code == 5 and "noisy.png" in err and len(err.splitlines()) == 1
