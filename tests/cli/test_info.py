"""`epitomes info`: what images and models hold, without texts that may name a person."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from epitomes import Epitome
from epitomes.formats import Picture, write
from epitomes.model_file import Provenance, save
from epitomes.phi import windows

Run = Callable[..., tuple[int, str, str]]


def test_a_volume(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    pixels = rng.integers(5, 250, (4, 2, 20, 30), dtype=np.uint16)
    write(tmp_path / "a.ome.tif", Picture(pixels, "ZCYX", {"Z": 2.5, "X": 0.5, "Y": 0.5}, dict.fromkeys("ZXY", "um")))
    code, out, err = run("info", tmp_path / "a.ome.tif")
    assert (code, err) == (0, "")
    assert "OME-TIFF, ZCYX 4 x 2 x 20 x 30, uint16" in out and "Z 2.5 um" in out and "8 images of 20 x 30" in out
    facts = json.loads(run("info", tmp_path / "a.ome.tif", "--json")[1])
    assert facts["spacing"] == {"X": 0.5, "Y": 0.5, "Z": 2.5} and facts["units"]["Z"] == "um" and facts["images"] == 8
    assert (facts["minimum"], facts["maximum"], facts["missing"]) == (pixels.min(), pixels.max(), 0)
    assert (facts["channel_axis"], facts["spatial"]) == (None, 2)
    assert facts["mean"] == pytest.approx(pixels.mean()) and facts["bytes"] == (tmp_path / "a.ome.tif").stat().st_size


def test_a_photograph_and_its_secrets(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    from PIL import Image

    exif = Image.Exif()
    exif[315] = "Somebody Known"  # the artist
    pixels = rng.integers(0, 256, (20, 20, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.jpg", exif=exif, dpi=(300, 300))
    code, out, _ = run("info", tmp_path / "a.jpg")
    facts = run("info", tmp_path / "a.jpg", "--json")[1]
    assert code == 0 and "EXIF data" in out and "dpi: [300.0, 300.0]" in out and "bytes" in out
    assert "Somebody" not in out + facts and json.loads(facts)["channel_axis"] == 2


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_missing_values_are_counted_and_left_out(tmp_path: Path, bad: float, run: Run) -> None:
    pixels = np.arange(30.0, dtype=np.float32).reshape(5, 6)
    pixels[0, :3] = bad
    write(tmp_path / "a.npy", pixels)
    code, out, err = run("info", tmp_path / "a.npy")
    assert (code, err) == (0, "") and "missing: 3 of 30 values are NaN or infinite" in out
    facts = json.loads(run("info", tmp_path / "a.npy", "--json")[1])
    assert (facts["minimum"], facts["maximum"], facts["missing"]) == (3, 29, 3)
    assert facts["mean"] == pytest.approx(16)
    write(tmp_path / "b.npy", np.full((5, 6), bad))
    code, out, _ = run("info", tmp_path / "b.npy")
    assert code == 0 and "missing: 30 of 30" in out and "mean" not in out
    assert json.loads(run("info", tmp_path / "b.npy", "--json")[1])["mean"] is None


@pytest.mark.parametrize(
    ("axes", "shape", "words"),
    [
        ("YX", (8, 9), "1 image of 8 x 9"),
        ("YXC", (8, 9, 3), "1 image of 8 x 9 with 3 channels"),
        ("ZYX", (5, 8, 9), "1 volume of 5 x 8 x 9"),
        ("TZYXC", (2, 5, 8, 9, 1), "2 volumes of 5 x 8 x 9 with 1 channel"),
        ("YXT", (8, 9, 20), None),  # no layout has its stack last
    ],
)
def test_content(tmp_path: Path, axes: str, shape: tuple[int, ...], words: str | None, run: Run) -> None:
    write(tmp_path / "a.npz", Picture(np.zeros(shape), axes))
    code, out, _ = run("info", tmp_path / "a.npz")
    assert code == 0 and (f"  content: {words}\n" in out if words else "  content:" not in out)


def test_axes_can_be_told(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "a.npy", np.zeros((7, 20, 20)))
    assert "ZYX" in run("info", tmp_path / "a.npy")[1] and "TYX" in run("info", tmp_path / "a.npy", "--axes", "tyx")[1]


def test_models(tmp_path: Path, rng: np.random.Generator, run: Run) -> None:
    phi = windows((3, 10, 10), (8, 8))
    origin = Provenance(lam=60.0, seed=4, source="a photo")
    save(tmp_path / "m.epitome", Epitome(rng.standard_normal(phi.epitome_shape), phi), origin)
    code, out, _ = run("info", tmp_path / "m.epitome")
    assert code == 0 and "27 atoms of 8 x 8" in out and "a photo" in out
    facts = json.loads(run("info", tmp_path / "m.epitome", "--json")[1])
    assert facts["provenance"]["lam"] == 60 and facts["n_atoms"] == 27
    (tmp_path / "bad.epitome").write_bytes(b"none")
    code, _, err = run("info", tmp_path / "bad.epitome")
    assert code == 5 and "bad.epitome" in err
