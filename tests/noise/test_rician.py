"""Rician noise: the transform, its inverse and the moments by Monte Carlo and quadrature; its level, found blind."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import rice

from epitomes import Noise, audit, denoise, estimate_noise, restore
from epitomes.noise import _rician
from epitomes.noise.planes import Floats
from epitomes.noise.rician import air_of
from epitomes.validation import psnr

SIGNALS = (0.0, 0.3, 1.0, 2.0, 4.0, 7.0, 13.0, 20.0, 300.0)
ONE = np.ones(())


def magnitudes(signal: float, n: int = 200_000) -> Floats:
    noise = np.random.default_rng(3).standard_normal((2, n))
    return np.hypot(signal + noise[0], noise[1])


@pytest.mark.parametrize("signal", SIGNALS[:6])
def test_the_density_is_that_of_scipy(signal: float) -> None:
    z = np.linspace(0.01, signal + 6, 50)
    np.testing.assert_allclose(_rician.density(z, signal), rice.pdf(z, signal), rtol=1e-9)


@pytest.mark.parametrize("signal", SIGNALS)
def test_the_deviation_of_a_magnitude(signal: float) -> None:
    assert _rician.deviation(np.asarray(2 * signal), np.asarray(2.0)) == pytest.approx(
        2 * magnitudes(signal).std(), rel=6e-3
    )


@pytest.mark.parametrize("signal", SIGNALS)
def test_the_transform_has_deviation_one_for_every_signal(signal: float) -> None:
    assert _rician.forward(magnitudes(signal), ONE).std() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("signal", SIGNALS)
def test_the_inverse_has_no_bias(signal: float) -> None:
    """The mean of the transform, by Monte Carlo, comes back as the signal."""
    values = _rician.forward(magnitudes(signal), ONE)
    error = 4 / np.sqrt(values.size)
    assert _rician.expected(np.asarray(signal), ONE) == pytest.approx(values.mean(), abs=error)
    back = _rician.inverse(np.asarray(_rician.expected(np.asarray(signal), ONE)), ONE)
    assert back == pytest.approx(signal, abs=2e-3)


@pytest.mark.parametrize("signal", [0.5, 3.0, 14.5])
def test_the_mean_by_quadrature(signal: float) -> None:
    def weighted(z: float) -> float:
        return float(_rician.forward(np.asarray(z), ONE) * rice.pdf(z, signal))

    whole, _ = quad(weighted, max(0, signal - 9), signal + 9, limit=200, epsabs=1e-5, epsrel=1e-5)
    assert _rician.expected(np.asarray(signal), ONE) == pytest.approx(whole, abs=2e-3)


def test_the_transform_grows_and_is_continuous() -> None:
    z = np.linspace(0, 30, 30_001)
    f = _rician.forward(z, ONE)
    assert (np.diff(f) > 0).all() and np.diff(f).max() < 0.006
    nu = np.linspace(0, 30, 3001)
    means = _rician.expected(nu, ONE)
    assert (np.diff(means) > 0).all()
    np.testing.assert_allclose(_rician.inverse(means, ONE), nu, atol=2e-3)


def test_means_below_those_of_air_are_no_signal() -> None:
    assert _rician.inverse(np.asarray(-1.0), ONE) == 0 and _rician.forward(np.asarray(-3.0), ONE) == 0


def scan(sigma: float) -> tuple[Floats, Floats]:
    """A body in air, and its magnitudes."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[-1:1:128j, -1:1:128j]
    clean = np.where(x**2 / 0.6 + y**2 / 0.5 < 1, 150 + 60 * np.sin(5 * x) * np.cos(4 * y), 0.0)
    noise = sigma * rng.standard_normal((2, *clean.shape))
    return clean, np.hypot(clean + noise[0], noise[1])


@pytest.mark.parametrize("sigma", [6.0, 15.0])
def test_air_and_signal_show_it(sigma: float) -> None:
    _, noisy = scan(sigma)
    for found in (estimate_noise(noisy), estimate_noise(noisy, model="rician"), estimate_noise(np.rint(noisy))):
        assert found.magnitude and found.level == pytest.approx(sigma, rel=0.04)
        assert found.interval is not None and found.interval[0] <= sigma <= found.interval[1]


def test_the_level_without_air() -> None:
    _, noisy = scan(15.0)
    inside = noisy[38:90, 34:94]
    assert air_of(inside) is None and not estimate_noise(inside).magnitude
    assert estimate_noise(inside, model="rician").level == pytest.approx(15, rel=0.1)


def test_air_alone_is_a_doubt() -> None:
    rng = np.random.default_rng(1)
    air = np.hypot(*rng.standard_normal((2, 128, 128)))
    air[:, 60:] += 150 + 20 * rng.standard_normal((128, 68))  # beside it, noise of another level
    found = estimate_noise(air)
    assert not found.magnitude and "rician" in found.doubt_kinds


@pytest.mark.parametrize("kind", ["counts", "negative", "clipped", "folded"])
def test_what_is_no_magnitude(kind: str) -> None:
    rng, (clean, _) = np.random.default_rng(0), scan(1.0)
    gaussian = clean + 10 * rng.standard_normal(clean.shape)
    image = {
        "counts": rng.poisson(clean / 20 + 3.6).astype(float),
        "negative": gaussian,
        "clipped": np.maximum(gaussian, 0),
        "folded": np.abs(gaussian),
    }[kind]
    found = estimate_noise(image)
    assert not found.magnitude


def test_the_model(tmp_path: Path) -> None:
    noise = Noise.rician(20.0)
    assert repr(noise) == "<Noise: Rician, sigma 20>" and noise.as_dict()["model"] == "rician"
    assert noise.level == 20 and noise.is_white and not noise.is_constant and noise.times(0.5).level == 10
    noise.save(tmp_path / "mr.json")
    assert Noise.load(tmp_path / "mr.json").magnitude
    old = json.loads((tmp_path / "mr.json").read_text())
    old.pop("magnitude")  # of an older version
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert not Noise.load(tmp_path / "old.json").magnitude
    with pytest.raises(ValueError, match="Rician noise is white"):
        Noise(sigma=np.ones(()), gain=np.ones(()), magnitude=True)


def test_there_and_back() -> None:
    clean, _ = scan(10.0)
    even = Noise.rician(10.0).stabilise(clean.astype(np.float32))
    assert even.sigma == 1 and even.image.dtype == np.float32
    means = _rician.expected(clean, np.asarray(10.0))
    np.testing.assert_allclose(even.back(means), clean, atol=0.05)


@pytest.mark.slow
def test_planes_of_a_volume_share_it() -> None:
    _, noisy = scan(10.0)
    found = estimate_noise(np.stack([noisy] * 3))
    assert found.magnitude and found.level == pytest.approx(10, rel=0.04)


@pytest.mark.slow
def test_air_comes_out_dark_and_the_audit_agrees() -> None:
    clean, noisy = scan(15.0)
    restored = restore(noisy, preset="balanced")
    assert restored.noise.magnitude
    gaussian = denoise(noisy, 15.0, preset="balanced")
    air = clean == 0
    assert restored.image[air].mean() < 0.3 * gaussian[air].mean()
    assert psnr(clean, restored.image) > psnr(clean, gaussian) + 5
    assert audit(noisy, restored.image, restored.noise).model_fits
