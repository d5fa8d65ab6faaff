"""make-epitomes: nothing is learned from the pictures that are for measuring, and the library reads what it writes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from benchmarks import make_epitomes
from benchmarks.make_epitomes import ARCHIVE, GREY, Learned, Plan, add, provenance
from benchmarks.options import Options
from benchmarks.pictures import apart, from_files
from epitomes.learn import _natural, smooth_noise
from epitomes.phi import windows


@pytest.fixture(params=["png", "jpg"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Fifty pictures of 12 x 12 pixels, each of one grey level: its number."""
    for number in range(1, 51):
        Image.fromarray(np.full((12, 12), number, np.uint8)).save(tmp_path / f"{number:03}.{request.param}")
    return tmp_path


def test_every_twentieth_is_held_out_of_any_folder(folder: Path) -> None:
    kept, others = apart(folder)
    assert [picture.pixels[0, 0] for picture in from_files(kept)] == [20, 40]
    assert len(others) == 48 and not set(kept) & set(others)


def test_the_pictures_held_out_are_never_seen(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[int] = set()

    def learn(pictures: list[NDArray[np.float32]], plan: object, seed: int, tell: object) -> Learned:
        seen.update(int(picture[0, 0]) for picture in pictures)
        return Learned(smooth_noise(windows((10, 10), (8, 8)), rng=seed), seed, float(-seed))

    monkeypatch.setattr(make_epitomes, "learn", learn)
    monkeypatch.setattr(make_epitomes, "GREY", (Plan(1, 10, (5,), (1, 2)),))
    make_epitomes.run(Options(images=folder, output=tmp_path))
    assert seen == set(range(1, 51)) - {20, 40}
    monkeypatch.setattr(_natural, "files", lambda package: tmp_path / "package")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "data").symlink_to(tmp_path)
    (made,) = _natural.shipped.__wrapped__().values()
    np.testing.assert_array_equal(made.pixels, smooth_noise(windows((10, 10), (8, 8)), rng=2).pixels.astype(np.float32))
    assert made.provenance["seed"] == 2 and "48 of 50 natural grey pictures" in made.provenance["source"]


def test_epitomes_are_added_and_replaced(tmp_path: Path) -> None:
    file = tmp_path / ARCHIVE
    origin = provenance(GREY[0], 0, 3, 380, 20)
    phi = windows((10, 10), (8, 8))
    for name, seed in (("a", 1), ("b", 2), ("a", 3)):
        add(file, name, smooth_noise(phi, rng=seed), origin)
    once = file.read_bytes()
    with np.load(file) as found:
        assert set(found.files) == {"about", "a", "b"}
        np.testing.assert_array_equal(found["a"], smooth_noise(phi, rng=3).pixels.astype(np.float32))
        np.testing.assert_array_equal(found["b"], smooth_noise(phi, rng=2).pixels.astype(np.float32))
    add(file, "a", smooth_noise(phi, rng=3), origin)
    assert file.read_bytes() == once  # no time of day in it


def test_the_shipped_archive_has_the_record_of_these_plans() -> None:
    for plans, channels, used, kept in ((GREY, 0, 380, 20), (make_epitomes.COLOUR, 3, 190, 10)):
        for plan in plans:
            found = _natural.shipped()[plan.name(channels)].provenance
            assert found["seed"] in plan.seeds
            expected = asdict(provenance(plan, channels, found["seed"], used, kept))
            assert {**found, "made_with": ""} == {**expected, "made_with": ""}
