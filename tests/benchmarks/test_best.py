"""The table of the best, the ablation and the curve: small pictures, and the words at the end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from learn_cases import texture

from benchmarks import __main__ as command
from benchmarks.options import Options
from benchmarks.pictures import Picture, apart
from benchmarks.races import denoise as race
from benchmarks.record import Race, Table, as_json
from benchmarks.tables import ablation, best
from epitomes.formats import read
from epitomes.restoration import denoise

PICTURE = Picture("small", texture((32, 33), noise=0.0).astype(np.float32), "given")
PRINTED_MEANS = ("LSSC, published", "WNNM, published")


def table(row: str, image: str, sigma: float, seed: int, psnr: float) -> Table:
    return Table(table="best", row=row, image=image, sigma=sigma, seed=seed, psnr=psnr, seconds=1.0)


def test_every_method_sees_the_same_noise() -> None:
    options = Options(presets=("fast",))
    found = list(best.rows("best", [PICTURE], (25,), 2, options))
    ours = [row for row in found if row.row == "fast"]
    assert [row.seed for row in ours] == [0, 1]
    noisy = PICTURE.pixels + 25 * np.random.default_rng(1).standard_normal(PICTURE.pixels.shape)
    expected = denoise(noisy.astype(np.float32), 25, preset="fast")
    error = np.mean((PICTURE.pixels.astype(np.float64) - expected) ** 2)
    assert ours[1].psnr == pytest.approx(10 * np.log10(255**2 / error))
    assert {"table", "row", "image", "sigma", "seed", "psnr", "seconds"} == set(json.loads(as_json(ours[0])))


def test_summary() -> None:
    rows = [
        table("best", "house", 10, 0, 36.0),
        table("best", "house", 10, 1, 37.0),  # draws first: 36.5
        table("best", "boat", 10, 0, 33.0),
        table("best", "cameraman", 10, 0, 99.0),  # not one of the five
        table("bm3d", "house", 10, 0, 36.0),
        table("bm3d", "boat", 10, 0, 33.25),
        table("bm3d", "cameraman", 10, 0, 20.0),
    ]
    words = best.summary(rows, published=True).splitlines()
    assert words[0].endswith("house, boat")
    assert words[2].split() == ["best", "34.75", "34.75"]
    assert words[4].split() == ["best", "-", "bm3d", "+0.125", "+0.125"]
    assert [line.split()[-1] for line in words if line.startswith(PRINTED_MEANS)] == ["35.32", "35.51"]
    assert words[-1] == "best: 1 of 3 cells not above bm3d; worst -0.250 (boat 10): boat 10 (-0.250)"
    assert not any(line.startswith(PRINTED_MEANS) for line in best.summary(rows, published=False).splitlines())
    assert "bm3d" not in best.summary(rows[:4], published=False)  # where it is not installed


def test_every_twentieth_is_held_out(tmp_path: Path) -> None:
    for number in range(1, 46):
        (tmp_path / f"test_{number:03}.png").touch()
    kept, others = apart(tmp_path)
    assert [file.stem for file in kept] == ["test_020", "test_040"]
    assert len(others) == 43 and not set(kept) & set(others)
    with pytest.raises(SystemExit, match="holds 0 PNG or JPEG pictures, at least 20 are needed"):
        apart(tmp_path / "none")


def test_unknown_presets() -> None:
    with pytest.raises(SystemExit, match="--presets quick is unknown: choose from fast, balanced, best"):
        list(best.run(Options(presets=("best", "quick"))))
    assert command.parser().parse_args(["table-best", "--presets", "fast,best"]).presets == ("fast", "best")


@pytest.mark.slow
def test_ablation_changes_one_thing() -> None:
    rows = {row.ablation: row for row in ablation.measure(PICTURE, 0, {}, Options(quick=True))}
    assert {"balanced", "no grouping", "DCT", "flat, adapted", "no feedback", "one patch size"} <= set(rows)
    assert len({row.psnr for row in rows.values()}) == len(rows)
    for row in rows.values():
        assert row.difference == pytest.approx(row.psnr - rows["balanced"].psnr)
    noisy = best.add_noise(PICTURE.pixels, 25, 0)
    for name, preset in (("balanced", "balanced"), ("no grouping", "fast")):
        expected = denoise(noisy, 25, preset=preset)
        error = np.mean((PICTURE.pixels.astype(np.float64) - expected) ** 2)
        assert rows[name].psnr == pytest.approx(10 * np.log10(255**2 / error), abs=1e-4)
    assert "DCT" in ablation.summary(list(rows.values()))


def test_dct_atoms_are_orthonormal_waves() -> None:
    atoms = ablation.dct(6).dictionary.atoms
    np.testing.assert_allclose(atoms @ atoms.T, np.eye(36), atol=1e-12)
    wave = np.cos(np.pi * (np.arange(6) + 0.5) * 2 / 6)
    np.testing.assert_allclose(atoms[2], np.tile(wave / np.linalg.norm(wave), 6) / np.sqrt(6), atol=1e-12)


def test_curve(tmp_path: Path) -> None:
    names = ["single", "several", "given", *race.PRESETS]
    rows = [
        Race(
            race="denoise",
            image="boat",
            method=f"epitomes-{name}",
            peer="bm3d",
            ratio=1.0,
            seconds=1.0 + place,
            peer_seconds=2.0,
            paired_ratio=1.0,
            rounds=1,
            clock="wall",
            threads=2,
            n_patches=100,
            pictures="given",
            epitome="shipped",
            psnr=30.0 + place,
            peer_psnr=31.0,
        )
        for place, name in enumerate(names)
    ]
    race.draw_curve(tmp_path / "new" / "curve.png", rows)
    pixels = read(tmp_path / "new" / "curve.png").pixels
    assert pixels.ndim == 3 and pixels.min() < 100 < pixels.max()
