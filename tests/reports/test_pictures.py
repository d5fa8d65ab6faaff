"""The images of a report: block means, and the detail that is shown at full resolution."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes.reports.pictures import block_means, busiest_square


@pytest.mark.parametrize("shape", [(7, 11), (12, 9, 3), (5, 5)])
def test_block_means(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    image = rng.standard_normal(shape)
    small = block_means(image, 3)
    for y, x in np.ndindex(*small.shape[:2]):
        block = image[3 * y : 3 * y + 3, 3 * x : 3 * x + 3]
        np.testing.assert_allclose(small[y, x], block.mean(axis=(0, 1)))


def test_the_detail_is_where_something_is() -> None:
    image = np.zeros((100, 130))
    image[45:55, 85:95] = np.eye(10)
    assert busiest_square(image, 40) == (40, 80)
    assert busiest_square(np.zeros((5, 5)), 40) == (0, 0)
