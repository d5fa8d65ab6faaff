"""The methods one by one: the same by the specification of the kernels, their settings, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from restoration_cases import psnr, shipped_picture, whole_methods, with_noise

from epitomes import denoise, kernels
from epitomes.baselines import BM3D, LSSC, METHODS, WNNM, Baseline, NLBayes, NLRidge, Scene
from epitomes.baselines.lssc import natural_dictionary
from epitomes.groups import LowRank, Matching, estimate

SIGMA = 25.0
PIECE = shipped_picture()[100:122, 84:108]


@whole_methods
@pytest.mark.parametrize(
    "method",
    [BM3D(search_radius=6), BM3D(peak=50.0, search_radius=6), NLBayes(stride=3), NLRidge(search_radius=6)],
    ids=repr,
)
def test_the_specification_gives_the_same(method: Baseline, monkeypatch: pytest.MonkeyPatch) -> None:
    noisy = with_noise(PIECE, SIGMA)
    native = denoise(noisy, SIGMA, method=method)
    monkeypatch.setattr(kernels, "isa", "reference")
    np.testing.assert_allclose(denoise(noisy, SIGMA, method=method), native, atol=0.02)


@whole_methods
def test_one_round_of_wnnm_is_a_low_rank_estimate() -> None:
    noisy = with_noise(PIECE, SIGMA)
    found = denoise(noisy, SIGMA, method=WNNM(peak=255.0, rounds=1, search_radius=8, stride=3))
    matching = Matching(patch=(1, 7, 7), search_radius=(0, 8, 8), stride=(1, 3, 3), group_size=80)
    planar = ((noisy - noisy.mean()) / SIGMA).astype(np.float32)[None, None]
    low = estimate(planar, matching=matching, shrinker=LowRank(strength=1.8), level=1.0)
    np.testing.assert_allclose(found, SIGMA * low[0, 0].astype(np.float64) + noisy.mean(), atol=1e-3)


@whole_methods
def test_profiles_follow_the_noise() -> None:
    """The same picture called dark has stronger noise relative to white, and other settings."""
    noisy = with_noise(PIECE, SIGMA)
    for kind in (BM3D, LSSC, NLBayes, NLRidge):
        bright, dark = (denoise(noisy, SIGMA, method=kind(peak=peak)) for peak in (255.0, 100.0))
        assert np.abs(bright - dark).max() > 0.1, kind.label


@whole_methods
def test_a_second_step_gains() -> None:
    clean = shipped_picture()[64:160, 64:160]
    noisy = with_noise(clean, SIGMA)
    found = {name: psnr(clean, denoise(noisy, SIGMA, method=METHODS[name]())) for name in ("bm3d", "nl-ridge")}
    planar = ((noisy - noisy.mean()) / SIGMA).astype(np.float32)[None, None]
    one = estimate(planar, matching=Matching(patch=(1, 8, 8), group_size=16), shrinker=LowRank(), level=1.0)
    assert min(found.values()) > psnr(clean, SIGMA * one[0, 0] + noisy.mean()) + 0.2


@whole_methods
def test_equal_channels_stay_equal() -> None:
    piece = PIECE[:20, :20]
    noisy = with_noise(piece, SIGMA)
    found = denoise(np.repeat(noisy[..., None], 3, axis=-1), SIGMA, method=BM3D(), channel_axis=-1)
    assert np.ptp(found, axis=-1).max() < 1e-3


def test_groups_of_colours_are_found_on_their_mean() -> None:
    """The lightness is longer than the mean of three channels by the root of three; its noise has the same level."""
    planes = np.zeros((3, 1, 8, 8), np.float32)
    assert Scene(planes, 30.0, turned=True).lightness_sigma == pytest.approx(30.0 / np.sqrt(3))
    assert Scene(planes, 30.0).lightness_sigma == 30.0


@whole_methods
def test_colours_help_each_other() -> None:
    piece = shipped_picture()[64:112, 64:112]
    clean = np.stack([piece, 0.9 * piece + 20, 0.8 * piece], axis=-1)
    noisy = with_noise(clean, SIGMA)
    together = denoise(noisy, SIGMA, method=BM3D(peak=255.0), channel_axis=-1)
    apart = np.stack([denoise(noisy[..., c], SIGMA, method=BM3D(peak=255.0)) for c in range(3)], axis=-1)
    assert psnr(clean, together) > psnr(clean, apart) + 1.0


def test_the_first_dictionary_of_lssc() -> None:
    epitome = natural_dictionary(9, 100)
    assert epitome.dictionary.atoms.shape == (100, 81)
    assert np.ptp(epitome.dictionary.atoms, axis=1).min() > 0
    assert len(np.unique(epitome.dictionary.atoms, axis=0)) == 100


def test_progress_of_a_part() -> None:
    told: list[tuple[float, str]] = []
    scene = Scene(
        np.zeros((1, 1, 8, 8), np.float32), 25.0, callback=lambda fraction, stage: told.append((fraction, stage))
    )
    advance = scene.advance("second half", 0.5, 1.0)
    assert advance is not None
    advance(0.5)
    assert told == [(0.75, "second half")]


@pytest.mark.parametrize(
    ("kind", "settings", "error", "text"),
    [
        (BM3D, {"threshold": -1.0}, ValueError, "threshold"),
        (BM3D, {"stride": 0}, ValueError, "stride"),
        (BM3D, {"search_radius": 0}, ValueError, "search_radius"),
        (NLBayes, {"flat": -1.0}, ValueError, "flat"),
        (NLBayes, {"stride": 1.5}, TypeError, "stride"),
        (NLRidge, {"extra": 0.0}, ValueError, "extra"),
        (WNNM, {"rounds": 0}, ValueError, "rounds"),
        (WNNM, {"feedback": 1.5}, ValueError, "feedback is a share of the residual, at most 1, got 1.5"),
        (WNNM, {"strength": np.nan}, ValueError, "strength"),
        (NLRidge, {"affine": "no"}, TypeError, "affine must be True or False, got 'no'"),
        (LSSC, {"n_atoms": 1}, ValueError, "n_atoms"),
        (LSSC, {"n_atoms": 1.5}, TypeError, "n_atoms"),
        (LSSC, {"bound": 0.0}, ValueError, "bound"),
        (LSSC, {"threshold": -0.1}, ValueError, "threshold"),
    ],
)
def test_bad_settings(kind: Any, settings: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        kind(**settings)
