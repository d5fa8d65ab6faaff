"""Epitomes and dictionaries can be copied after they were used, though their prepared engines cannot."""

from __future__ import annotations

import copy

import numpy as np

from epitomes import Epitome
from epitomes.coders import OMP
from epitomes.phi import windows


def test_a_used_epitome_is_copied_with_its_pixels_and_codes_alike() -> None:
    random = np.random.default_rng(0)
    epitome = Epitome(random.standard_normal((12, 12)), windows((12, 12), (4, 4)))
    rows = random.standard_normal((5, 16))
    codes = OMP(n_nonzero=3).encode(rows, epitome.dictionary)
    for twin in (copy.deepcopy(epitome), copy.copy(epitome)):
        np.testing.assert_array_equal(twin.pixels, epitome.pixels)
        assert (OMP(n_nonzero=3).encode(rows, twin.dictionary) != codes).nnz == 0


def test_a_used_dictionary_is_copied_with_its_pictures() -> None:
    epitome = Epitome(np.random.default_rng(1).standard_normal((12, 12)), windows((12, 12), (4, 4)))
    dictionary = epitome.dictionary
    assert dictionary.engine is not None
    twin = copy.deepcopy(dictionary)
    np.testing.assert_array_equal(twin.atoms, dictionary.atoms)
    assert twin.patch_shape == dictionary.patch_shape and twin.pictures is not None
