"""Noise profiles: what is written comes back, and what is not a profile is refused with a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epitomes.noise import BlockSpectrum, Noise, estimate_noise, kernel_spectrum
from epitomes.noise.profile import Origin, read_with_origin, write_profile

KINDS = {
    "gaussian": Noise.gaussian(12.3),
    "per channel": Noise.gaussian([1.0, 2.0, 4.0]),
    "map": Noise.map(np.random.default_rng(0).uniform(1, 2, (20, 30))),
    "poisson": Noise.poisson_gaussian(2.1, -100.0, 3.0),
    "spectrum": Noise.from_spectrum(kernel_spectrum([[0.2, 0.6, 0.2]], (8, 9)) + 0.1),
    "estimated": estimate_noise(np.random.default_rng(0).standard_normal((2, 40, 40, 3)), channel_axis=-1, spatial=2),
    "counts": estimate_noise(np.random.default_rng(0).poisson(9, (40, 40)), model="poisson-gaussian"),
}


def everything(noise: Noise) -> Any:
    values = {name: getattr(noise, name) for name in noise.__dataclass_fields__}
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            values[name] = (value.shape, value.tolist())
    return {**values, "parts": [everything(part) for part in noise.parts]}


@pytest.mark.parametrize("kind", KINDS)
def test_there_and_back(kind: str, tmp_path: Path) -> None:
    KINDS[kind].save(tmp_path / "noise.json")
    back = Noise.load(tmp_path / "noise.json")
    got, expected = everything(back), everything(KINDS[kind])
    if kind == "spectrum":
        np.testing.assert_allclose(got.pop("spectrum")[1], expected.pop("spectrum")[1], rtol=1e-15)
    assert got == expected
    json.loads((tmp_path / "noise.json").read_text(), parse_constant=lambda text: pytest.fail(text))


def test_files_are_not_replaced_by_accident(tmp_path: Path) -> None:
    path = tmp_path / "noise.json"
    Noise.gaussian(1.0).save(path)
    with pytest.raises(FileExistsError, match="exists already"):
        Noise.gaussian(2.0).save(path)
    assert Noise.load(path).level == 1.0
    Noise.gaussian(2.0).save(str(path), overwrite=True)
    assert Noise.load(str(path)).level == 2.0
    assert [each.name for each in tmp_path.iterdir()] == ["noise.json"]


def test_large_maps_are_refused(tmp_path: Path) -> None:
    Noise.map(np.full((256, 256), 2.0)).save(tmp_path / "a.json")
    with pytest.raises(ValueError, match=r"sigma has 65792 values.*numpy\.save"):
        Noise.map(np.full((256, 257), 2.0)).save(tmp_path / "b.json")
    assert not (tmp_path / "b.json").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "something"}, "lacks"),
        ({"version": 2}, "version is 2"),
        ({"extra": 1}, r"unknown fields \['extra'\]"),
        ({"sigma": None}, "sigma must be a number"),
        ({"sigma": "3"}, "sigma must be a number"),
        ({"sigma": -3}, "sigma must be >= 0"),
        ({"sigma": [[1, 2], [3]]}, "inhomogeneous"),
        ({"gain": [1, 2], "sigma": [1, 2, 3]}, "different shapes"),
        ({"interval": [2, 1]}, "interval must be two numbers"),
        ({"interval": [1]}, "interval must be two numbers"),
        ({"doubts": [3]}, "doubts must be a list of strings"),
        ({"parts": 3}, "parts must be a list"),
        ({"parts": [{}]}, "missing fields"),
        ({"estimated": 1}, "estimated true or false"),
        ({"correlation": {}}, "correlation must have the fields"),
        ({"origin": {"dtype": "uint8"}}, "origin must have the fields dtype and n_channels"),
        ({"origin": {"dtype": 8, "n_channels": 1}}, "origin must be the name of a dtype"),
        ({"spectrum": [[1, 2], [3, 4]], "gain": 1}, "needs gain 0"),
    ],
    ids=str,
)
def test_wrong_files(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = tmp_path / "noise.json"
    Noise.gaussian(3.0).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ValueError, match=f"noise.json is not a noise profile: .*{words}.*Noise.save"):
        Noise.load(path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff\xfe", b"[" * 100_000, b'{"sigma": NaN}'])
def test_other_files(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.json is not a noise profile"):
        Noise.load(tmp_path / "a.json")
    with pytest.raises(FileNotFoundError):
        Noise.load(tmp_path / "b.json")


def test_what_noise_was_measured_on(tmp_path: Path) -> None:
    colour, wide = Origin.of(np.zeros((4, 5, 3), np.uint8), -1), Origin.of(np.zeros((4, 5), np.uint16), None)
    write_profile(Noise.gaussian(3.0), tmp_path / "a.json", overwrite=False, origin=colour)
    noise, origin = read_with_origin(tmp_path / "a.json")
    assert noise.level == Noise.load(tmp_path / "a.json").level == 3.0 and origin == colour
    assert (str(colour), str(wide)) == ("uint8 with 3 channels", "uint16 with 1 channel")
    assert colour.fits(colour) and not colour.fits(wide) and not wide.fits(colour)
    assert Origin("float32", 1).fits(Origin("float64", 1)) and not Origin("float32", 1).fits(Origin("uint8", 1))


@pytest.mark.parametrize(
    ("noise", "n_channels"),
    [
        (Noise.gaussian(3.0), None),
        (Noise.gaussian([1.0, 2.0, 4.0]), 3),
        (Noise.from_blocks(BlockSpectrum.white(4.0)), 1),
        (Noise.from_blocks(BlockSpectrum.white(4.0, 3)), 3),
    ],
)
def test_profiles_without_an_origin(noise: Noise, n_channels: int | None, tmp_path: Path) -> None:
    """Their noise says how many channels it is for."""
    noise.save(tmp_path / "a.json")
    _, origin = read_with_origin(tmp_path / "a.json")
    assert origin == Origin(None, n_channels)
    assert [origin.fits(Origin("uint8", n)) for n in (1, 3)] == [n_channels in (None, 1), n_channels in (None, 3)]
