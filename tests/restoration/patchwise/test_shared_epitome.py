"""Patchwise.learn and can_share: one epitome for several pictures."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes.learn import natural, smooth_noise
from epitomes.phi import windows
from epitomes.restoration import Patchwise, Recipe
from epitomes.restoration.patchwise.recipe import stacked_patches

COLOUR = natural(windows((20, 15, 15, 3), (8, 8, 3)))


def test_no_patch_crosses_a_seam(rng: np.random.Generator) -> None:
    stack = rng.standard_normal((3, 9, 11))
    patches = stacked_patches(stack, smooth_noise(windows((8, 8), (4, 5))))
    rows, means = patches.rows(0, len(patches))
    apart = np.concatenate([np.lib.stride_tricks.sliding_window_view(one, (4, 5)).reshape(-1, 20) for one in stack])
    np.testing.assert_allclose(rows + means[:, None], apart, atol=1e-12)


@pytest.mark.parametrize("method", [Patchwise(), Patchwise(recipe=Recipe(n_steps=2))], ids=repr)
def test_from_one_picture_it_is_the_epitome_of_that_picture(method: Patchwise, rng: np.random.Generator) -> None:
    image = 100 * rng.random((30, 24)).cumsum(axis=0)
    assert method.can_share(image[None], 5.0)
    found, expected = method.learn(image[None], 5.0, seed=3), method.run(image, 5.0, seed=3).fit
    assert expected is not None
    np.testing.assert_array_equal(found.epitome.pixels, expected.epitome.pixels)
    assert [step.objective for step in found.history] == [step.objective for step in expected.history]


@pytest.mark.parametrize(
    ("method", "shape", "sigma", "expected"),
    [
        (Patchwise(), (2, 16, 16), 1.0, True),
        (Patchwise(), (2, 40), 1.0, True),  # signals
        (Patchwise(), (2, 16, 16, 3), 1.0, False),  # channels one by one
        (Patchwise(), (2, 9, 16, 16), 1.0, False),  # planes of a volume one by one
        (Patchwise(), (2, 16, 16), 200.0, False),  # strong noise: three scales
        (Patchwise(multiscale=True), (2, 16, 16), 1.0, False),
        (Patchwise(multiscale=False), (2, 16, 16), 200.0, True),
        (Patchwise(recipe=Recipe()), (2, 16, 16), 200.0, True),
        (Patchwise(recipe=Recipe(start=COLOUR)), (2, 16, 16, 3), 1.0, True),
        (Patchwise(epitome=COLOUR), (2, 16, 16, 3), 1.0, False),  # nothing to learn
    ],
)
def test_where_an_epitome_can_be_shared(
    method: Patchwise, shape: tuple[int, ...], sigma: float, expected: bool, rng: np.random.Generator
) -> None:
    assert method.can_share(10 * rng.standard_normal(shape), sigma) is expected
