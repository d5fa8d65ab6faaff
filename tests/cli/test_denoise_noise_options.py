"""What the user knows of the noise: regions, frames, bursts, cameras, profiles, strength and grain."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from epitomes import Noise, demo, denoise, kernels
from epitomes.formats import Picture, read, write
from epitomes.noise import estimate_noise, merge_burst, noise_from_burst, noise_from_flat
from epitomes.noise.profile import read_with_origin
from epitomes.restoration.grain import put_back
from epitomes.validation import psnr

Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")

FAST = ("--preset", "fast")
SIDE = 64


@pytest.fixture
def scene() -> np.ndarray:
    """A photograph with a flat wall on the left."""
    pixels = demo.shipped_picture()[40 : 40 + SIDE, 60 : 60 + SIDE].astype(np.float64)
    pixels[:, :24] = 90
    return pixels


@pytest.fixture
def shots(scene: np.ndarray, tmp_path: Path, rng: np.random.Generator) -> list[Path]:
    """Three noisy 8-bit images of it."""
    files = [tmp_path / f"shot{number}.png" for number in range(3)]
    for file in files:
        pixels = scene + 12 * rng.standard_normal(scene.shape)
        write(file, np.clip(np.rint(pixels), 0, 255).astype(np.uint8))
    return files


@pytest.fixture
def asked(shots: list[Path], tmp_path: Path) -> tuple[object, ...]:
    return ("denoise", shots[0], "-o", tmp_path / "clean.png", *FAST, "--json")


# Where the noise comes from


def test_a_region(asked: tuple[object, ...], shots: list[Path], tmp_path: Path, run: Run) -> None:
    code, out, _ = run(*asked, "--noise-from", "2,8,20,40")
    given = read(shots[0]).pixels
    expected = noise_from_flat(given[8:48, 2:22])
    assert code == 0 and json.loads(out)["plan"]["noise"]["level"] == expected.level == pytest.approx(12, rel=0.1)
    np.testing.assert_array_equal(read(tmp_path / "clean.png").pixels, denoise(given, noise=expected, preset="fast"))


def test_a_region_of_every_image_of_a_stack(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    pixels = (100 + 9 * rng.standard_normal((3, 40, 40))).astype(np.uint16)
    write(tmp_path / "a.tif", Picture(pixels, "TYX"))
    code, out, _ = run("noise", tmp_path / "a.tif", "--from", "4,6,30,32", "--json")
    assert code == 0 and json.loads(out)["level"] == noise_from_flat(pixels[:, 6:38, 4:34]).level


def test_a_dark_frame(asked: tuple[object, ...], tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    dark = np.rint(30 + 12 * rng.standard_normal((48, 50))).clip(0, 255).astype(np.uint8)
    write(tmp_path / "dark.png", dark)
    code, out, _ = run(*asked, "--noise-from", tmp_path / "dark.png")
    assert code == 0 and json.loads(out)["plan"]["noise"]["level"] == noise_from_flat(dark).level


def test_a_profile_of_a_region_for_a_folder(shots: list[Path], tmp_path: Path, run: Run) -> None:
    profile = tmp_path / "camera.json"
    code, out, _ = run("noise", shots[0], "--from", "0,0,24,64", "--save", profile)
    assert code == 0 and f"saved to {profile}" in out
    noise, origin = read_with_origin(profile)
    assert noise.level == noise_from_flat(read(shots[0]).pixels[:, :24]).level and str(origin) == "uint8 with 1 channel"
    code, out, _ = run("denoise", tmp_path / "shot*.png", "-o", tmp_path / "out", "--noise", profile, *FAST)
    assert code == 0 and out.count(noise.describe()) == 3


def test_a_camera(asked: tuple[object, ...], run: Run) -> None:
    code, out, _ = run(*asked, "--gain", 1.5, "--read-noise", 2, "--offset", 10)
    noise = json.loads(out)["plan"]["noise"]
    assert code == 0 and (noise["gain"], noise["sigma"], noise["offset"]) == (1.5, 2.0, 10.0)


@pytest.mark.slow
def test_a_burst_is_merged(
    asked: tuple[object, ...], scene: np.ndarray, shots: list[Path], tmp_path: Path, run: Run
) -> None:
    for pattern in (tmp_path / "shot*.png", tmp_path / "shot[12].png"):  # the image itself belongs to the burst
        code, out, _ = run(*asked, "--burst", pattern, "--overwrite")
        facts, got = json.loads(out), read(tmp_path / "clean.png").pixels
        mean, noise = merge_burst([read(shot).pixels for shot in shots])
        assert code == 0 and facts["shots"] == list(map(str, shots)) and facts["dtype"] == "uint8"
        assert facts["plan"]["noise"]["level"] == noise.level == pytest.approx(12 / 3**0.5, rel=0.1)
        expected = denoise(mean, noise=noise, preset="fast")
        np.testing.assert_array_equal(got, np.rint(expected.clip(0, 255)))
    assert psnr(scene, got) > psnr(scene, np.rint(mean).astype(np.uint8)) > psnr(scene, read(shots[0]).pixels) + 3
    _, out, _ = run(*asked[:-1], "--overwrite", *(word for shot in shots[1:] for word in ("--burst", shot)))
    assert "mean of 3 shots" in out


def test_a_burst_for_single_images(shots: list[Path], tmp_path: Path, run: Run) -> None:
    pattern = tmp_path / "shot*.png"
    code, out, _ = run("denoise", pattern, "-o", tmp_path / "out", "--burst", pattern, "--no-merge", *FAST)
    noise = noise_from_burst([read(shot).pixels for shot in shots])
    assert code == 0 and out.count(noise.describe()) == 3 and "shots" not in out
    expected = denoise(read(shots[1]).pixels, noise=noise, preset="fast")
    np.testing.assert_array_equal(read(tmp_path / "out" / "shot1.png").pixels, expected)


def test_shots_that_moved(asked: tuple[object, ...], shots: list[Path], tmp_path: Path, run: Run) -> None:
    write(shots[2], np.roll(read(shots[2]).pixels, 2, axis=0), overwrite=True)
    code, _, err = run(*asked, "--burst", tmp_path / "shot*.png")
    assert code == 0 and "low confidence" in err and "has moved by about" in err
    step = next(line.split("try: ")[1] for line in err.splitlines() if "try: " in line)
    assert step.endswith("--overwrite --no-merge") and run(*shlex.split(step)[1:])[0] == 0


# How much of it is removed


@pytest.mark.slow
def test_strength(asked: tuple[object, ...], shots: list[Path], tmp_path: Path, run: Run) -> None:
    known = Noise.gaussian(12.0)
    known.save(tmp_path / "known.json")
    estimated = estimate_noise(read(shots[0]).pixels).level
    flat = noise_from_flat(read(shots[0]).pixels[:, :24]).level
    for words, level in (
        (("--sigma", 12), 12.0),
        (("--noise", tmp_path / "known.json"), 12.0),
        (("--noise-from", "0,0,24,64"), flat),
        ((), estimated),
    ):
        code, out, _ = run(*asked, "--overwrite", "--strength", 0.5, *words)
        facts = json.loads(out)
        assert code == 0 and facts["plan"]["noise"]["level"] == pytest.approx(level / 2) and facts["strength"] == 0.5


@pytest.mark.parametrize("fill", [False, True])
def test_grain_is_kept(fill: bool, asked: tuple[object, ...], shots: list[Path], tmp_path: Path, run: Run) -> None:
    mask = np.zeros((SIDE, SIDE), np.uint8)
    mask[30:34, 40:44] = 1
    write(tmp_path / "mask.png", mask)
    given = read(shots[0]).pixels.copy()
    given[mask > 0] = 255
    write(shots[0], given, overwrite=True)
    words = ("--sigma", 12, "--mask", tmp_path / "mask.png", *(("--fill",) if fill else ()))
    code, out, _ = run(*asked[:-1], *words, "--keep", 0.3)
    got, clean = read(tmp_path / "clean.png").pixels, denoise(given, 12.0, mask=mask, fill=fill, preset="fast")
    assert code == 0 and "30% of the removed noise put back" in out and got.dtype == np.uint8
    np.testing.assert_array_equal(got[mask == 0], put_back(given, clean, 0.3)[mask == 0])
    assert (got[mask > 0] < 200).all() if fill else (got[mask > 0] == 255).all()


# What is refused


def one_line(found: tuple[int, str, str]) -> str:
    code, out, err = found
    assert (code, out, len(err.splitlines())) == (3, "", 1), err
    return err


@pytest.mark.parametrize("region", ["50,0,20,20", "0,50,20,20", "-1,0,20,20", "900,900,16,16"])
def test_regions_outside(region: str, asked: tuple[object, ...], shots: list[Path], run: Run) -> None:
    for words, option in ((asked, "--noise-from"), (("noise", shots[0]), "--from")):
        err = one_line(run(*words, f"{option}={region}"))
        assert f"{option} {region}: the region" in err and "outside the image of 64 x 64 pixels" in err


def test_samples_that_show_no_noise(asked: tuple[object, ...], tmp_path: Path, run: Run) -> None:
    assert "there is no file" in one_line(run(*asked, "--noise-from", tmp_path / "none.png"))
    write(tmp_path / "black.png", np.zeros((40, 40), np.uint8))
    err = one_line(run(*asked, "--noise-from", tmp_path / "black.png"))
    assert err.startswith(f"error: --noise-from {tmp_path / 'black.png'}: sample is constant (0)")
    write(tmp_path / "tiny.png", np.zeros((9, 40), np.uint8))
    assert "16 x 16 pixels or more" in one_line(run(*asked, "--noise-from", tmp_path / "tiny.png"))


@pytest.mark.slow
def test_noise_of_other_images(asked: tuple[object, ...], tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    """Another bit depth or number of channels: both are named."""
    wide = (1000 + 90 * rng.standard_normal((SIDE, SIDE))).astype(np.uint16)
    colour = rng.integers(90, 110, (SIDE, SIDE, 3), dtype=np.uint8)
    for name, pixels, origin in (("wide", wide, "uint16 with 1 channel"), ("colour", colour, "uint8 with 3 channels")):
        write(tmp_path / f"{name}.png", pixels)
        assert run("noise", tmp_path / f"{name}.png", "--save", tmp_path / f"{name}.json")[0] == 0
        for option, suffix in (("--noise", ".json"), ("--noise-from", ".png"), ("--burst", ".png")):
            source = tmp_path / f"{name}{suffix}"
            err = one_line(run(*asked, option, source))
            assert f"{option} {source} is for {origin}, and {asked[1]} is uint8 with 1 channel: " in err
        report = ("report", asked[1], asked[1].with_name("shot1.png"), "--noise")  # type: ignore[attr-defined]
        assert f"is for {origin}" in one_line(run(*report, tmp_path / f"{name}.json"))


def test_shots_that_do_not_belong(
    asked: tuple[object, ...], shots: list[Path], scene: np.ndarray, tmp_path: Path, run: Run
) -> None:
    burst = (*asked, "--burst", tmp_path / "shot*.png")
    assert "no file matches" in one_line(run(*asked, "--burst", tmp_path / "none*.png"))
    assert "--burst: a burst needs two shots" in one_line(run(*asked, "--burst", shots[0]))
    third = read(shots[2]).pixels
    write(shots[2], third[:, 3:], overwrite=True)
    assert f"--burst {shots[2]}: it has shape (64, 61), the first one (64, 64)" in one_line(run(*burst))
    write(shots[2], np.rint(third * 0.7).astype(np.uint8), overwrite=True)
    for words in (burst, (*burst, "--no-merge")):
        err = one_line(run(*words))
        assert f"--burst {shots[2]}: its mean is " in err and "use shots of the same exposure" in err
    write(tmp_path / "volume.tif", Picture(np.stack([third] * 3), "ZYX"))
    volume = ("denoise", tmp_path / "volume.tif", "-o", tmp_path / "clean.tif", "--burst", tmp_path / "volume.tif")
    assert "--burst: a burst needs two shots" in one_line(run(*volume))
    assert not (tmp_path / "clean.png").exists()
