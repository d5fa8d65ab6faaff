"""Tiny images, and a denoiser that takes no time and scales its input."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from epitomes import restoration
from epitomes.paper.photos import Photo, Photos
from epitomes.paper.printed import PICTURES


@pytest.fixture
def six() -> Photos:
    """Six small images in place of the paper's."""
    rng = np.random.default_rng(0)
    return Photos(
        tuple(Photo(name, (255 * rng.random((24, 24))).astype(np.float32), "given", True) for name in PICTURES)
    )


@pytest.fixture
def three() -> Photos:
    """Three images that are not the paper's."""
    y, x = np.mgrid[:64, :64]
    scenes = {
        "camera": 127 + 100 * np.sin(x / 5 + y / 9),
        "coins": 60 + 120 * ((x // 8 + y // 8) % 2),
        "brick": 2.0 * x + y,
    }
    return Photos(
        tuple(Photo(name, pixels.astype(np.float32), "scikit-image", False) for name, pixels in scenes.items()),
        ("These are stand-ins.",),
    )


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, int, int]]:
    """Replace denoising; the list receives sigma, number of steps and seed of every call. Baselines have no steps."""
    seen: list[tuple[float, int, int]] = []

    def fake(noisy, sigma, *, method, rng=0, threads=None):  # type: ignore[no-untyped-def]
        recipe = getattr(method, "recipe", None)
        seen.append((sigma, 0 if recipe is None else recipe.settle(noisy, sigma).n_steps, rng))
        return SimpleNamespace(image=0.9 * noisy, seconds=0.25)

    monkeypatch.setattr(restoration, "restore", fake)
    return seen


@pytest.fixture
def told() -> tuple[list[str], Callable[[str], None]]:
    lines: list[str] = []
    return lines, lines.append
