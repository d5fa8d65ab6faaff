"""Learning with missing pixels: the objective of known ones falls, and missing values do not matter."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from epitomes import demo, learn_epitome
from epitomes.coders import Lasso
from epitomes.learn import alternate, smooth_noise
from epitomes.learn.missing import known_rows
from epitomes.phi import windows

PHI = windows((12, 12), (5, 5))
LAM = 20.0


@pytest.fixture
def image() -> np.ndarray:
    return demo.shipped_picture()[60:100, 90:130].astype(np.float64)


def test_the_objective_of_known_pixels_falls(image: np.ndarray, rng: np.random.Generator) -> None:
    missing = rng.random(image.shape) < 0.4
    rows, known = known_rows(np.where(missing, 0, image), missing, (5, 5), None, 0)
    np.testing.assert_allclose((rows * known).sum(axis=1), 0, atol=1e-9)
    coder, costs = Lasso(lam=LAM, tol=1e-6), []
    steps = alternate(rows, smooth_noise(PHI), coder=coder, mask=known)
    for _ in range(5):
        epitome = next(steps).epitome
        atoms = epitome.dictionary.atoms
        codes = coder.encode(rows, epitome.dictionary, mask=known)
        error = np.where(known, rows - codes @ atoms, 0)
        costs.append(0.5 * (error**2).sum() + LAM * (abs(codes) @ np.linalg.norm(atoms, axis=1)).sum())
    assert all(later < earlier for earlier, later in pairwise(costs))


def test_nothing_missing_is_plain_learning(image: np.ndarray) -> None:
    given: dict[str, Any] = {"epitome_shape": 12, "patch_shape": 5, "lam": LAM, "start": "noise", "n_steps": 2}
    plain, masked = (learn_epitome(image, mask=mask, **given) for mask in (None, np.zeros(image.shape, np.bool_)))
    np.testing.assert_allclose(masked.epitome.pixels, plain.epitome.pixels, rtol=1e-3, atol=1e-4)


def test_missing_values_do_not_matter(image: np.ndarray, rng: np.random.Generator) -> None:
    missing = rng.random(image.shape) < 0.3
    given: dict[str, Any] = {"epitome_shape": 12, "patch_shape": 5, "lam": LAM, "start": "noise", "n_steps": 2}
    one, other = (
        learn_epitome(np.where(missing, value, image), mask=missing, sample=200, **given).epitome.pixels
        for value in (np.nan, 1e6)
    )
    np.testing.assert_array_equal(one, other)


def test_colours(image: np.ndarray, rng: np.random.Generator) -> None:
    missing = rng.random(image.shape) < 0.3
    fit = learn_epitome(
        np.stack([image, 255 - image, image]),
        mask=missing,
        channel_axis=0,
        epitome_shape=9,
        patch_shape=4,
        lam=LAM,
        start="noise",
        n_steps=1,
    )
    assert fit.epitome.pixels.shape == (9, 9, 3)


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        ({"mask": np.zeros((3, 3), np.bool_)}, ValueError, r"mask needs shape \(40, 40\), as the image, got \(3, 3\)"),
        ({"mask": np.zeros((40, 40))}, TypeError, "booleans or integers"),
        ({"mask": np.ones((40, 40), np.bool_)}, ValueError, "no patch .* has 25% of its pixels known: use smaller"),
        ({"mask": np.zeros((40, 40), np.bool_), "online": True}, ValueError, "leave out online and n_scales"),
        ({"mask": np.zeros((40, 40), np.bool_), "images": [np.zeros((40, 40))]}, ValueError, "a single image"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_refused(changed: dict[str, Any], error: type[Exception], text: str, image: np.ndarray) -> None:
    given = {"images": image, "epitome_shape": 12, "patch_shape": 5, "lam": LAM, "start": "noise"} | changed
    with pytest.raises(error, match=text):
        learn_epitome(given.pop("images"), **given)


def test_masks_are_for_rows(image: np.ndarray) -> None:
    from epitomes import Patches

    with pytest.raises(TypeError, match="mask needs patches as rows"):
        alternate(Patches(image, (5, 5)), smooth_noise(PHI), coder=Lasso(lam=LAM), mask=np.ones((1296, 25), np.bool_))
