"""The short scripts that a new user writes first, each as it would be written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from restoration_cases import grey, psnr, with_noise

import epitomes
from epitomes import kernels

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole scripts"),
]

CLEAN = grey("camera", 72)
SIGMA = 20.0
NOISY = with_noise(CLEAN, SIGMA)


def better(found: np.ndarray, clean: np.ndarray = CLEAN, noisy: np.ndarray = NOISY) -> bool:
    return psnr(clean, found) > psnr(clean, noisy) + 2


def test_blind_one_liner() -> None:
    assert better(epitomes.denoise(NOISY))


def test_units_of_one() -> None:
    found = epitomes.denoise((NOISY / 255).astype(np.float32))
    assert found.dtype == np.float32 and better(255.0 * found)
    with pytest.raises(ValueError, match=r"did you mean 0.098 \(25 / 255\)"):
        epitomes.denoise(NOISY / 255, 25)


def test_channel_first() -> None:
    clean = np.stack([CLEAN[:48, :48]] * 3)
    noisy = with_noise(clean, SIGMA)
    found = epitomes.denoise(noisy, SIGMA, channel_axis=0, preset="balanced")
    assert found.shape == (3, 48, 48) and better(found, clean, noisy)


def test_volume() -> None:
    clean = np.stack([CLEAN[:40, :48]] * 4)
    noisy = with_noise(clean, SIGMA)
    assert better(epitomes.denoise(noisy, SIGMA, preset="balanced"), clean, noisy)


def test_mask_and_nan() -> None:
    bad = np.zeros(NOISY.shape, bool)
    bad[20:24, 30:50] = True
    spoiled = np.where(bad, 1e4, NOISY)
    masked = epitomes.denoise(spoiled, SIGMA, mask=bad, fill=True, preset="balanced")
    missing = epitomes.denoise(np.where(bad, np.nan, NOISY), SIGMA, fill=True, preset="balanced")
    assert better(masked) and better(missing)
    np.testing.assert_array_equal(masked, missing)


def test_pipeline_and_grid_search() -> None:
    pipeline = pytest.importorskip("sklearn.pipeline")
    search = pytest.importorskip("sklearn.model_selection")
    from epitomes.estimators import EpitomeDenoiser

    images = np.stack([NOISY[:32, :32], NOISY[32:64, 32:64]])
    clean = np.stack([CLEAN[:32, :32], CLEAN[32:64, 32:64]])
    made = pipeline.make_pipeline(EpitomeDenoiser(sigma=SIGMA, preset="fast"))
    found = made.fit_transform(images)
    assert better(np.asarray(found).reshape(clean.shape), clean, images)

    def score(model: EpitomeDenoiser, rows: np.ndarray, _: object = None) -> float:
        return -float(np.mean((np.asarray(model.transform(rows)).reshape(clean.shape) - clean) ** 2))

    grid = search.GridSearchCV(
        EpitomeDenoiser(preset="fast"),
        {"sigma": [5.0, SIGMA]},
        scoring=score,
        cv=[([0, 1], [0, 1])],
    )
    assert grid.fit(images).best_params_ == {"sigma": SIGMA}


def test_calibration() -> None:
    restoration = pytest.importorskip("skimage.restoration")

    def denoiser(image: np.ndarray, sigma: float = 1.0) -> np.ndarray:
        return epitomes.denoise(image, sigma, preset="fast")

    best = restoration.calibrate_denoiser(NOISY, denoiser, {"sigma": [2.0, SIGMA]})
    assert better(best(NOISY))


def test_plug_and_play() -> None:
    """Deblurring: steps on the data, and denoising as the prior."""
    from scipy.ndimage import gaussian_filter

    blurred = gaussian_filter(CLEAN, 1.5) + np.random.default_rng(0).normal(0, 2, CLEAN.shape)
    found = blurred.copy()
    for _ in range(6):
        found = found + gaussian_filter(blurred - gaussian_filter(found, 1.5), 1.5)
        found = epitomes.denoise(found, 3.0, preset="fast")
    assert psnr(CLEAN, found) > psnr(CLEAN, blurred) + 0.5


def test_save_load_and_resume(tmp_path: Path) -> None:
    from epitomes.coders import Lasso
    from epitomes.learn import load_step, online, run, smooth_noise
    from epitomes.phi import windows

    patches = epitomes.Patches(NOISY, (6, 6))
    start = smooth_noise(windows((16, 16), (6, 6)))
    coder = Lasso(lam=60.0)
    whole = run(online(patches, start, coder=coder, rng=0), max_steps=4)
    run(online(patches, start, coder=coder, rng=0), max_steps=2, checkpoint=tmp_path / "half.step")
    step, history = load_step(tmp_path / "half.step", start.phi)
    resumed = run(online(patches, start, coder=coder, rng=0, after=step), max_steps=4, history=history)
    np.testing.assert_array_equal(resumed.epitome.pixels, whole.epitome.pixels)
    epitomes.save(tmp_path / "my.epitome", whole.epitome)
    loaded = epitomes.load(tmp_path / "my.epitome")
    assert better(epitomes.denoise(NOISY, SIGMA, epitome=loaded))


def test_a_time_limit() -> None:
    assert better(epitomes.denoise(NOISY, SIGMA, time=60.0))
    with pytest.raises(ValueError, match=r"are allowed: allow .* s, or crop or shrink"):
        epitomes.denoise(NOISY, SIGMA, time=1e-6)
