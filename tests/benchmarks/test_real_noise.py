"""The benchmarks of real and of made noise, on small made-up pairs: rows are whole, and numbers what they say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from learn_cases import texture
from numpy.typing import NDArray
from PIL import Image

from benchmarks import __main__ as command
from benchmarks.options import Options
from benchmarks.real_noise import made, peers, photos, simulate
from benchmarks.real_noise.measure import Measured, Task
from benchmarks.real_noise.pairs import Pair, read_pairs
from benchmarks.real_noise.summary import summary
from benchmarks.record import as_json
from benchmarks.rivals import bm3d, skimage
from epitomes import denoise, estimate_noise
from epitomes.validation import psnr

CLEAN = np.stack([texture((64, 60), noise=0.0)] * 3, axis=-1).clip(0, 255).astype(np.uint8)
PART = slice(10, 42)


def noisy(seed: int) -> NDArray[np.uint8]:
    return simulate.eight_bit(simulate.blurred(CLEAN.astype(np.float32), rms=8, width=0.7, seed=seed))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pairs in `cc` and `polyu`, and crops that fit into them."""
    for name, suffix in (("cc", "png"), ("polyu", "JPG")):
        (tmp_path / name).mkdir()
        for number in (1, 2):
            Image.fromarray(noisy(number)).save(tmp_path / name / f"shot_{number}_real.{suffix}")
            Image.fromarray(CLEAN).save(tmp_path / name / f"shot_{number}_mean.{suffix}")
    monkeypatch.setattr(photos, "CORNER", PART.start)
    monkeypatch.setattr(photos, "QUICK_WIDTH", 32)
    return tmp_path


@pytest.fixture
def fake_bm3d(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that is best when it is told 25 and that takes no time, whether or not it is installed."""

    def denoiser(image: NDArray[np.uint8], sigma: float, threads: int) -> Callable[[], NDArray[np.float64]]:
        return lambda: CLEAN[PART, PART] + abs(sigma - 25.0)

    monkeypatch.setattr(peers, "installed", lambda module, package: True)
    monkeypatch.setattr(peers.bm3d, "denoiser", denoiser)
    monkeypatch.setattr(peers.bm3d, "told_spectrum", lambda image, noise, threads: lambda: image)


def row(method: str, image: str, before: float, after: float, unchanged: bool | None = None) -> Measured:
    return Measured(
        noise="case",
        image=image,
        method=method,
        seed=None,
        rms=1.0,
        noisy_psnr=before,
        psnr=after,
        gain=after - before,
        seconds=0.0,
        unchanged=unchanged,
    )


def test_they_are_registered() -> None:
    assert {"real-noise", "made-noise"} <= set(command.TABLES)
    asked = command.parser().parse_args(["real-noise", "--peers", "none", "--cases", "cc,poly"])
    assert (asked.peers, asked.cases) == ("none", ("cc", "poly"))
    options = Options(cases=asked.cases)
    assert options.wants("cc crops") and options.wants("polyu") and not options.wants("white 5")
    assert Options().wants("white 5")


def test_pairs(folder: Path) -> None:
    first, second = read_pairs(folder / "cc")
    assert (first.name, second.name) == ("shot_1", "shot_2")
    np.testing.assert_array_equal(second.noisy, noisy(2))
    np.testing.assert_array_equal(second.noise, noisy(2) - CLEAN.astype(float))
    assert first.rms == pytest.approx(8, rel=0.1) and first.channel_axis == -1
    part = first.cropped(slice(3, 8), slice(2, 4))
    np.testing.assert_array_equal(part.clean, CLEAN[3:8, 2:4])
    assert part.noisy.shape == (5, 2, 3) and first.middle(20).clean.shape == (20, 20, 3)
    assert len(read_pairs(folder / "polyu")) == 2 and read_pairs(folder / "none") == []
    (folder / "cc" / "shot_1_mean.png").unlink()
    with pytest.raises(SystemExit, match="holds shot_1_real without shot_1_mean"):
        read_pairs(folder / "cc")


@pytest.mark.slow
def test_photos(folder: Path, fake_bm3d: None, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(photos.run(Options(images=folder, quick=True, peers="fast")))
    crops = [row for row in rows if row.noise == "cc crops" and row.image == "shot_1"]
    assert [row.method for row in crops] == [
        "ours",
        "skimage wavelets",
        "skimage non-local means",
        "bm3d, true rms",
        "ours white, true rms",
    ]
    whole = estimate_noise(noisy(1), channel_axis=-1)
    expected = denoise(noisy(1)[PART, PART], noise=whole, channel_axis=-1, threads=1)
    assert crops[0].psnr == pytest.approx(psnr(CLEAN[PART, PART], expected))
    assert crops[0].decided == whole.describe()
    assert crops[0].gain == pytest.approx(crops[0].psnr - psnr(CLEAN[PART, PART], noisy(1)[PART, PART]))
    assert [(row.noise, row.image, row.method) for row in rows[10:]] == [
        (case, image, "ours") for case in ("cc", "polyu") for image in ("shot_1", "shot_2")
    ]
    blind = denoise(Pair("", noisy(2), CLEAN).middle(32).noisy, channel_axis=-1, threads=1)
    assert rows[11].psnr == pytest.approx(psnr(Pair("", CLEAN, CLEAN).middle(32).clean, blind))
    words = capsys.readouterr().out
    assert "cc crops: bm3d, true rms" in words and "NLH 38.49 (recalled from the literature" in words
    for one in rows:
        assert json.loads(as_json(one))["noise"] == one.noise


def test_photos_that_are_missing(folder: Path) -> None:
    with pytest.raises(SystemExit, match="no photographs: name a folder"):
        list(photos.run(Options()))
    with pytest.raises(SystemExit, match="holds no pairs in cc or polyu"):
        list(photos.run(Options(images=folder / "cc")))


@pytest.mark.slow
def test_peers(fake_bm3d: None) -> None:
    pair = Pair("small", noisy(1), CLEAN).cropped(PART, PART)
    task = Task("case", pair, threads=1)
    assert not list(peers.of_photo(task, pair.noise, Options(peers="none")))
    found = {row.method: row for row in peers.of_photo(task, pair.noise, Options())}
    assert found["bm3d, true spectrum"].gain == 0.0  # it returns its input here
    best = found["bm3d, best multiple"]
    assert best.multiple == min(peers.PHOTO_MULTIPLES, key=lambda multiple: abs(multiple * pair.rms - 25))
    assert best.tried is not None and best.psnr == max(best.tried.values())
    assert list(best.tried)[-1] == "3.5"  # the first multiple that is clearly worse is the last
    ours = found["ours white, best multiple"]
    assert ours.multiple is not None
    told = denoise(pair.noisy, ours.multiple * pair.rms, channel_axis=-1, preset="balanced", threads=1)
    assert ours.psnr == pytest.approx(psnr(pair.clean, told))


def test_results_are_judged_as_files_hold_them() -> None:
    clean = np.full((8, 8), 250, np.uint8)
    judged = Task("case", Pair("flat", clean - 1, clean), threads=2).judge("method", lambda: clean + 40.3)
    assert judged.psnr == pytest.approx(psnr(clean, np.full((8, 8), 255)))
    floats = Task("case", Pair("flat", clean.astype(np.float32) - 1, clean), threads=1)
    assert floats.judge("method", lambda: clean + 0.3).psnr == pytest.approx(psnr(clean, clean + 0.3))
    same = Task("case", Pair("flat", clean, clean), threads=1).judge("method", lambda: clean)
    assert (same.psnr, same.noisy_psnr, same.gain) == (99.0, None, None) and as_json(same)


def test_summary() -> None:
    rows = [
        row("ours", "a", 30, 34.0, False),
        row("ours", "b", 31, 31.0, True),
        row("peer", "a", 30, 33.0),
        row("peer", "b", 31, 30.5),
    ]
    _, ours, peer = summary(rows).splitlines()
    assert ours.split()[2:] == ["2", "30.50", "32.50", "31.00", "+2.00", "+0.00", "1", "0", "-", "-"]
    assert peer.split()[2:] == ["2", "30.50", "31.75", "30.50", "+1.25", "-0.50", "0", "1", "+0.75", "+0.50"]


@pytest.mark.slow
def test_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(made, "QUICK_WIDTH", 32)
    Image.fromarray(CLEAN).save(tmp_path / "mine.png")
    options = Options(images=tmp_path, quick=True, seeds=2, peers="none", cases=("white", "clean, grey", "jpeg 80"))
    rows = list(made.run(options))
    assert [(row.noise, row.method, row.seed) for row in rows] == [
        *[(f"white 25, {kind}", who, seed) for kind in made.TEN for seed in (0, 1) for who in ("ours", made.TOLD)],
        *[(case, "ours", seed) for case in ("clean, grey", "jpeg 80") for seed in (0, 1)],
    ]
    assert {row.image for row in rows} == {"mine"}
    assert rows[0].rms == pytest.approx(25, rel=0.05) and rows[0].gain is not None and rows[0].gain > 3
    clean = next(row for row in rows if row.noise == "clean, grey")
    assert clean.gain is None and clean.psnr > 20
    assert "clean, grey: ours" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="holds no PNG images"):
        list(made.run(Options(images=tmp_path / "none", quick=True)))


def test_made_peers(fake_bm3d: None) -> None:
    task = Task("case", Pair("small", noisy(1), CLEAN).cropped(PART, PART), threads=1)
    (found,) = peers.scalar_bm3d(task, peers.MULTIPLES, Options())
    assert found.method == "bm3d, best multiple" and found.multiple == 3.0


@pytest.mark.slow
def test_clean_images() -> None:
    for kind, source in made.TEN.items():
        pictures = source.read(None)
        assert len(pictures) == len(source.names) >= 8
        shape = (256, 256) if kind == "grey" else (256, 256, 3)
        assert all(one.pixels.shape == shape and one.pixels.dtype == np.float32 for one in pictures)
        assert all(np.array_equal(one.pixels, simulate.eight_bit(one.pixels)) for one in pictures)


def test_skimage() -> None:
    for image in (noisy(1), noisy(1)[..., 0]):
        for method in skimage.denoisers(image).values():
            result = method()
            assert result.shape == image.shape
            assert 0 < np.abs(result - image).mean() < 20


def test_spectrum() -> None:
    """White noise has the spectrum `sigma^2 * number of pixels`, whatever the size of the blocks."""
    noise = 3 * np.random.default_rng(0).standard_normal((130, 120, 2))
    power = bm3d.spectrum(noise, (32, 30))
    assert power.shape == (32, 30, 2)
    assert power == pytest.approx(9 * 32 * 30, rel=0.35) and power.mean() == pytest.approx(9 * 32 * 30, rel=0.05)


@pytest.mark.slow
def test_bm3d_with_a_spectrum() -> None:
    pytest.importorskip("bm3d")
    pair = Pair("small", noisy(1), CLEAN)
    scalar = bm3d.denoiser(pair.noisy, pair.rms, 1)
    told = bm3d.told_spectrum(pair.noisy, pair.noise, 1)
    assert scalar is not None and told is not None
    assert psnr(CLEAN, told()) > psnr(CLEAN, scalar()) > psnr(CLEAN, pair.noisy)
