"""The contrast of an image: its standard deviation without noise, without a float64 copy of large images."""

from __future__ import annotations

import numpy as np
import pytest
from restoration_cases import white_noise

from epitomes.restoration import contrast as module
from epitomes.restoration.contrast import contrast, variance


@pytest.mark.parametrize("deviation", [3.0, 10.0])
def test_contrast_is_that_of_the_image_without_noise(deviation: float) -> None:
    waves = np.sin(np.arange(90_000) * 2.4).reshape(300, 300)
    image = deviation * waves / waves.std() + 5 * white_noise(waves.shape)
    assert contrast(image, 5.0) == pytest.approx(deviation, rel=0.05)


def test_at_least_a_tenth_of_the_noise() -> None:
    assert contrast(np.zeros((9, 9)), 5.0) == pytest.approx(0.5)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", ">f4", "int64"])
@pytest.mark.parametrize("slab", [1, 7, 100, 2**24])
def test_variance_slab_by_slab(slab: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLAB", slab)
    values = (100 + 10 * white_noise((9, 11))).astype(dtype)
    for array in (values, values.T, np.asfortranarray(values)):
        assert variance(array) == pytest.approx(float(np.var(values.astype(np.float64))), rel=1e-12)
