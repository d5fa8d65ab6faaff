"""One road: Python, the command line and the estimator give the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from epitomes import denoise, kernels
from epitomes.formats import Picture, read, write

Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")

CASES = {"grey.png": "YX", "colour.png": "YXC", "volume.tif": "ZYX"}


@pytest.fixture(params=CASES)
def picture(request: pytest.FixtureRequest, tmp_path: Path, clean: np.ndarray, rng: np.random.Generator) -> Path:
    axes = CASES[request.param]
    pixels = {
        "YX": clean,
        "YXC": np.stack([clean, 0.7 * clean + 20, 255 - clean], axis=-1),
        "ZYX": np.stack([clean, clean[::-1], clean.T]),
    }[axes]
    noisy = np.clip(np.rint(pixels + 15 * rng.standard_normal(pixels.shape)), 0, 255).astype(np.uint8)
    write(tmp_path / request.param, Picture(noisy, axes))
    return tmp_path / request.param


@pytest.mark.parametrize("sigma", [None, 15.0], ids=["blind", "sigma"])
def test_python_command_line_and_estimator(picture: Path, sigma: float | None, run: Run) -> None:
    goal = picture.with_name(f"clean-{picture.name}")
    options = () if sigma is None else ("--sigma", sigma)
    assert run("denoise", picture, "-o", goal, "--preset", "fast", *options)[0] == 0
    given = read(picture)
    expected = denoise(given.pixels, sigma, channel_axis=given.channel_axis, spatial=given.spatial, preset="fast")
    got = read(goal)
    assert got.axes == given.axes and got.pixels.dtype == np.uint8
    np.testing.assert_array_equal(got.pixels, expected)
    np.testing.assert_array_equal(denoise(given, sigma, preset="fast"), expected)  # and of a Picture
    if given.spatial == 2:
        estimators = pytest.importorskip("epitomes.estimators")
        denoiser = estimators.EpitomeDenoiser(sigma=sigma, preset="fast", channel_axis=given.channel_axis)
        np.testing.assert_array_equal(denoiser.fit_transform(given.pixels), expected)
