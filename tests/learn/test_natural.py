"""natural: the shipped epitomes, read once, and the record of what they were learned from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from epitomes import Epitome
from epitomes.learn import _natural, natural
from epitomes.model_file import Provenance
from epitomes.phi import Phi, UnionPhi, flat, rotated, subpixel, turned, windows

PHI = windows((42, 42), (8, 8))


@pytest.fixture
def forgotten() -> Iterator[None]:
    """Read the archive anew in this test, and leave nothing of it to others."""
    for cached in (_natural.shipped, _natural._prepared):
        cached.cache_clear()
    yield
    for cached in (_natural.shipped, _natural._prepared):
        cached.cache_clear()


def test_natural_is_the_shipped_one() -> None:
    one, wide = natural(PHI), natural(windows((42, 42), (12, 9)))
    assert one.pixels.std() > 0 and one.pixels.dtype == np.float32
    np.testing.assert_array_equal(one.pixels, wide.pixels)  # an epitome serves every patch size
    assert wide.phi.patch_shape == (12, 9)
    np.testing.assert_array_equal(natural(windows((1, 42, 42), (8, 8))).pixels[0], one.pixels)
    np.testing.assert_array_equal(natural(rotated(PHI, [45])).pixels, one.pixels)


def test_the_archive_is_read_once_per_process(forgotten: None, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[object] = []
    load = np.load
    monkeypatch.setattr(np, "load", lambda *args, **kwargs: reads.append(args) or load(*args, **kwargs))
    for _ in range(3):
        for shape in ((42, 42), (20, 15, 15), (4, 25, 25)):
            natural(windows(shape, (8, 8)))
    assert len(reads) == 1


@pytest.mark.parametrize(
    "phi", [PHI, turned(PHI), windows((42, 42), (8, 8), border="periodic"), subpixel(PHI, [[0.5, 0.5]])], ids=repr
)
def test_one_phi_is_prepared_once(phi: Phi) -> None:
    """The dictionary and its engine take far longer than the pixels: they are shared by all who ask."""
    epitome = natural(phi)
    assert natural(phi) is epitome and natural(phi).dictionary is epitome.dictionary


def test_equal_phis_share_an_epitome_and_others_do_not() -> None:
    assert natural(windows((42, 42), (8, 8))) is natural(windows((42, 42), (8, 8)))
    others = [
        PHI,
        turned(PHI),
        windows((1, 42, 42), (8, 8)),
        windows((42, 42), (8, 9)),
        windows((42, 42), (8, 8), border="periodic"),
        windows((42, 42), (8, 8), border="periodic", support=np.eye(8, dtype=bool)),
        turned(PHI, flips=False),
        turned(PHI, quarter_turns=False),
        rotated(PHI, [45]),
        rotated(PHI, [30]),
    ]
    found = [natural(phi) for phi in others]
    assert len({id(epitome) for epitome in found}) == len(others)
    for epitome, phi in zip(found, others, strict=True):
        np.testing.assert_array_equal(epitome.dictionary.atoms, phi(epitome.pixels))


@pytest.mark.parametrize(
    "phi",
    [windows((41, 42), (8, 8)), windows(42, 8), windows((42, 42), (8,)), flat(9, (8, 8)), UnionPhi((flat(9, (8, 8)),))],
    ids=repr,
)
def test_absent_natural_epitomes_are_told_with_those_there_are(phi: Phi) -> None:
    with pytest.raises(ValueError, match=r"there are: .*\(42, 42\) for patches of 2 axes"):
        natural(phi)


def test_natural_tells_several_pictures_from_volumes_and_colour(
    forgotten: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    several, colour = rng.standard_normal((20, 15, 15)), rng.standard_normal((15, 15, 3))
    about = {
        "20x15": {"patch_shape": [8, 8], "provenance": {}},
        "1x15-colour": {"patch_shape": [8, 8, 3], "provenance": {}},
    }
    arrays = {"20x15": several, "1x15-colour": colour}
    (tmp_path / "data").mkdir()
    np.savez(tmp_path / "data" / "natural.npz", about=np.array(json.dumps(about)), **arrays)
    monkeypatch.setattr(_natural, "files", lambda package: tmp_path)
    np.testing.assert_array_equal(natural(windows((20, 15, 15), (6, 6))).pixels, several)
    np.testing.assert_array_equal(natural(windows((15, 15, 3), (6, 6, 3))).pixels, colour)
    for volume in (windows((20, 15, 15), (6, 6, 6)), windows((15, 15, 3), (6, 3))):
        with pytest.raises(ValueError, match=r"\(20, 15, 15\) for patches of 2 axes"):
            natural(volume)


def test_the_record_says_what_was_left_out_for_measuring() -> None:
    found = _natural.shipped()
    assert set(found) == {"1x42", "20x15", "2x32", "2x46", "4x25", "1x42-colour", "20x15-colour"}
    for name, one in found.items():
        origin = Provenance(**one.provenance)
        pictures = "190 of 200 natural colour" if "colour" in name else "380 of 400 natural grey"
        assert pictures in origin.source and "every 20th by name is left out" in origin.source
        assert one.pixels.dtype == np.float32 and np.isfinite(one.pixels).all()
        phi = windows(one.pixels.shape, one.patch_shape)
        np.testing.assert_array_equal(natural(phi).pixels, one.pixels)
        assert isinstance(natural(phi), Epitome)
