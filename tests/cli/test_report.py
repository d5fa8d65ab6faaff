"""`epitomes report` and `denoise --report`: the page, the verdict, and the numbers in both."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from epitomes import Noise, demo, denoise, kernels
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
    given, got = read(noisy).pixels, read(tmp_path / "a.png").pixels
    assert facts["audit"]["verdict"] == page["audit"]["verdict"] == audit(given, got, 20.0).verdict
    error = error_map(given, got, 20.0, lambda pixels: denoise(pixels, 20.0, preset="fast"))
    assert facts["sure"]["psnr"] == page["sure"]["psnr"] == error.sure.psnr
    code, _, err = run(*asked, tmp_path / "a.html")
    assert code == 2 and "--overwrite" in err
    code, out, _ = run(*asked, tmp_path / "a.html", "--overwrite")
    assert code == 0 and ", audit: " in out and ", estimated PSNR " in out and out.count("\n") == 1


@pytest.mark.slow
def test_the_report_says_what_was_chosen(noisy: Path, tmp_path: Path, run: Run) -> None:
    page = tmp_path / "a.html"
    assert run("denoise", noisy, "-o", tmp_path / "a.png", "--sigma", 20, "--report", page)[0] == 0
    assert "too small to compare methods on" in page.read_text(encoding="utf-8")
    assert read_figures(page)["settings"]["preset"] == "balanced"


@pytest.mark.slow
def test_reports_of_volumes_and_poisson_noise(
    clean: np.ndarray, tmp_path: Path, rng: np.random.Generator, run: Run
) -> None:
    light = np.tile(clean, (2, 2))
    pixels = (4 * rng.poisson(np.stack([light, light, light, 0 * light]) / 4)).astype(np.uint16)
    write(tmp_path / "a.tif", Picture(pixels, "ZYX"))
    asked = ("--preset", "fast", "--report", tmp_path / "a.html", "--overwrite")
    code, _, _ = run("denoise", tmp_path / "a.tif", "-o", tmp_path / "b.tif", "--sigma", 20, *asked)
    assert code == 0 and "plane 2 of 4" in " ".join(read_figures(tmp_path / "a.html")["notes"])
    code, out, _ = run("denoise", tmp_path / "a.tif", "-o", tmp_path / "b.tif", "--poisson", *asked, "--json")
    page = read_figures(tmp_path / "a.html")
    assert code == 0 and json.loads(out)["sure"] is None and page["noise"]["gain"] > 1
    assert any("varies over the image" in note for note in page["notes"])


def test_reports_without_noise(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "flat.png", np.full((32, 32), 7, np.uint8))
    code, out, _ = run("denoise", tmp_path / "flat.png", "-o", tmp_path / "a.png", "--report", tmp_path / "a.html")
    assert code == 0 and f"report in {tmp_path / 'a.html'}" in out
    judged = read_figures(tmp_path / "a.html")["audit"]
    assert judged["verdict"] == "pass" and judged["unchanged"]


@pytest.mark.slow
def test_results_of_others(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    """The audit warns of a blurred image and passes the clean one; no denoiser is needed."""
    from scipy.ndimage import gaussian_filter

    clean = demo.shipped_picture()
    noisy = clean + 20 * rng.standard_normal(clean.shape)
    for name, pixels in (("noisy", noisy), ("clean", clean), ("blurred", gaussian_filter(noisy, 2))):
        write(tmp_path / f"{name}.npy", pixels.astype(np.float32))
    asked = ("report", tmp_path / "noisy.npy")
    code, out, err = run(*asked, tmp_path / "clean.npy", "--sigma", 20, "-o", tmp_path / "a.html")
    assert (code, err) == (0, "") and out.startswith(f"{tmp_path / 'clean.npy'}: pass")
    page = read_figures(tmp_path / "a.html")
    assert page["audit"]["verdict"] == "pass" and page["epitome"] is None and page["name"] == "noisy.npy"
    assert page["command"].startswith("epitomes report")
    code, out, _ = run(*asked, tmp_path / "blurred.npy", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["audit"]["verdict"] == "warn" and facts["report"] is None
    assert facts["noise"]["estimated"] and facts["noise"]["level"] == pytest.approx(20, rel=0.1)
    Noise.gaussian(20.0).save(tmp_path / "noise.json")
    given = json.loads(run(*asked, tmp_path / "blurred.npy", "--noise", tmp_path / "noise.json", "--json")[1])
    assert given["noise"]["level"] == 20 and not given["noise"]["estimated"]


def test_stacks_of_others(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    """All images of a stack are judged, each by its own noise; the page shows the middle one."""
    noisy = 100 + rng.standard_normal((5, 32, 32)) * np.arange(1, 6)[:, None, None]
    for name, pixels in (("noisy", noisy), ("clean", np.full((5, 32, 32), 100.0))):
        write(tmp_path / f"{name}.tif", Picture(pixels, "CYX"))
    asked = ("report", tmp_path / "noisy.tif", tmp_path / "clean.tif", "--json", "-o", tmp_path / "a.html")
    code, out, _ = run(*asked)
    assert code == 0 and [part["level"] for part in json.loads(out)["noise"]["parts"]] == pytest.approx(
        [1, 2, 3, 4, 5], rel=0.2
    )
    page = read_figures(tmp_path / "a.html")
    assert page["sigma"] == pytest.approx(3, rel=0.2) and any("(2,)" in note for note in page["notes"])


def test_images_that_cannot_be_compared(noisy: Path, tmp_path: Path, run: Run) -> None:
    write(tmp_path / "small.png", np.zeros((9, 9), np.uint8))
    write(tmp_path / "less.png", np.ones((9, 9), np.uint8))
    for names, code, words in (
        ((noisy, noisy), 2, "both images are"),
        ((noisy, tmp_path / "small.png"), 3, "48 x 48"),
        ((tmp_path / "less.png", tmp_path / "small.png", "--sigma", 3), 3, "16 pixels"),
        ((tmp_path / "less.png", tmp_path / "small.png"), 3, "no noise was found"),
        ((noisy, tmp_path / "none.png"), 3, "no file"),
    ):
        found, out, err = run("report", *names)
        assert (found, out) == (code, "") and words in err and len(err.splitlines()) == 1
    code, _, err = run("report", noisy, tmp_path / "small.png", "-o", tmp_path)
    assert code == 2 and "directory" in err
