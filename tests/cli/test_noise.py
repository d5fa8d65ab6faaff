"""`epitomes noise`: what the library finds, for people and as JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from epitomes import Noise, demo, kernels
from epitomes.formats import Picture, read, write
from epitomes.noise import estimate_noise

Run = Callable[..., tuple[int, str, str]]


def test_a_grey_image(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    pixels = demo.shipped_picture()[:160, :160] + 12 * rng.standard_normal((160, 160))
    write(tmp_path / "a.tif", pixels.astype(np.float32))
    found = estimate_noise(read(tmp_path / "a.tif").pixels)
    code, out, err = run("noise", tmp_path / "a.tif")
    assert (code, err) == (0, "") and out.startswith(f"{tmp_path / 'a.tif'}: {found.describe()}\n")
    assert "confidence: high" in out and "correlation of neighbouring pixels: " in out and "try:" not in out
    facts = json.loads(run("noise", tmp_path / "a.tif", "--json")[1])
    assert facts == {"input": str(tmp_path / "a.tif"), "profile": None, "report": None, **found.as_dict()}


def test_charts_are_drawn_if_asked_and_on_a_page(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    colours = 100 + 5 * rng.standard_normal((64, 64, 3))
    write(tmp_path / "a.npy", colours)
    _, plain, _ = run("noise", tmp_path / "a.npy")
    assert "level over brightness" not in plain  # not a terminal
    code, out, err = run("noise", tmp_path / "a.npy", "--draw", "--report", tmp_path / "a.html")
    assert (code, err) == (0, "") and out.startswith(plain)
    assert "green: level over brightness" in out and out.count("spectrum") == 3 and "●" in out
    assert "<svg" in (tmp_path / "a.html").read_text() and f"report in {tmp_path / 'a.html'}" in out
    code, _, err = run("noise", tmp_path / "a.npy", "--report", tmp_path / "a.html")
    assert code == 2 and "exists" in err


def test_magnitudes(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    write(tmp_path / "a.npy", np.hypot(*rng.standard_normal((2, 64, 64))) + 0.0)
    code, out, _ = run("noise", tmp_path / "a.npy", "--rician")
    assert code == 0 and "Rician, sigma 1.0" in out.replace("0.99", "1.0").replace("0.98", "1.0")
    code, _, err = run("noise", tmp_path / "a.npy", "--rician", "--poisson")
    assert code == 2 and "exclude each other" in err


def test_doubts_are_a_list_with_next_steps(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    smooth = rng.standard_normal((130, 130))
    smooth = 20 * (smooth[1:, 1:] + smooth[:-1, 1:] + smooth[1:, :-1] + smooth[:-1, :-1]) + 100
    write(tmp_path / "a.npy", smooth[:128, :128])
    code, out, _ = run("noise", tmp_path / "a.npy")
    facts = json.loads(run("noise", tmp_path / "a.npy", "--json")[1])
    assert code == 0 and "confidence: low" in out and not facts["reliable"]
    assert [line[4:] for line in out.splitlines() if line.startswith("  - ")] == facts["doubts"]
    assert out.count("try: ") == 1 and "--report" in out


@pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")
def test_next_steps_work(tmp_path: Path, rng: np.random.Generator, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    light = np.add.outer(np.linspace(0, 60, 100), np.linspace(0, 60, 100))
    write("light.tif", np.stack([(4 * rng.poisson(light / 4)).astype(np.uint16)] * 2)[..., :80])
    for words in (("noise", "light.tif", "--axes", "TYX"), ("noise", "*.tif", "--axes", "TYX", "--poisson")):
        _, out, _ = run(*words)
        for step in (line.split("try: ")[1] for line in out.splitlines() if "try: " in line):
            code, _, err = run(*shlex.split(step)[1:])
            assert code == 0, err


@pytest.mark.slow
def test_poisson_noise_and_profiles(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    pixels = (3 * rng.poisson(demo.shipped_picture()[:160, :160] / 3) + 20).astype(np.uint16)
    write(tmp_path / "a.tif", pixels)
    profile = tmp_path / "camera.json"
    asked = ("noise", tmp_path / "a.tif", "--poisson", "--offset", 20, "--save", profile)
    code, out, _ = run(*asked)
    found = estimate_noise(pixels, model="poisson-gaussian", offset=20)
    assert code == 0 and found.describe() in out and f"saved to {profile}" in out
    assert Noise.load(profile).as_dict() == found.as_dict()
    code, _, err = run(*asked)
    assert code == 2 and err.splitlines()[1].endswith("--overwrite")
    assert run(*asked, "--overwrite", "--json")[0] == 0
    code, _, err = run("noise", tmp_path / "a.tif", tmp_path / "a.tif", tmp_path / "b.tif", "--save", profile)
    assert code == 2 and "one image" in err
    code, out, _ = run("noise", tmp_path / "a.tif")
    assert code == 0 and "Poisson-Gaussian, gain" in out


@pytest.mark.slow
def test_channels_planes_and_images(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    write(tmp_path / "rgb.npy", 100 + rng.standard_normal((64, 64, 3)) * [2.0, 4.0, 8.0])
    facts = json.loads(run("noise", tmp_path / "rgb.npy", "--json")[1])
    assert [part["level"] for part in facts["parts"]] == pytest.approx([2, 4, 8], rel=0.15)
    assert "level of each channel: " in run("noise", tmp_path / "rgb.npy")[1]
    for axes, noun, n in (("ZYX", "samples", 3), ("CYX", "images", 40)):
        write(tmp_path / "many.npz", Picture(100 + 5 * rng.standard_normal((40, 32, 32)), axes), overwrite=True)
        facts = json.loads(run("noise", tmp_path / "many.npz", "--json")[1])
        assert len(facts["parts"]) == n and facts["level"] == pytest.approx(5, rel=0.1)
        words = f"level of each {noun[:-1]}: " if n == 3 else f"level of {n} {noun}: "
        assert words in run("noise", tmp_path / "many.npz")[1]


def test_images_without_noise(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "flat.png", np.full((32, 32), 7, np.uint8))
    code, out, _ = run("noise", tmp_path / "flat.png", "--poisson")
    assert code == 0 and "no noise" in out and "constant" in out and "try:" not in out
    write(tmp_path / "tiny.png", np.zeros((3, 3), np.uint8))
    code, _, err = run("noise", tmp_path / "tiny.png")
    assert code == 3 and err.startswith(f"error: {tmp_path / 'tiny.png'}: ")
    code, _, err = run("noise", tmp_path / "flat.png", "--offset", 3)
    assert code == 2 and err.splitlines()[1].endswith("--poisson")
