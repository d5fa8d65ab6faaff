"""`epitomes show`: what a file holds, in words, in JSON and as a picture."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from epitomes import Epitome
from epitomes.draw import dictionary_picture, epitome_picture
from epitomes.formats import read
from epitomes.model_file import Provenance, save
from epitomes.phi import windows

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def model(tmp_path: Path, rng: np.random.Generator) -> Path:
    phi = windows((3, 10, 10), (8, 8))
    origin = Provenance(lam=60.0, seed=4, source="a photo")
    save(tmp_path / "m.epitome", Epitome(rng.standard_normal(phi.epitome_shape), phi), origin)
    return tmp_path / "m.epitome"


def test_words_and_json(model: Path, run: Run) -> None:
    code, out, err = run("show", model)
    assert (code, err) == (0, "")
    assert "3 x 10 x 10" in out and "27 atoms of 8 x 8" in out and "lam: 60.0" in out and "a photo" in out
    facts = json.loads(run("show", model, "--json")[1])
    assert facts["epitome_shape"] == [3, 10, 10] and facts["n_atoms"] == 27 and facts["provenance"]["seed"] == 4


def contains(sheet: np.ndarray, panel: np.ndarray) -> bool:
    """Whether a panel is on a sheet: first by its upper left corner, then whole."""
    h, w = panel.shape[:2]
    windows_of = np.lib.stride_tricks.sliding_window_view(sheet, (4, 4))[
        : sheet.shape[0] - h + 1, : sheet.shape[1] - w + 1
    ]
    corners = np.argwhere((windows_of == panel[:4, :4]).all(axis=(2, 3)))
    return any((sheet[i : i + h, j : j + w] == panel).all() for i, j in corners)


def test_drawing(model: Path, tmp_path: Path, run: Run) -> None:
    from epitomes.model_file import load

    code, out, _ = run("show", model, "-o", tmp_path / "a.png")
    assert code == 0 and "a.png" in out
    drawn, epitome = read(tmp_path / "a.png").pixels, load(model)
    assert contains(drawn, epitome_picture(epitome))
    assert contains(drawn, dictionary_picture(epitome.dictionary, (8, 8)))
    assert run("show", model, "-o", tmp_path / "a.png")[0] == 2  # it is there already


def test_use_by_a_picture(model: Path, noisy: Path, tmp_path: Path, run: Run) -> None:
    plain, used = tmp_path / "a.png", tmp_path / "b.png"
    assert run("show", model, "-o", plain)[0] == 0
    assert run("show", model, "-o", used, "--image", noisy, "--sigma", 20)[0] == 0
    drawn = read(used).pixels
    assert drawn.ndim == 3 and drawn.shape[1] > read(plain).pixels.shape[1]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--image", "a.png"), "--sigma"),
        (("--sigma", 3), "--image"),
        (("--image", "a.png", "--sigma", 3), "--output"),
        (("--image", "a.png", "--sigma", -3, "-o", "x.png"), "above 0"),
    ],
    ids=str,
)
def test_refused(more: tuple[object, ...], words: str, model: Path, run: Run) -> None:
    code, _, err = run("show", model, *more)
    assert code == 2 and words in err


def test_bad_models(noisy: Path, tmp_path: Path, run: Run) -> None:
    code, _, err = run("show", noisy)
    assert code == 5 and "noisy.png" in err and len(err.splitlines()) == 1
    code, _, err = run("show", tmp_path / "none.epitome")
    assert code == 3 and "none.epitome" in err
