"""The plane of a volume that is judged: its error is that of the volume's method, not of the plane by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from epitomes.restoration import NonLocal, Restored, restore
from epitomes.restoration.diagnosis import report_data
from epitomes.restoration.non_local.volumes import ARRANGEMENTS, name_of
from epitomes.restoration.shown_plane import AROUND, ShownPlane
from epitomes.validation import error_map

SIGMA = 20.0
FLAT = NonLocal(planes="flat", preset="fast")


def waves(shape: tuple[int, ...], channels: int | None = None) -> np.ndarray[Any, Any]:
    """A smooth volume: what its planes share is most of what can be known."""
    z, y, x = np.mgrid[tuple(slice(0, side) for side in shape)]
    clean = 120 + 60 * np.sin(y / 4 + z / 9) * np.cos(x / 5) + 30 * np.sign(np.sin(x / 11 + y / 17))
    return clean if channels is None else np.stack([clean * (1 - 0.2 * k) for k in range(channels)], axis=-1)


def noisy(clean: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return clean + SIGMA * np.random.default_rng(0).standard_normal(clean.shape)


def judged(restored: Restored) -> Any:
    return report_data(restored, name="scan", command="", clip=False, threads=1, callback=None)


def shown(restored: Restored) -> ShownPlane:
    method = restored.plan.method
    return ShownPlane.of(restored.noisy, restored.estimate, restored.noise, restored.layout, method, restored.how)


@pytest.mark.slow
def test_the_error_is_that_of_planes_together() -> None:
    """Within five standard errors of the truth; denoised by itself, the plane would seem to be much worse."""
    clean = waves((14, 110, 110))
    restored = restore(noisy(clean), SIGMA, method=NonLocal(planes="deep"), threads=1)
    true = float(np.mean((restored.image[7] - clean[7]) ** 2))
    standard_error = SIGMA**2 * np.sqrt(2 / clean[7].size)
    assert abs(judged(restored).sure.mse - true) < 5 * standard_error

    plane = replace(shown(restored), slab=None)
    alone = error_map(plane.noisy, plane.image, plane.noise, lambda pixels: plane.denoised(pixels, NonLocal(), 1, None))
    assert alone.sure.mse - true > 8 * standard_error


def test_the_planes_around_it_are_few_and_taken_alike() -> None:
    restored = restore(noisy(waves((40, 24, 24))), SIGMA, method=NonLocal(preset="fast"), threads=1)
    slab = shown(restored).slab
    assert slab is not None and slab.pixels.shape == (2 * AROUND + 1, 24, 24) and slab.at == AROUND
    np.testing.assert_array_equal(slab.pixels[slab.at], restored.noisy[20])
    assert isinstance(slab.method, NonLocal)
    assert ARRANGEMENTS[slab.method.planes].words == restored.how and name_of(restored.how) == slab.method.planes


@pytest.mark.parametrize("channels", [None, 2, 3])
def test_a_plane_is_denoised_as_it_was(channels: int | None) -> None:
    """The slab is the whole of a short volume, so its answer to the same noise is the estimate, to rounding."""
    image = noisy(waves((8, 24, 30), channels))
    restored = restore(image, SIGMA, method=FLAT, channel_axis=None if channels is None else -1, threads=1)
    plane = shown(restored)
    assert plane.slab is not None
    kept = plane.slab.pixels.copy()
    found = plane.denoised(plane.noisy, FLAT, 1, None)
    np.testing.assert_allclose(found, plane.image, atol=1e-3)
    np.testing.assert_array_equal(plane.slab.pixels, kept)


def test_planes_that_were_denoised_by_themselves() -> None:
    image = noisy(waves((6, 24, 24)))
    for method in (NonLocal(planes="single", preset="fast"), "paper"):
        restored = restore(image, SIGMA, method=method, threads=1)
        assert shown(restored).slab is None and "plane by plane" in shown(restored).notes[-1]


@pytest.mark.slow
def test_time_points_together_are_not_judged() -> None:
    series = np.stack([waves((6, 24, 24))] * 3)
    method = NonLocal(planes="flat", preset="fast", times="joined")
    restored = restore(noisy(series), SIGMA, method=method, spatial=3, threads=1)
    assert "together" in restored.how
    found = judged(restored)
    assert found.sure is None and "time points were denoised together" in found.notes[-1]


@pytest.mark.slow
def test_planes_with_many_others_are_not_judged() -> None:
    restored = restore(noisy(waves((40, 24, 24))), SIGMA, method=NonLocal(planes="shared", preset="fast"), threads=1)
    found = judged(restored)
    assert found.sure is None and "many planes or time points were denoised together" in found.notes[-1]


def test_words_name_an_arrangement() -> None:
    for name, each in ARRANGEMENTS.items():
        assert name_of(each.words) == name_of(f"each time point by itself, {each.words}") == name
    assert name_of("each plane by itself: as asked for") is None
