"""`epitomes denoise` without knobs: settings chosen once per file, within a time, and told; and masks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from epitomes import demo, kernels, restoration
from epitomes.formats import Picture, read, write
from epitomes.noise import anscombe, estimate_noise, fit_poisson_gaussian
from epitomes.reports import read_figures
from epitomes.restoration import Choice

Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")


class Chooser:
    """Takes the place of `choose`: takes "fast", or another way, and remembers what it was asked."""

    def __init__(self, label: str = "fast", price: float | None = None) -> None:
        self.label, self.price = label, price
        self.pixels: list[np.ndarray] = []
        self.sigmas: list[float] = []
        self.seconds: list[float | None] = []

    def __call__(self, noisy: np.ndarray, sigma: float, *, seconds: float | None, seed: int, threads: object) -> Choice:
        self.pixels.append(noisy)
        self.sigmas.append(sigma)
        self.seconds.append(seconds)
        paper = self.price is not None
        return Choice(
            label=self.label,
            method="paper" if paper else "nonlocal",
            preset="balanced" if paper else self.label,
            price=self.price,
            recipe=None,
            sigma=sigma,
            tries=(),
            reasons=("because the test says so",),
            allowed=seconds,
            spent=0.1,
        )


@pytest.fixture
def chooser(monkeypatch: pytest.MonkeyPatch) -> Chooser:
    chooser = Chooser()
    monkeypatch.setattr(restoration, "choose", chooser)
    return chooser


def noisy_file(path: Path, clean: np.ndarray, seed: int = 1) -> Path:
    pixels = clean + 20 * np.random.default_rng(seed).standard_normal(clean.shape)
    write(path, np.clip(np.rint(pixels), 0, 255).astype(np.uint8))
    return path


# The choice


def test_zero_knobs(tmp_path: Path, run: Run) -> None:
    """The real thing: what the library chooses is told, done, and in the facts."""
    file = noisy_file(tmp_path / "noisy.png", demo.shipped_picture()[20:100, 40:120])
    code, out, err = run("denoise", file, "-o", tmp_path / "a.png", "--sigma", 20, "--json")
    pixels, facts = read(file).pixels, json.loads(out)
    choice = restoration.choose(pixels, 20.0)
    assert code == 0 and err.count("\n") == 1 and f"{choice.label} was chosen: estimated on 1 tile" in err
    assert facts["choice"]["reasons"] == list(choice.reasons) and facts["preset"] == choice.preset
    assert [one["gain"] for one in facts["choice"]["tries"]] == [one.gain for one in choice.tries]
    np.testing.assert_array_equal(read(tmp_path / "a.png").pixels, choice.denoise(pixels).image)
    code, out, _ = run("denoise", file, "-o", tmp_path / "b.png", "--sigma", 20, "--preset", "auto", "--time", 1e-4)
    assert code == 0 and "(nonlocal, fast)" in out


def test_tiny_pictures_take_no_time_to_choose(noisy: Path, tmp_path: Path, run: Run) -> None:
    code, out, err = run("denoise", noisy, "-o", tmp_path / "a.png", "--json")
    assert code == 0 and "balanced was chosen: 48 x 48 pixels are too few" in err
    assert json.loads(out)["choice"]["seconds_spent"] < 0.5


@pytest.mark.parametrize("more", [("--preset", "fast"), ("--method", "paper", "--steps", 1), ("--method", "nonlocal")])
def test_what_is_given_is_not_chosen(
    more: tuple[object, ...], noisy: Path, tmp_path: Path, run: Run, chooser: Chooser
) -> None:
    code, out, err = run("denoise", noisy, "-o", tmp_path / "a.png", "--sigma", 20, *more, "--json")
    assert (code, err) == (0, "") and json.loads(out)["choice"] is None and not chooser.pixels


def test_an_epitome_of_the_pictures_own(noisy: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restoration, "choose", Chooser("paper with lambda 3 sigma", 3.0))
    code, out, err = run("denoise", noisy, "-o", tmp_path / "a.png", "--sigma", 20, "--json")
    pixels, facts = read(noisy).pixels, json.loads(out)
    assert code == 0 and "paper with lambda 3 sigma was chosen" in err and facts["method"] == "paper"
    expected = restoration.denoise(
        pixels, 20.0, method="paper", recipe=restoration.several(pixels, 20.0, price=3.0)
    ).image
    np.testing.assert_array_equal(read(tmp_path / "a.png").pixels, expected)


def test_stacks_choose_once(clean: np.ndarray, tmp_path: Path, run: Run, chooser: Chooser) -> None:
    """On the plane with the most structure, each plane having its share of the time; an empty one needs none."""
    strength = np.array([0.3, 1.0, 0.1, 0.0])[:, None, None]
    pixels = strength * clean + 5 * np.random.default_rng(0).standard_normal((4, *clean.shape))
    pixels[3] = 7.0
    write(tmp_path / "a.tif", Picture(pixels.astype(np.float32), "ZYX"))
    asked = ("denoise", tmp_path / "a.tif", "-o", tmp_path / "b.tif", "--time", 300)
    code, _, err = run(*asked)
    assert code == 0 and "fast was chosen on plane Z 1 for all 4: because the test says so" in err
    (seen,), (seconds,) = chooser.pixels, chooser.seconds
    np.testing.assert_array_equal(seen, pixels[1].astype(np.float32))
    assert seconds is not None and 80 < seconds < 100
    code, _, err = run(*asked[:-1], 1e-6, "--overwrite")
    assert code == 0 and "fast was chosen: estimating the noise took all" in err and len(chooser.pixels) == 1


def test_every_file_of_several_is_looked_at(clean: np.ndarray, tmp_path: Path, run: Run, chooser: Chooser) -> None:
    (tmp_path / "in").mkdir()
    for at, name in enumerate("ab"):
        noisy_file(tmp_path / "in" / f"{name}.png", clean, seed=at)
    code, _, err = run("denoise", f"{tmp_path}/in/*.png", "-o", tmp_path / "out", "--sigma", 20, "--time", 60)
    assert code == 0 and err.count("was chosen") == 2 and len(chooser.pixels) == 2
    assert all(seconds is not None and 50 < seconds <= 60 for seconds in chooser.seconds)


def test_counted_light_is_evened_out_first(clean: np.ndarray, tmp_path: Path, run: Run, chooser: Chooser) -> None:
    pixels = (4 * np.random.default_rng(0).poisson(np.tile(clean, (2, 2)) / 4)).astype(np.uint16)
    write(tmp_path / "low.tif", pixels)
    assert run("denoise", tmp_path / "low.tif", "-o", tmp_path / "a.tif", "--poisson")[0] == 0
    assert chooser.sigmas == [1.0]
    np.testing.assert_array_equal(chooser.pixels[0], anscombe(pixels, fit_poisson_gaussian(pixels).model))


def test_colours_stay_together(clean: np.ndarray, tmp_path: Path, run: Run, chooser: Chooser) -> None:
    file = noisy_file(tmp_path / "rgb.png", np.stack([clean, 0.8 * clean, 255 - clean], axis=-1))
    code, out, _ = run("denoise", file, "-o", tmp_path / "a.png", "--sigma", 20)
    assert code == 0 and "colours together" in out and chooser.pixels[0].shape == (48, 48, 3)
    expected = restoration.denoise(read(file).pixels, 20.0, preset="fast").image
    np.testing.assert_array_equal(read(tmp_path / "a.png").pixels, expected)


def test_the_report_says_what_was_chosen(noisy: Path, tmp_path: Path, run: Run, chooser: Chooser) -> None:
    page = tmp_path / "a.html"
    assert run("denoise", noisy, "-o", tmp_path / "a.png", "--sigma", 20, "--report", page)[0] == 0
    assert "fast: because the test says so" in page.read_text(encoding="utf-8")
    assert read_figures(page)["settings"]["preset"] == "fast"
    assert run("report", noisy, tmp_path / "a.png", "--sigma", 20)[0] == 0


def test_pictures_without_noise_are_not_tried(tmp_path: Path, run: Run, chooser: Chooser) -> None:
    write(tmp_path / "flat.png", np.repeat(np.arange(0, 200, 4, dtype=np.uint8), 50).reshape(50, 50))
    code, _, err = run("denoise", tmp_path / "flat.png", "-o", tmp_path / "a.png")
    assert code == 0 and "no noise is taken off" in err and not chooser.pixels


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--time", 0), "--time must be above 0"),
        (("--time", -3), "--time must be above 0"),
        (("--time", "inf"), "--time must be above 0"),
        (("--time", 30, "--preset", "best"), "--preset best"),
        (("--time", 30, "--method", "paper"), "--method"),
        (("--time", 30, "--model", "a.epitome"), "--model"),
        (("--preset", "auto", "--method", "nonlocal"), "--preset auto chooses"),
        (("--preset", "auto", "--model", "a.epitome"), "--model"),
        (("--time", 30, "--save-model", "a.epitome"), "add --method paper"),
        (("--fill",), "--mask"),
    ],
    ids=str,
)
def test_refused_before_any_work(more: tuple[object, ...], words: str, tmp_path: Path, run: Run) -> None:
    code, out, err = run("denoise", tmp_path / "not there.png", "-o", tmp_path / "a.png", *more)
    assert (code, out) == (2, "") and words in err and len(err.splitlines()) == 1


# Masks


FAST = ("--preset", "fast", "--sigma", 20)


def test_bad_pixels_spoil_nothing(clean: np.ndarray, tmp_path: Path, run: Run) -> None:
    rng = np.random.default_rng(3)
    mask = rng.random(clean.shape) < 0.05
    mask[10:14, 20:30] = True
    good = clean + 20 * rng.standard_normal(clean.shape)
    write(tmp_path / "a.npy", np.where(mask, 5000.0, good))
    write(tmp_path / "mask.png", (200 * mask).astype(np.uint8))
    asked = ("denoise", tmp_path / "a.npy", *FAST, "--mask", tmp_path / "mask.png", "-o")
    code, out, _ = run(*asked, tmp_path / "b.npy")
    assert code == 0 and f"{mask.sum()} bad pixels left as they were" in out
    kept = read(tmp_path / "b.npy").pixels
    assert (kept[mask] == 5000).all()
    code, out, _ = run(*asked, tmp_path / "c.npy", "--fill", "--json")
    full = read(tmp_path / "c.npy").pixels
    assert code == 0 and json.loads(out)["masked"] == mask.sum()
    np.testing.assert_array_equal(full[~mask], kept[~mask])
    whole = restoration.denoise(good, 20.0, preset="fast").image
    assert demo.psnr(clean[~mask], full[~mask]) > demo.psnr(clean[~mask], whole[~mask]) - 1
    assert demo.psnr(clean[mask], full[mask]) > 18  # they were guessed from their neighbours


def test_the_mask_leaves_the_noise_estimate_alone(clean: np.ndarray, tmp_path: Path, run: Run) -> None:
    picture = np.tile(clean, (2, 2)) + 20 * np.random.default_rng(3).standard_normal((96, 96))
    mask = np.zeros(picture.shape, np.uint8)
    mask[30:50, 40:60] = 1
    write(tmp_path / "a.npy", np.where(mask, 900.0, picture))
    write(tmp_path / "mask.npy", mask)
    asked = ("--preset", "fast", "--mask", tmp_path / "mask.npy", "--json")
    _, out, _ = run("denoise", tmp_path / "a.npy", "-o", tmp_path / "b.npy", *asked)
    assert json.loads(out)["sigma"] == pytest.approx(estimate_noise(picture).sigma, rel=0.1)


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
    assert code == 3 and "1 of" in err and "not finite" in err and not (tmp_path / "more.npy").exists()


def test_one_mask_for_all_planes_and_colours(clean: np.ndarray, tmp_path: Path, run: Run) -> None:
    mask = np.zeros(clean.shape, np.uint8)
    mask[5, 7] = 1
    write(tmp_path / "mask.png", mask)
    for name, axes, stacked in (("z.tif", "ZYX", np.stack([clean] * 3)), ("c.png", "YXC", np.stack([clean] * 3, -1))):
        pixels = stacked.astype(np.uint8)
        write(tmp_path / name, Picture(pixels, axes))
        goal = tmp_path / f"clean {name}"
        code, out, _ = run("denoise", tmp_path / name, "-o", goal, *FAST, "--mask", tmp_path / "mask.png", "--json")
        assert code == 0 and json.loads(out)["masked"] == 3
        got = read(goal).pixels
        place = (slice(None), 5, 7) if axes == "ZYX" else (5, 7)
        np.testing.assert_array_equal(got[place], pixels[place])
        assert (got != pixels).mean() > 0.5


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (np.zeros((48, 47), np.uint8), "48 x 47"),
        (np.zeros((48, 48, 3), np.uint8), "must be 48 x 48"),
        (np.ones((48, 48), np.uint8), "must be 0 at good pixels"),
    ],
)
def test_masks_that_cannot_be_used(mask: np.ndarray, words: str, noisy: Path, tmp_path: Path, run: Run) -> None:
    write(tmp_path / "mask.png", mask)
    code, out, err = run("denoise", noisy, "-o", tmp_path / "a.png", *FAST, "--mask", tmp_path / "mask.png")
    assert (code, out) == (3, "") and words in err and len(err.splitlines()) == 1
    assert not (tmp_path / "a.png").exists()
    code, _, err = run("denoise", noisy, "-o", tmp_path / "a.png", *FAST, "--mask", tmp_path / "none.png")
    assert code == 3 and "none.png" in err and len(err.splitlines()) == 1
