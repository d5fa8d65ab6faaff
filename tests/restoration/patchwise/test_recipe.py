"""Recipes: in units of the noise, as long as the noise allows, and from a shipped start unless one is given."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from learn_cases import texture
from restoration_cases import with_noise

from epitomes.learn import natural, smooth_noise
from epitomes.phi import windows
from epitomes.restoration import Recipe

SIGMA = 20.0
NOISY = with_noise(texture((48, 52), noise=0.0), SIGMA)


@pytest.mark.parametrize("shape", [(42, 42), (20, 15, 15)], ids=["E", "IE"])
def test_recipes_are_in_units_of_sigma(shape: tuple[int, ...]) -> None:
    recipe = Recipe(epitome_shape=shape)
    one, other = recipe.settle(NOISY, SIGMA), recipe.settle(257 * NOISY, 257 * SIGMA)
    assert one.lam == pytest.approx(4.5 * SIGMA) and other.lam == pytest.approx(257 * one.lam)
    assert (one.n_steps, one.batch, one.forget) == (other.n_steps, other.batch, other.forget)
    np.testing.assert_array_equal(one.start.pixels, natural(windows(shape, (8, 8))).pixels)
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="sigma must be a finite number > 0"):
            recipe.settle(NOISY, wrong)


def test_lambda_is_given_or_a_multiple_of_sigma() -> None:
    assert Recipe(lam=7.0).settle(NOISY, SIGMA).lam == 7.0
    assert Recipe(lam_per_sigma=3.0).settle(NOISY, SIGMA).lam == pytest.approx(60.0)


@pytest.mark.parametrize(("side", "deviation"), [(64, 0.5), (64, 1.2), (64, 5.0), (400, 1.3), (1000, 9.0)])
def test_passes_follow_the_noise(side: int, deviation: float) -> None:
    """`1 / s^3` passes over the patches, from 1 to `n_passes`, and no more steps than 300 x 300 pixels take."""
    waves = np.sin(np.arange(side * side) * 2.4).reshape(side, side)
    image = with_noise(deviation * waves / waves.std(), 1.0)
    passes = min(3.0, max(1.0, deviation**3))
    expected = min(passes * side**2, 3 * 300**2) / 4096
    assert Recipe().settle(image, 1.0).n_steps == pytest.approx(max(1, expected), rel=0.1, abs=1)
    assert Recipe(n_steps=5).settle(image, 1.0).n_steps == 5


def test_the_start_is_used() -> None:
    start = smooth_noise(windows((16, 16), (6, 6)))
    assert Recipe(start=start).settle(NOISY, SIGMA).start is start
    assert Recipe(start=start).initial is start


@pytest.mark.parametrize(
    "wrong",
    [
        {"lam": 0.0},
        {"lam_per_sigma": 0.0},
        {"n_passes": 0.0},
        {"n_steps": 0},
        {"batch": 0},
        {"forget": -1.0},
        {"epitome_shape": (0, 5)},
    ],
)
def test_wrong_numbers(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        dataclasses.replace(Recipe(), **wrong)


def test_a_start_is_an_epitome() -> None:
    with pytest.raises(TypeError, match="start must be an Epitome, got ndarray"):
        Recipe(start=NOISY)  # type: ignore[arg-type]
