"""Fluxes: the local mean of the residual comes back to objects on a flat background, and to nothing else."""

from __future__ import annotations

import numpy as np
from skimage import data

from epitomes.noise.planes import Floats
from epitomes.restoration.flux import is_field, with_fluxes


def spots() -> Floats:
    y, x = np.mgrid[0:96, 0:96]
    places = ((20, 20), (70, 30), (40, 75))
    return sum(30 * np.exp(-((y - a) ** 2 + (x - b) ** 2) / 8) for a, b in places)


def test_lost_flux_comes_back(rng: np.random.Generator) -> None:
    clean = spots()
    noisy = clean + rng.standard_normal(clean.shape)
    dimmed = 0.9 * clean
    kept = with_fluxes(noisy, dimmed, 1.0)
    around = np.hypot(*(np.mgrid[0:96, 0:96] - np.reshape([20, 20], (2, 1, 1)))) < 8
    lost, left = ((clean - image)[around].sum() for image in (dimmed, kept))
    assert abs(left) < 0.35 * lost
    far = clean < 1e-12
    np.testing.assert_array_equal(kept[far], dimmed[far])
    assert dimmed.max() == 0.9 * clean.max()  # the input is not changed


def test_pictures_are_left_alone(rng: np.random.Generator) -> None:
    picture = data.camera()[100:196, 100:196].astype(np.float64)
    for sigma in (5.0, 50.0, 200.0):
        assert with_fluxes(picture + sigma * rng.standard_normal(picture.shape), picture, sigma) is picture


def test_what_a_field_is() -> None:
    assert is_field(spots(), 1.0)
    assert not is_field(-spots(), 1.0)  # dark objects, as text is
    assert not is_field(np.zeros((64, 64)), 1.0)
    slope = np.add.outer(np.zeros(96), np.arange(96.0))
    assert not is_field(spots() + 0.2 * slope, 1.0)
    colours = np.repeat(spots()[..., None], 3, axis=-1)
    assert with_fluxes(colours, colours, 1.0) is colours
