"""Epitome: pixels that nobody else can change, and codes of whole images."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from epitomes import Epitome, Patches
from epitomes.coders import OLS
from epitomes.phi import windows

PHI = windows((12, 12), (4, 4))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_the_callers_array_can_change(dtype: type) -> None:
    given = (100 * np.random.default_rng(0).standard_normal((12, 12))).astype(dtype)
    epitome = Epitome(given, PHI)
    before, atoms = epitome.pixels.copy(), epitome.dictionary.atoms.copy()
    given[:] = 7
    np.testing.assert_array_equal(epitome.pixels, before)
    np.testing.assert_array_equal(epitome.phi(epitome.pixels), atoms)


def test_a_read_only_view_of_the_callers_array_is_copied_too() -> None:
    given = np.random.default_rng(0).standard_normal((12, 12))
    view = given.view()
    view.flags.writeable = False
    epitome = Epitome(view, PHI)
    before = epitome.pixels.copy()
    given[:] = 7
    np.testing.assert_array_equal(epitome.pixels, before)


def test_pixels_are_read_only_and_shared_from_then_on() -> None:
    given = np.random.default_rng(0).standard_normal((12, 12))
    epitome = Epitome(given, PHI)
    with pytest.raises(ValueError, match="read-only"):
        epitome.pixels[0, 0] = 1.0
    assert given.flags.writeable
    assert Epitome(epitome.pixels, PHI).pixels is epitome.pixels


def test_copies_have_the_pixels() -> None:
    epitome = Epitome(np.random.default_rng(0).standard_normal((12, 12)), PHI)
    for twin in (copy.deepcopy(epitome), pickle.loads(pickle.dumps(epitome))):  # noqa: S301
        np.testing.assert_array_equal(twin.pixels, epitome.pixels)
        assert not twin.pixels.flags.writeable


def test_encode_stops_at_the_noise() -> None:
    """Every code leaves at most m (C sigma)^2 of its patch, and with one atom less it would leave more."""
    rng = np.random.default_rng(1)
    epitome, sigma = Epitome(rng.standard_normal((12, 12)), PHI), 5.0
    image = 40 * rng.standard_normal((20, 20)).cumsum(axis=0)
    codes, rows = epitome.encode(image, sigma), Patches(image, (4, 4)).rows(0, 17 * 17)[0]
    bound = 16 * (1.15 * sigma) ** 2
    assert codes.shape == (17 * 17, 81)
    assert (np.sum((rows - codes @ epitome.dictionary.atoms) ** 2, axis=1) <= bound * (1 + 1e-9)).all()
    counts = np.diff(codes.indptr)
    for number in np.flatnonzero(counts > 1)[:20]:
        fewer = OLS(n_nonzero=int(counts[number]) - 1).encode(rows[number : number + 1], epitome.dictionary)
        assert np.sum((rows[number] - fewer @ epitome.dictionary.atoms) ** 2) > bound


def test_encode_refuses_images_without_such_patches() -> None:
    epitome = Epitome(np.random.default_rng(1).standard_normal((12, 12)), PHI)
    for shape in ((20,), (20, 20, 3)):
        with pytest.raises(ValueError, match="use an image with 2 axes"):
            epitome.encode(np.ones(shape), 1.0)
    with pytest.raises(ValueError, match="sigma must be"):
        epitome.encode(np.ones((20, 20)), 0.0)
