"""`epitomes noise`: what the library finds, in words and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from epitomes import demo
from epitomes.formats import Picture, read, write
from epitomes.noise import estimate_noise, fit_poisson_gaussian, noise_correlation

Run = Callable[..., tuple[int, str, str]]


def test_a_grey_picture(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    pixels = demo.shipped_picture()[:160, :160] + 12 * rng.standard_normal((160, 160))
    write(tmp_path / "a.tif", pixels.astype(np.float32))
    found, white = estimate_noise(read(tmp_path / "a.tif").pixels), noise_correlation(read(tmp_path / "a.tif").pixels)
    code, out, err = run("noise", tmp_path / "a.tif")
    assert (code, err) == (0, "")
    assert f"sigma {found.sigma:.4g}, 90 % between {found.low:.4g} and {found.high:.4g}" in out and "white" in out
    facts = json.loads(run("noise", tmp_path / "a.tif", "--json")[1])
    assert abs(facts["sigma"] - 12) < 1.2 and facts["sigma"] == found.sigma
    assert facts["reliable"] is found.reliable is True and facts["warning"] == ""
    assert facts["looks"][0]["correlation"]["across"] == white.across


def test_doubts_are_told(noisy: Path, tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    smooth = rng.standard_normal((130, 130))
    smooth = 20 * (smooth[1:, 1:] + smooth[:-1, 1:] + smooth[1:, :-1] + smooth[:-1, :-1]) + 100
    write(tmp_path / "a.npy", smooth[:128, :128])
    code, out, _ = run("noise", tmp_path / "a.npy")
    facts = json.loads(run("noise", tmp_path / "a.npy", "--json")[1])
    assert code == 0 and "not reliable" in out and "correlated" in out and out.count("correlated") == 1
    assert not facts["reliable"] and facts["warning"] and "white, as far" not in out


def test_counted_light(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    pixels = (3 * rng.poisson(demo.shipped_picture()[:160, :160] / 3) + 20).astype(np.uint16)
    write(tmp_path / "a.tif", pixels)
    code, out, _ = run("noise", tmp_path / "a.tif", "--poisson", "--offset", 20)
    fit = fit_poisson_gaussian(pixels, offset=20)
    assert code == 0 and f"gain {fit.model.gain:.4g} per count" in out and "offset 20" in out
    facts = json.loads(run("noise", tmp_path / "a.tif", "--poisson", "--json")[1])
    assert facts["looks"][0]["poisson"][0]["gain"] == pytest.approx(3, rel=0.2)
    code, out, _ = run("noise", tmp_path / "a.tif")
    assert "add --poisson" in out


def test_colours_and_volumes(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    write(tmp_path / "rgb.npy", 100 + rng.standard_normal((64, 64, 3)) * [2.0, 4.0, 8.0])
    facts = json.loads(run("noise", tmp_path / "rgb.npy", "--json")[1])
    assert [each["sigma"] for each in facts["looks"][0]["channels"]] == pytest.approx([2, 4, 8], rel=0.15)
    assert "channels: " in run("noise", tmp_path / "rgb.npy")[1]
    write(tmp_path / "many.npz", Picture(100 + 5 * rng.standard_normal((40, 32, 32)), "ZYX"))
    facts = json.loads(run("noise", tmp_path / "many.npz", "--json")[1])
    assert (facts["planes"], facts["looked_at"]) == (40, 32)
    labels = [each["label"] for each in facts["looks"]]
    assert labels[0] == "Z 0" and labels[-1] == "Z 39" and facts["sigma"] == pytest.approx(5, rel=0.1)
    assert "32 of 40 planes" in run("noise", tmp_path / "many.npz")[1]


def test_pictures_without_noise(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "flat.png", np.full((32, 32), 7, np.uint8))
    code, out, _ = run("noise", tmp_path / "flat.png", "--poisson")
    assert code == 0 and "constant" in out
    write(tmp_path / "tiny.png", np.zeros((3, 3), np.uint8))
    code, _, err = run("noise", tmp_path / "tiny.png")
    assert code == 3 and "cannot be estimated" in err
    code, _, err = run("noise", tmp_path / "flat.png", "--offset", 3)
    assert code == 2 and "--poisson" in err
