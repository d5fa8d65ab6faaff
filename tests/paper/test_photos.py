"""Pictures are found however their files are named, and none is taken for another."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from epitomes.formats import write
from epitomes.paper import photos as photos_module
from epitomes.paper.photos import STAND_INS, Photos, as_grey, canonical, find_photos
from epitomes.paper.printed import PICTURES


def picture(side: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (side, side), dtype=np.uint8)


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("house", "house"),
        ("House256", "house"),
        ("peppers256", "peppers"),
        ("pepper", "peppers"),
        ("Cameraman256", "cameraman"),
        ("c.man", "cameraman"),
        ("C-Man", "cameraman"),
        ("Lena512", "lena"),
        ("lena_gray_512", "lena"),
        ("lenna-512x512", "lena"),
        ("boat.512", "boat"),
        ("boats", "boat"),
        ("Barbara", "barbara"),
        ("camera", None),  # scikit-image's is another photograph
        ("houses", None),
        ("birdhouse", None),
        ("man", None),
        ("01", None),
        ("", None),
    ],
)
def test_names(spelled: str, name: str | None) -> None:
    assert canonical(spelled) == name


def test_a_folder_in_its_own_spelling(tmp_path: Path) -> None:
    sides = {"Cameraman256.png": 256, "boat.512.tif": 512, "PEPPERS.npy": 256, "camera.png": 256, "notes.txt": 0}
    for name, side in sides.items():
        if side:
            write(tmp_path / name, picture(side))
    (tmp_path / "notes.txt").write_text("house")
    found = find_photos(tmp_path)
    assert [photo.name for photo in found.all] == ["peppers", "cameraman", "boat"]  # the order of the paper
    assert all(photo.faithful and photo.source == "given" for photo in found.all)
    np.testing.assert_array_equal(found.like("boat").pixels, picture(512))
    assert found.like("boat").pixels.dtype == np.float32
    (note,) = found.notes
    assert "lacks house, barbara, lena" in note
    assert "USC-SIPI" in note


def test_another_size_is_not_the_papers_picture(tmp_path: Path) -> None:
    write(tmp_path / "house.png", picture(512))
    photos = find_photos(tmp_path)
    assert not photos.all[0].faithful
    assert any("512 x 512" in note and "256 x 256" in note for note in photos.notes)


def test_lossless_files_come_first(tmp_path: Path) -> None:
    write(tmp_path / "house.jpg", picture(256, 1))
    write(tmp_path / "house_gray_256.png", picture(256, 2))
    np.testing.assert_array_equal(find_photos(tmp_path).all[0].pixels, picture(256, 2))


def test_colour_and_depth_become_grey() -> None:
    grey = np.full((4, 4), 100, np.uint8)
    np.testing.assert_allclose(as_grey(np.stack([grey] * 3, axis=-1)), 100, rtol=1e-6)
    np.testing.assert_allclose(as_grey(np.full((4, 4), 65535, np.uint16)), 255)
    np.testing.assert_allclose(as_grey(np.full((4, 4), 0.5)), 127.5)
    np.testing.assert_allclose(as_grey(np.full((4, 4), 200.0)), 200)
    red = np.zeros((4, 4, 3), np.uint8)
    red[..., 0] = 255
    assert as_grey(red).max() == pytest.approx(0.299 * 255, rel=1e-5)


def test_colour_is_mentioned(tmp_path: Path) -> None:
    write(tmp_path / "house.png", np.stack([picture(256)] * 3, axis=-1))
    assert any("in colour" in note for note in find_photos(tmp_path).notes)


@pytest.mark.parametrize("named", [True, False])
def test_stand_ins(tmp_path: Path, named: bool) -> None:
    pytest.importorskip("skimage")
    found = find_photos(tmp_path if named else None)
    assert [photo.name for photo in found.all] == [STAND_INS[name] for name in PICTURES]
    assert all(photo.source == "scikit-image" and not photo.faithful for photo in found.all)
    assert found.like("boat").name == STAND_INS["boat"]
    assert "Set12" in found.notes[0]
    assert "http" not in found.notes[0]
    assert len({photo.pixels.tobytes() for photo in found.all}) == len(PICTURES)


def test_without_scikit_image_one_picture_ships(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skimage", None)
    found = find_photos(None)
    assert [(photo.name, photo.source) for photo in found.all] == [("camera", "shipped")]
    assert found.like("barbara").name == "camera"
    assert found.all[0].pixels.shape == (256, 256)


def test_a_choice_of_pictures(tmp_path: Path) -> None:
    for name in ("house", "boat"):
        write(tmp_path / f"{name}.png", picture(photos_module.SIDE[name]))
    found = find_photos(tmp_path)
    assert [photo.name for photo in found.only(["Boat512"]).all] == ["boat"]
    assert isinstance(found.only(["house"]), Photos)
    with pytest.raises(ValueError, match="no picture named lena: there are house, boat"):
        found.only(["lena"])


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        find_photos(tmp_path / "nowhere")
