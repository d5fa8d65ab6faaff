"""ssim: window by window, against scikit-image, and errors."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes.validation import ssim


def test_window_by_window(rng: np.random.Generator) -> None:
    clean = rng.normal(100, 30, (14, 13))
    image = clean + rng.normal(0, 10, clean.shape)
    offsets = np.arange(-5, 6)
    line = np.exp(-(offsets**2) / (2 * 1.5**2))
    window = np.outer(line, line) / line.sum() ** 2
    values = []
    for y in range(4):
        for x in range(3):
            a, b = clean[y : y + 11, x : x + 11], image[y : y + 11, x : x + 11]
            ma, mb = (window * a).sum(), (window * b).sum()
            va, vb, c = (
                (window * (a - ma) ** 2).sum(),
                (window * (b - mb) ** 2).sum(),
                (window * (a - ma) * (b - mb)).sum(),
            )
            c1, c2 = 2.55**2, 7.65**2
            values.append((2 * ma * mb + c1) * (2 * c + c2) / ((ma**2 + mb**2 + c1) * (va + vb + c2)))
    assert ssim(clean, image) == pytest.approx(np.mean(values), rel=1e-10)


def test_as_scikit_image(rng: np.random.Generator) -> None:
    metrics = pytest.importorskip("skimage.metrics")
    clean = rng.random((40, 30, 3))
    image = clean + 0.1 * rng.standard_normal(clean.shape)
    expected = metrics.structural_similarity(
        clean, image, data_range=1.0, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, channel_axis=-1
    )
    assert ssim(clean, image, peak=1.0, channel_axis=-1) == pytest.approx(expected, rel=1e-6)


def test_bad_images() -> None:
    with pytest.raises(ValueError, match="at least 11 x 11 pixels"):
        ssim(np.zeros((10, 20)), np.zeros((10, 20)))
    with pytest.raises(ValueError, match="the shape of clean"):
        ssim(np.zeros((20, 20)), np.zeros((20, 21)))
    with pytest.raises(ValueError, match="peak"):
        ssim(np.zeros((20, 20)), np.zeros((20, 20)), peak=0.0)
