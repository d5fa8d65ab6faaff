"""`epitomes denoise`: the library's result in a file, what is printed about it, and what is refused."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import epitomes
from epitomes import Epitome, Noise, demo, kernels, restoration
from epitomes.cli.denoise import Planes
from epitomes.formats import Picture, read, write
from epitomes.model_file import ModelError, inspect, load, save
from epitomes.noise import estimate_noise
from epitomes.phi import windows
from epitomes.restoration import Patchwise, Recipe, restore
from epitomes.restoration.non_local.method import PLANES
from epitomes.validation import psnr

Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")

FAST = ("--preset", "fast", "--sigma", 20)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The shipped epitome as a file of the user's."""
    save(tmp_path / "own.epitome", demo.shipped_epitome())
    return tmp_path / "own.epitome"


# What is denoised, and how


def test_only_names_are_needed(noisy: Path, clean: np.ndarray, tmp_path: Path, run: Run) -> None:
    code, out, err = run("denoise", noisy, "-o", tmp_path / "a.png", "--json")
    given, got, facts = read(noisy).pixels, read(tmp_path / "a.png").pixels, json.loads(out)
    expected = restore(given)
    assert code == 0 and facts["plan"]["preset"] == "balanced" and facts["plan"]["noise"]["estimated"]
    assert facts["plan"]["noise"] == expected.noise.as_dict()
    assert "balanced was chosen: an image of 48 x 48 pixels is too small" in err
    np.testing.assert_array_equal(got, expected.image)
    assert got.dtype == np.uint8 and psnr(clean, got) > psnr(clean, given) + 3


@pytest.mark.slow
def test_the_choice_is_printed(tmp_path: Path, run: Run) -> None:
    pixels = demo.shipped_picture()[20:100, 40:120]
    noisy = pixels + 20 * np.random.default_rng(1).standard_normal(pixels.shape)
    write(tmp_path / "noisy.npy", noisy.astype(np.float32))
    code, out, err = run("denoise", tmp_path / "noisy.npy", "-o", tmp_path / "a.npy", "--sigma", 20, "--json")
    plan, expected = json.loads(out)["plan"], restore(read(tmp_path / "noisy.npy").pixels, 20.0)
    assert code == 0 and err.count("\n") == 1
    assert f"{expected.plan.method.label} was chosen: estimated on 1 tile" in err
    assert plan["reasons"] == list(expected.plan.reasons) and len(plan["trials"]) == len(expected.plan.trials)
    np.testing.assert_array_equal(read(tmp_path / "a.npy").pixels, expected.image)
    code, out, err = run("denoise", tmp_path / "noisy.npy", "-o", tmp_path / "b.npy", "--sigma", 20, "--time", 1e-4)
    assert (code, out) == (3, "") and "0.0001 s are allowed" in err and not (tmp_path / "b.npy").exists()
    assert "try: epitomes denoise" in err and "--time " in err.splitlines()[1]


def test_one_line_for_people(noisy: Path, tmp_path: Path, run: Run) -> None:
    goal = tmp_path / "a.png"
    code, out, _ = run("denoise", noisy, "-o", goal, "--preset", "fast")
    found = estimate_noise(read(noisy).pixels)
    assert code == 0 and out.count("\n") == 1
    assert out.startswith(f"{noisy} -> {goal}: {found.describe()}, fast, ") and out.endswith(" s\n")


def test_options_reach_the_library(noisy: Path, model: Path, tmp_path: Path, run: Run, monkeypatch: Any) -> None:
    """Every option arrives as the argument of the same name."""
    seen: dict[str, object] = {}
    done = restore(read(noisy).pixels, 20.0, preset="fast")

    def fake(picture: Picture, sigma: float | None, **options: object) -> restoration.Restored:
        seen.update(options, sigma=sigma, axes=picture.axes)
        return done

    monkeypatch.setattr(restoration, "restore", fake)
    Noise.gaussian(7.0).save(tmp_path / "noise.json")
    asked = ("denoise", noisy, "--overwrite", "-o", tmp_path / "a.png")
    assert run(*asked, "--sigma", 20, "--preset", "best", "--seed", 3, "--threads", 2)[0] == 0
    assert (seen["sigma"], seen["preset"], seen["rng"], seen["threads"]) == (20.0, "best", 3, 2)
    assert seen["noise"] is seen["method"] is seen["epitome"] is seen["time"] is seen["mask"] is None
    assert run(*asked, "--noise", tmp_path / "noise.json", "--method", "paper", "--model", model)[0] == 0
    assert isinstance(seen["noise"], Noise) and seen["noise"].level == 7 and seen["sigma"] is None
    assert seen["method"] == "paper" and isinstance(seen["epitome"], Epitome)
    assert run(*asked, "--time", 9.5, "--axes", "yx")[0] == 0
    assert (seen["time"], seen["preset"], seen["axes"]) == (9.5, "auto", "YX")
    assert run(*asked, "--method", "paper", "--single", "--lam", 90, "--steps", 2, "--residual-factor", 1.1)[0] == 0
    method = seen["method"]
    assert isinstance(method, Patchwise) and method.residual_factor == 1.1 and method.blend == 0
    assert method.recipe == Recipe(epitome_shape=(42, 42), lam=90.0, n_steps=2)
    assert run(*asked, "--method", "paper", "--model", model, "--blend", 0.5)[0] == 0
    method = seen["method"]
    assert isinstance(method, Patchwise) and method.blend == 0.5 and method.recipe is None
    assert method.epitome is not None and seen["epitome"] is None


@pytest.mark.parametrize(("kind", "shape"), [("--several", (20, 15, 15)), ("--single", (42, 42))])
def test_the_papers_method(kind: str, shape: tuple[int, ...], noisy: Path, tmp_path: Path, run: Run) -> None:
    goal, kept = tmp_path / "clean.png", tmp_path / "kept.epitome"
    asked = ("denoise", noisy, "-o", goal, "--sigma", 20, "--method", "paper", kind, "--steps", 2)
    code, out, err = run(*asked, "--save-model", kept, "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "") and len(facts["objectives"]) == 2 and facts["model"] == str(kept)
    assert load(kept).pixels.shape == shape
    expected = epitomes.denoise(read(noisy).pixels, 20.0, method="paper", epitome=load(kept))
    np.testing.assert_array_equal(read(goal).pixels, expected)
    origin = inspect(kept).provenance
    assert origin is not None and (origin.sigma, origin.n_steps, origin.source) == (20.0, 2, "noisy.png")
    assert origin.lam == 20.0 * Recipe().lam_per_sigma


@pytest.mark.parametrize("method", ["nonlocal", "paper"])
def test_model_is_used_as_it_is(method: str, noisy: Path, model: Path, tmp_path: Path, run: Run) -> None:
    code, _, _ = run("denoise", noisy, "-o", tmp_path / "a.npy", "--sigma", 20, "--model", model, "--method", method)
    assert code == 0
    expected = epitomes.denoise(read(noisy).pixels, 20.0, epitome=load(model), method=method)
    np.testing.assert_array_equal(read(tmp_path / "a.npy").pixels, expected)


def test_models_that_do_not_fit(tmp_path: Path, rng: np.random.Generator, noisy: Path, run: Run) -> None:
    phi = windows((12, 12, 3), (6, 6, 3))
    save(tmp_path / "rgb.epitome", Epitome(rng.standard_normal(phi.epitome_shape), phi))
    write(tmp_path / "rgb.png", rng.integers(0, 256, (20, 22, 3), dtype=np.uint8))
    asked = ("--sigma", 60, "--model", tmp_path / "rgb.epitome")
    code, _, _ = run("denoise", tmp_path / "rgb.png", "-o", tmp_path / "a.png", *asked, "--method", "paper")
    assert code == 0 and read(tmp_path / "a.png").pixels.shape == (20, 22, 3)
    code, _, err = run("denoise", tmp_path / "rgb.png", "-o", tmp_path / "b.png", *asked)
    assert code == 2 and "two-dimensional patches" in err
    code, _, err = run("denoise", noisy, "-o", tmp_path / "b.png", *asked, "--method", "paper")
    assert code == 3 and err.startswith(f"error: {noisy}: patches of shape (6, 6, 3) do not fit")
    code, _, err = run("denoise", noisy, "-o", tmp_path / "a.tif", "--sigma", 9, "--model", noisy)
    assert code == 5 and "noisy.png" in err
    with pytest.raises(ModelError):
        load(noisy)


@pytest.mark.slow
def test_noise_models(clean: np.ndarray, tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    """--poisson estimates the model that `epitomes noise --poisson --save` writes and --noise reads."""
    pixels = (4 * rng.poisson(np.tile(clean, (2, 2)) / 4)).astype(np.uint16)
    write(tmp_path / "low.tif", pixels)
    asked = ("denoise", tmp_path / "low.tif", "--preset", "fast", "-o")
    code, out, _ = run(*asked, tmp_path / "a.tif", "--poisson", "--json")
    noise = estimate_noise(pixels, model="poisson-gaussian")
    assert code == 0 and json.loads(out)["plan"]["noise"]["gain"] == noise.gain > 1
    expected = epitomes.denoise(pixels, noise=noise, preset="fast")
    np.testing.assert_array_equal(read(tmp_path / "a.tif").pixels, expected)
    profile = tmp_path / "camera.json"
    assert run("noise", tmp_path / "low.tif", "--poisson", "--save", profile)[0] == 0
    assert run(*asked, tmp_path / "b.tif", "--noise", profile)[0] == 0
    np.testing.assert_array_equal(read(tmp_path / "b.tif").pixels, expected)
    code, out, _ = run(*asked, tmp_path / "c.tif", "--poisson", "--offset", 3, "--json")
    assert code == 0 and json.loads(out)["plan"]["noise"]["offset"] == 3
    code, _, err = run(*asked, tmp_path / "d.tif", "--noise", tmp_path / "low.tif")
    assert code == 3 and "not a noise profile" in err


@pytest.mark.slow
def test_stacks_of_volumes(clean: np.ndarray, tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    pixels = np.rint(clean + 10 * rng.standard_normal((2, 3, *clean.shape))).clip(0, 255).astype(np.uint8)
    steps, units = {"Z": 2.0, "Y": 0.5, "X": 0.5}, dict.fromkeys("ZYX", "um")
    picture = Picture(pixels, "TZYX", steps, units)
    write(tmp_path / "a.ome.tif", picture)
    asked = ("denoise", tmp_path / "a.ome.tif", "-o", tmp_path / "b.ome.tif", "--preset", "fast")
    code, out, _ = run(*asked, "--json")
    facts, got = json.loads(out), read(tmp_path / "b.ome.tif")
    assert code == 0 and facts["plan"]["planes"] == 2 and got.axes == facts["axes"] == "TZYX"
    assert dict(got.spacing) == steps
    np.testing.assert_array_equal(got.pixels, epitomes.denoise(picture, preset="fast"))
    code, out, _ = run(*asked, "--overwrite", "--sigma", 10)
    assert code == 0 and "patches across planes" in out  # flat or wide ones: planes lie far apart


def test_every_way_to_take_planes_can_be_named() -> None:
    assert [each.value for each in Planes] == list(PLANES)


def test_how_planes_are_taken(clean: np.ndarray, tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    clip = clean[:40, :44] + 10 * rng.standard_normal((4, 40, 44))
    write(tmp_path / "a.npz", Picture(clip, "TYX"))
    asked = ("denoise", tmp_path / "a.npz", "-o", tmp_path / "b.npz", "--overwrite", "--sigma", 10, "--planes")
    code, out, _ = run(*asked, "single", "--preset", "fast")
    assert code == 0 and ", 4 planes, " in out
    np.testing.assert_array_equal(read(tmp_path / "b.npz").pixels, epitomes.denoise(clip, 10, spatial=2, preset="fast"))
    code, out, _ = run(*asked, "aligned", "--preset", "fast")
    assert code == 0 and "groups across planes that are aligned along their motion" in out
    code, _, err = run(*asked, "still", "--method", "paper")
    assert code == 2 and "--planes still is a setting of the non-local method" in err


def test_axes_can_be_given(tmp_path: Path, clean: np.ndarray, run: Run) -> None:
    write(tmp_path / "a.npy", np.stack([clean, clean[::-1], clean.T]))
    asked = ("denoise", tmp_path / "a.npy", *FAST, "--axes")
    code, out, _ = run(*asked, "cyx", "-o", tmp_path / "b.npz", "--json")
    assert code == 0 and json.loads(out)["axes"] == read(tmp_path / "b.npz").axes == "CYX"
    together = epitomes.denoise(read(tmp_path / "a.npy").pixels, 20, channel_axis=0, preset="fast")
    np.testing.assert_array_equal(read(tmp_path / "b.npz").pixels, together)  # three planes are colours
    code, _, err = run(*asked, "YX", "-o", tmp_path / "c.npz")
    assert code == 3 and "axes" in err


def test_through_pipes(noisy: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    from epitomes.cli.main import main

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(noisy.read_bytes())))
    assert main(["denoise", "-", "-o", "-", "--sigma", "20", "--preset", "fast"]) == 0
    out, err = capfdbinary.readouterr()
    noisy.with_name("piped.png").write_bytes(out)
    expected = epitomes.denoise(read(noisy).pixels, 20.0, preset="fast")
    np.testing.assert_array_equal(read(noisy.with_name("piped.png")).pixels, expected)
    assert err.startswith(b"- -> -: Gaussian, sigma 20, fast")


# Masks


def test_masks(clean: np.ndarray, tmp_path: Path, run: Run) -> None:
    """Bad pixels are not used; they stay as they are, or are filled; any values other than 0 mark them."""
    rng = np.random.default_rng(3)
    mask = rng.random(clean.shape) < 0.05
    good = clean + 20 * rng.standard_normal(clean.shape)
    write(tmp_path / "a.npy", np.where(mask, 5000.0, good))
    write(tmp_path / "mask.png", (200 * mask).astype(np.uint8))
    write(tmp_path / "mask.npy", 0.5 * mask)
    asked = ("denoise", tmp_path / "a.npy", *FAST, "--mask", tmp_path / "mask.png", "-o")
    code, out, _ = run(*asked, tmp_path / "b.npy")
    assert code == 0 and f"{mask.sum()} bad pixels left unchanged" in out
    kept = read(tmp_path / "b.npy").pixels
    assert (kept[mask] == 5000).all()
    code, out, _ = run(*asked, tmp_path / "c.npy", "--fill", "--json", "--mask", tmp_path / "mask.npy")
    full = read(tmp_path / "c.npy").pixels
    assert code == 0 and json.loads(out)["masked"] == mask.sum()
    np.testing.assert_array_equal(full[~mask], kept[~mask])
    given = read(tmp_path / "a.npy").pixels
    np.testing.assert_array_equal(full, epitomes.denoise(given, 20.0, preset="fast", mask=mask, fill=True))


def test_masks_and_estimates(clean: np.ndarray, tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    """Bad pixels spoil no noise model."""
    good = 4.0 * rng.poisson(np.tile(clean, (2, 2)) / 4)
    mask = np.zeros(good.shape, np.uint8)
    mask[30:50, 40:60] = 1
    write(tmp_path / "a.npy", np.where(mask, 9000.0, good))
    write(tmp_path / "mask.npy", mask)
    asked = ("denoise", tmp_path / "a.npy", "--preset", "fast", "--mask", tmp_path / "mask.npy", "--json", "-o")
    for options, model in (((), "auto"), (("--poisson",), "poisson-gaussian")):
        code, out, _ = run(*asked, tmp_path / f"{model}.npy", *options)
        expected = estimate_noise(good, model=model).level  # type: ignore[arg-type]
        assert code == 0 and json.loads(out)["plan"]["noise"]["level"] == pytest.approx(expected, rel=0.1)


def test_a_mask_may_cover_values_that_are_not_finite(clean: np.ndarray, tmp_path: Path, run: Run) -> None:
    holed = clean.astype(np.float32)
    holed[3:6, 8] = np.nan
    write(tmp_path / "mask.npy", np.isnan(holed).astype(np.uint8))
    np.save(tmp_path / "a.npy", holed)
    asked = ("denoise", tmp_path / "a.npy", *FAST, "--mask", tmp_path / "mask.npy", "-o")
    assert run(*asked, tmp_path / "kept.npy")[0] == 0
    np.testing.assert_array_equal(np.isnan(np.load(tmp_path / "kept.npy")), np.isnan(holed))
    assert run(*asked, tmp_path / "full.npy", "--fill")[0] == 0
    assert np.isfinite(np.load(tmp_path / "full.npy")).all()
    holed[30, 30] = np.inf
    np.save(tmp_path / "a.npy", holed)
    code, _, err = run(*asked, tmp_path / "more.npy")
    assert code == 3 and "finite" in err and not (tmp_path / "more.npy").exists()


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (np.zeros((48, 47), np.uint8), "(48, 47)"),
        (np.zeros((48, 48, 3), np.uint8), "(48, 48, 3)"),
        (np.ones((48, 48), np.uint8), "must be 0 at good pixels"),
    ],
)
def test_masks_that_cannot_be_used(mask: np.ndarray, words: str, noisy: Path, tmp_path: Path, run: Run) -> None:
    write(tmp_path / "mask.png", mask)
    code, out, err = run("denoise", noisy, "-o", tmp_path / "a.png", *FAST, "--mask", tmp_path / "mask.png")
    assert (code, out) == (3, "") and words in err and len(err.splitlines()) == 1
    code, _, err = run("denoise", noisy, "-o", tmp_path / "a.png", *FAST, "--mask", tmp_path / "none.png")
    assert code == 3 and "none.png" in err and not (tmp_path / "a.png").exists()


# What is printed beside the result


def test_notes_of_formats(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    """Alpha that is kept, and what the format of the output loses."""
    from PIL import Image

    pixels = rng.integers(0, 256, (16, 16, 4), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    asked = ("denoise", tmp_path / "a.png", "--sigma", 60, "-o")
    code, _, err = run(*asked, tmp_path / "b.png")
    assert code == 0 and "alpha" in err
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "b.png"))[..., 3], pixels[..., 3])
    assert "does not keep the alpha" in run(*asked, tmp_path / "b.jpg")[2]


@pytest.mark.slow
def test_doubts_come_with_commands_that_work(
    clean: np.ndarray, tmp_path: Path, rng: np.random.Generator, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shlex

    monkeypatch.chdir(tmp_path)
    small = 100 + 50 * rng.random((30, 1)) + rng.normal(0, 5, (30, 30))
    write("small scan.tif", small.astype(np.uint16))
    code, _, err = run("denoise", "small scan.tif", "-o", "clean.tif", "--preset", "fast")
    assert code == 0 and "low confidence" in err and "tiny" in err
    steps = [line.split("try: ")[1] for line in err.splitlines() if "try: " in line]
    assert steps
    for step in steps:
        code, _, after = run(*shlex.split(step)[1:])
        assert code == 0, after


@pytest.mark.slow
def test_noise_that_grows_with_brightness_is_acted_on(
    tmp_path: Path, rng: np.random.Generator, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    light = np.add.outer(np.linspace(0, 100, 128), np.linspace(0, 100, 128))
    write("light scan.tif", (4 * rng.poisson(light / 4)).astype(np.uint16))
    code, out, err = run("denoise", "light scan.tif", "-o", "clean.tif", "--preset", "fast")
    assert code == 0 and "Poisson-Gaussian, gain" in out and "low confidence" not in err


def test_images_without_noise(tmp_path: Path, run: Run) -> None:
    flat = np.repeat(np.arange(0, 200, 4, dtype=np.uint8), 50).reshape(50, 50)
    write(tmp_path / "flat.png", flat)
    code, out, err = run("denoise", tmp_path / "flat.png", "-o", tmp_path / "a.png")
    assert code == 0 and "no noise was found" in err and "was chosen" not in err and ": no noise, " in out
    np.testing.assert_array_equal(read(tmp_path / "a.png").pixels, flat)
    write(tmp_path / "tiny.png", flat[:5, :5])
    code, _, err = run("denoise", tmp_path / "tiny.png", "-o", tmp_path / "b.png")
    assert code == 3 and err.startswith(f"error: {tmp_path / 'tiny.png'}: ") and len(err.splitlines()) == 1


# What is refused


@pytest.mark.parametrize(
    ("more", "words", "step"),
    [
        (("--sigma", -1), "above 0", "--sigma auto"),
        (("--sigma", 0), "above 0", "--sigma auto"),
        (("--sigma", "inf"), "above 0", "--sigma auto"),
        (("--sigma", "nan"), "above 0", "--sigma auto"),
        (("--sigma", "much"), "or auto", ""),
        (("--method", "paper", "--residual-factor", 0), "residual_factor", ""),
        (("--method", "paper", "--lam", 0), "lam", ""),
        (("--method", "paper", "--preset", "best"), "preset", ""),
        (("--steps", 3), "--steps", "--method paper"),
        (("--single",), "--several/--single", "--method paper"),
        (("--residual-factor", 1.2), "--residual-factor", "--method paper"),
        (("--method", "paper", "--save-model", "no/folder/m"), "no directory", ""),
        (("--save-model", "m.epitome"), "--preset best", "--method paper"),
        (("--time", 30, "--save-model", "m.epitome"), "--preset best", "--method paper"),
        (("--report", "no/folder/r.html"), "no directory", ""),
        (("--poisson", "--sigma", 3), "--sigma and --poisson", ""),
        (("--noise", "camera.json", "--sigma", 3), "--sigma and --noise", ""),
        (("--offset", 3), "--offset", "--offset 3 --poisson"),
        (("--noise-from", "1,2,30,30", "--sigma", 3), "--sigma and --noise-from exclude each other", ""),
        (("--noise-from", "dark.png", "--noise", "a.json"), "--noise and --noise-from exclude each other", ""),
        (("--gain", 2, "--poisson"), "--poisson and --gain exclude each other", ""),
        (("--gain", 2, "--burst", "b.png"), "--gain and --burst exclude each other", ""),
        (("--noise-from", "1,2,30"), "--noise-from 1,2,30: expected X,Y,W,H", ""),
        (("--noise-from", "1,2,30,2.5"), "expected X,Y,W,H", ""),
        (("--noise-from", "1,2,30,8"), "needs 16 x 16 pixels or more, got 30 x 8", ""),
        (("--read-noise", 2), "--read-noise belongs to --gain", ""),
        (("--gain", 0), "--gain must be above 0, got 0", ""),
        (("--gain", "nan"), "--gain must be above 0, got nan", ""),
        (("--gain", 1, "--read-noise", -1), "--read-noise must be 0 or above, got -1", ""),
        (("--strength", 0), "--strength must be above 0, got 0", "--strength 1"),
        (("--strength", "inf"), "--strength must be above 0, got inf", "--strength 1"),
        (("--keep", 1.2), "--keep must be between 0 and 1, got 1.2", ""),
        (("--keep", "nan"), "--keep must be between 0 and 1, got nan", ""),
        (("--no-merge",), "--no-merge is a setting of --burst", ""),
        (("other.png", "--burst", "b.png"), "--burst merges all shots into one image, got 2", "--no-merge"),
        (("--suffix", ".tif"), "--suffix", ""),
        (("--axes", "YXX"), "--axes", ""),
        (("--time", 0), "time", ""),
        (("--time", -3), "time", ""),
        (("--time", "inf"), "time", ""),
        (("--time", 30, "--preset", "best"), "time chooses the method, and preset", ""),
        (("--time", 30, "--method", "paper"), "time chooses the method, and method", ""),
        (("--time", 30, "--method", "paper", "--lam", 3), "time chooses the method, and method", ""),
    ],
    ids=str,
)
def test_refused_before_any_file_is_read(
    more: tuple[object, ...], words: str, step: str, tmp_path: Path, run: Run
) -> None:
    code, out, err = run("denoise", tmp_path / "not there.png", "-o", tmp_path / "a.png", *more)
    first, *rest = err.splitlines()
    assert (code, out) == (2, "") and first.startswith("error: ") and words in first
    assert [line.startswith("  try: epitomes denoise") and line.endswith(step) for line in rest] == [True] * bool(step)


def test_models_and_learning_exclude_each_other(noisy: Path, model: Path, tmp_path: Path, run: Run) -> None:
    asked = ("denoise", noisy, "-o", tmp_path / "a.png", "--model", model)
    code, _, err = run(*asked, "--method", "paper", "--steps", 3)
    assert code == 2 and "epitome and recipe exclude each other" in err
    code, _, err = run(*asked, "--time", 30)
    assert code == 2 and "epitome" in err
    code, _, err = run(*asked, "--save-model", tmp_path / "kept.epitome")
    assert code == 2 and "--save-model" in err


def test_one_epitome_for_a_model_file(tmp_path: Path, clean: np.ndarray, run: Run) -> None:
    for name, axes, stacked in (("z.tif", "ZYX", np.stack([clean] * 3)), ("c.png", "YXC", np.stack([clean] * 3, -1))):
        write(tmp_path / name, Picture(stacked.astype(np.uint8), axes))
        asked = ("denoise", tmp_path / name, "-o", tmp_path / f"clean {name}", "--sigma", 9, "--method", "paper")
        code, _, err = run(*asked, "--save-model", tmp_path / "kept.epitome")
        assert code == 2 and axes in err and not (tmp_path / "kept.epitome").exists()


def test_outputs(noisy: Path, tmp_path: Path, run: Run) -> None:
    code, _, err = run("denoise", noisy, "-o", tmp_path / "a.gif", *FAST)
    assert code == 2 and ".png" in err and err.splitlines()[1].endswith(f"-o {tmp_path / 'a.tif'}")
    before = noisy.read_bytes()
    code, _, err = run("denoise", noisy, "-o", noisy, *FAST)
    assert code == 2 and err.splitlines()[1].endswith("--overwrite") and noisy.read_bytes() == before
    assert run("denoise", noisy, "-o", noisy, *FAST, "--overwrite")[0] == 0 and noisy.read_bytes() != before
    code, _, err = run("denoise", noisy, "-o", tmp_path / "a.png", "--report", tmp_path / "a.png")
    assert code == 2 and "same file" in err


def test_formats_that_cannot_hold_the_result_are_refused_before_the_work(
    clean: np.ndarray, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(restoration, "restore", lambda *given, **named: SimpleNamespace())  # fails if it is called
    write("scan.tif", Picture(np.stack([clean] * 3), "ZYX"))
    code, _, err = run("denoise", "scan.tif", "-o", "clean.png")
    first, second = err.splitlines()
    assert code == 3 and first.startswith("error: scan.tif: cannot write") and "PNG" in first
    assert second == "  try: epitomes denoise scan.tif -o clean.tif"
