"""Drawings of epitomes: one scale for all pictures, every pixel in its place, uses counted another way."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes import Epitome, Patches
from epitomes.coders import Lasso
from epitomes.draw import dictionary_picture, epitome_picture, usage_picture
from epitomes.draw.epitomes import pixel_uses
from epitomes.phi import union, windows


def epitome_of(rng: np.random.Generator, shape: tuple[int, ...], patch: tuple[int, ...]) -> Epitome:
    return Epitome(rng.standard_normal(shape), windows(shape, patch))


def test_one_epitome_keeps_the_order_of_its_values(rng: np.random.Generator) -> None:
    epitome = epitome_of(rng, (12, 10), (4, 4))
    drawn = epitome_picture(epitome, enlarge=3)
    assert drawn.shape == (36, 30) and drawn.dtype == np.uint8
    greys = drawn[1::3, 1::3].reshape(-1)[np.argsort(epitome.pixels.reshape(-1))]
    assert (np.diff(greys.astype(int)) >= 0).all()
    np.testing.assert_array_equal(drawn[::3, ::3], drawn[2::3, 2::3])  # squares


def test_several_share_one_scale(rng: np.random.Generator) -> None:
    pixels = np.stack([np.full((9, 9), value) for value in (-1.0, 0.0, 1.0, 3.0)])
    drawn = epitome_picture(Epitome(pixels, windows(pixels.shape, (4, 4))), enlarge=1)
    tiles = [drawn[:9, :9], drawn[:9, -9:], drawn[-9:, :9], drawn[-9:, -9:]]
    assert [int(tile[4, 4]) for tile in tiles] == [0, 64, 128, 255]  # (value + 1) / 4 of 255
    assert all((tile == tile[0, 0]).all() for tile in tiles)
    assert (drawn[9, :] == 255).all() and (drawn[:, 9] == 255).all()  # the gaps


@pytest.mark.parametrize(
    ("shape", "patch", "channels"),
    [((20, 15, 15), (8, 8), ()), ((16, 16, 3), (6, 6, 3), (3,)), ((2, 16, 16, 3), (6, 6, 3), (3,)), ((40,), (8,), ())],
)
def test_shapes(rng: np.random.Generator, shape: tuple[int, ...], patch: tuple[int, ...], channels: object) -> None:
    drawn = epitome_picture(epitome_of(rng, shape, patch))
    assert drawn.dtype == np.uint8 and drawn.shape[2:] == channels
    assert 200 < drawn.shape[1] < 900


def test_volumes_and_unions_are_drawn_slice_by_slice(rng: np.random.Generator) -> None:
    volume = epitome_picture(epitome_of(rng, (9, 12, 12), (4, 6, 6)), enlarge=1)
    assert volume.shape == (12 * 3 + 2, 12 * 3 + 2)
    phi = union(windows((10, 10), (4, 4)), windows((6, 8), (4, 4)))
    drawn = epitome_picture(Epitome(rng.standard_normal(phi.epitome_shape), phi), enlarge=1)
    assert drawn.size >= 100 + 48


def test_dictionary_shows_atoms_in_order(rng: np.random.Generator) -> None:
    epitome = epitome_of(rng, (6, 6), (4, 4))
    drawn = dictionary_picture(epitome.dictionary, (4, 4), columns=3, enlarge=1)
    assert drawn.shape == (3 * 4 + 2, 3 * 4 + 2)
    flat = np.concatenate([drawn[5 * i : 5 * i + 4, 5 * j : 5 * j + 4].reshape(-1) for i in range(3) for j in range(3)])
    order = np.argsort(epitome.dictionary.atoms.reshape(-1))
    assert (np.diff(flat[order].astype(int)) >= 0).all()
    with pytest.raises(ValueError, match="25 pixels"):
        dictionary_picture(epitome.dictionary, (5, 5))


def test_uses_are_counted(rng: np.random.Generator) -> None:
    epitome = epitome_of(rng, (8, 9), (4, 4))
    patches = Patches(rng.standard_normal((12, 12)), (4, 4))
    codes = Lasso(lam=0.5).encode(patches, epitome.dictionary)
    expected = np.zeros((8, 9))
    places = [(i, j) for i in range(5) for j in range(6)]
    for atom in codes.indices:  # one by one, by the geometry of the windows
        i, j = places[atom]
        expected[i : i + 4, j : j + 4] += 1
    np.testing.assert_allclose(pixel_uses(epitome, codes), expected)
    drawn = usage_picture(epitome, codes, enlarge=1)
    assert drawn.shape == (8, 9, 3)
    most = np.unravel_index(np.argmax(expected), expected.shape)
    assert drawn[most].sum() == drawn.sum(axis=2).max()
    with pytest.raises(ValueError, match="30 atoms"):
        usage_picture(epitome_of(rng, (8, 8), (4, 4)), codes)
