"""`epitomes report` and `denoise --report`: the page, the verdict, and the numbers in both."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from epitomes import demo, kernels, restoration
from epitomes.formats import Picture, read, write
from epitomes.reports import read_figures
from epitomes.validation import audit, error_map

Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")


def test_denoise_with_a_report(noisy: Path, tmp_path: Path, run: Run) -> None:
    asked = ("denoise", noisy, "-o", tmp_path / "a.png", "--sigma", 20, "--preset", "fast", "--report")
    code, out, err = run(*asked, tmp_path / "a.html", "--json")
    facts, page = json.loads(out), read_figures(tmp_path / "a.html")
    assert (code, err) == (0, "") and facts["report"] == str(tmp_path / "a.html")
    assert page["name"] == "noisy.png" and page["sigma"] == 20 and page["settings"]["preset"] == "fast"
    assert page["command"].startswith(f"epitomes denoise {noisy} -o") and page["command"].endswith("--json")
    expected = audit(read(noisy).pixels, read(tmp_path / "a.png").pixels, 20.0)
    assert facts["audit"]["verdict"] == page["audit"]["verdict"] == expected.verdict
    error = error_map(
        read(noisy).pixels,
        read(tmp_path / "a.png").pixels,
        20.0,
        lambda pixels: restoration.denoise(pixels, 20.0, preset="fast").image,
    )
    assert facts["sure"]["psnr"] == page["sure"]["psnr"] == error.sure.psnr
    code, _, err = run(*asked, tmp_path / "a.html")
    assert code == 2 and "--overwrite" in err
    code, out, _ = run(*asked, tmp_path / "a.html", "--overwrite")
    assert code == 0 and "the audit says" in out and "dB" in out and out.count("\n") == 1


def test_reports_of_stacks_and_counted_light(
    clean: np.ndarray, tmp_path: Path, rng: np.random.Generator, run: Run
) -> None:
    light = np.tile(clean, (2, 2))
    pixels = (4 * rng.poisson(np.stack([light, light, light, 0 * light]) / 4)).astype(np.uint16)
    write(tmp_path / "a.tif", Picture(pixels, "ZYX"))
    asked = ("--preset", "fast", "--report", tmp_path / "a.html", "--overwrite")
    code, _, _ = run("denoise", tmp_path / "a.tif", "-o", tmp_path / "b.tif", "--sigma", 20, *asked)
    assert code == 0 and "plane Z 2 of 4" in " ".join(read_figures(tmp_path / "a.html")["notes"])
    code, out, _ = run("denoise", tmp_path / "a.tif", "-o", tmp_path / "b.tif", "--poisson", *asked, "--json")
    page = read_figures(tmp_path / "a.html")
    assert code == 0 and json.loads(out)["sure"] is None and page["noise"]["model"]["gain"] > 1
    assert any("grows with brightness" in note for note in page["notes"])


def test_colours_one_by_one_in_a_report(noisy: Path, tmp_path: Path, run: Run) -> None:
    pixels = read(noisy).pixels
    write(tmp_path / "rgb.png", np.stack([pixels, pixels.T, pixels[::-1]], axis=-1))
    asked = ("denoise", tmp_path / "rgb.png", "-o", tmp_path / "a.png", "--preset", "fast")
    code, out, _ = run(*asked, "--report", tmp_path / "a.html")
    page = read_figures(tmp_path / "a.html")
    assert code == 0 and "one by one" in out and len(page["sigma"]) == len(page["noise"]["channels"]) == 3


def test_nothing_to_report(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "flat.png", np.full((32, 32), 7, np.uint8))
    code, _, err = run("denoise", tmp_path / "flat.png", "-o", tmp_path / "a.png", "--report", tmp_path / "a.html")
    assert code == 0 and "is not written" in err and not (tmp_path / "a.html").exists()


def test_results_of_others(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    """The audit warns of a blurred picture and passes the clean one; no denoiser is at hand."""
    from scipy.ndimage import gaussian_filter

    clean = demo.shipped_picture()
    noisy = clean + 20 * rng.standard_normal(clean.shape)
    for name, pixels in (("noisy", noisy), ("clean", clean), ("blurred", gaussian_filter(noisy, 2))):
        write(tmp_path / f"{name}.npy", pixels.astype(np.float32))
    asked = ("report", tmp_path / "noisy.npy")
    code, out, err = run(*asked, tmp_path / "clean.npy", "--sigma", 20, "-o", tmp_path / "a.html")
    assert (code, err) == (0, "") and "clean.npy: pass" in out
    page = read_figures(tmp_path / "a.html")
    assert page["audit"]["verdict"] == "pass" and page["epitome"] is None and page["name"] == "noisy.npy"
    code, out, _ = run(*asked, tmp_path / "blurred.npy", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["audit"]["verdict"] == "warn" and facts["estimated"] and facts["report"] is None
    assert facts["sigma"] == pytest.approx(20, rel=0.1)


def test_planes_of_others(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    noisy = 100 + rng.standard_normal((5, 32, 32)) * np.arange(1, 6)[:, None, None]
    for name, pixels in (("noisy", noisy), ("clean", np.full((5, 32, 32), 100.0))):
        write(tmp_path / f"{name}.tif", Picture(pixels, "TYX"))
    asked = ("report", tmp_path / "noisy.tif", tmp_path / "clean.tif", "--json")
    facts = json.loads(run(*asked)[1])
    assert facts["plane"] == "T 2" and facts["sigma"] == pytest.approx(3, rel=0.15)
    assert json.loads(run(*asked, "--plane", 4)[1])["sigma"] == pytest.approx(5, rel=0.15)
    code, _, err = run(*asked, "--plane", 5)
    assert code == 2 and "5 planes" in err


def test_pictures_that_cannot_be_compared(noisy: Path, tmp_path: Path, run: Run) -> None:
    write(tmp_path / "small.png", np.zeros((9, 9), np.uint8))
    write(tmp_path / "less.png", np.ones((9, 9), np.uint8))
    for names, code, words in (
        ((noisy, noisy), 2, "both pictures are"),
        ((noisy, tmp_path / "small.png"), 2, "48 x 48"),
        ((tmp_path / "less.png", tmp_path / "small.png"), 3, "too small"),
        ((noisy, tmp_path / "none.png"), 3, "no file"),
    ):
        found, out, err = run("report", *names)
        assert (found, out) == (code, "") and words in err and len(err.splitlines()) == 1
    code, _, err = run("report", noisy, tmp_path / "small.png", "-o", tmp_path)
    assert code == 2 and "folder" in err
