"""Grain that is put back: the formula, the dtype, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes.restoration.grain import put_back


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, np.float32, np.float64])
def test_the_dtype_is_kept(dtype: type, rng: np.random.Generator) -> None:
    noisy, restored = (rng.integers(0, 256, (9, 7, 3)).astype(dtype) for _ in range(2))
    before = noisy.copy()
    np.testing.assert_array_equal(put_back(noisy, restored, 0.0), restored)
    np.testing.assert_array_equal(put_back(noisy, restored, 1.0), noisy)
    found = put_back(noisy, restored, 0.3)
    assert found.dtype == dtype
    expected = 0.3 * noisy.astype(float) + 0.7 * restored.astype(float)
    np.testing.assert_allclose(found, expected, atol=0.5 if np.dtype(dtype).kind in "iu" else 1e-4)
    np.testing.assert_array_equal(noisy, before)


@pytest.mark.parametrize("share", [-0.1, 1.1, np.nan])
def test_refused(share: float) -> None:
    with pytest.raises(ValueError, match="share must be"):
        put_back(np.ones(4), np.zeros(4), share)
    with pytest.raises(ValueError, match=r"same shape, got \(4,\) and \(5,\)"):
        put_back(np.ones(4), np.zeros(5), 0.5)
