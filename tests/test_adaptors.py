"""Adaptors: the manners of other libraries, tested with stand-ins for those that are not installed here."""

from __future__ import annotations

import sys
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from skimage.restoration import calibrate_denoiser

from epitomes import demo, denoise
from epitomes.adaptors import Prior, Proximal
from epitomes.learn import natural
from epitomes.phi import windows
from epitomes.restoration import NonLocal, Patchwise

SIGMA = 20.0

Image = NDArray[np.float32]


@pytest.fixture(scope="module")
def clean() -> Image:
    return demo.shipped_picture()[60:124, 80:144]


@pytest.fixture(scope="module")
def noisy(clean: Image) -> Image:
    noise = np.random.default_rng(0).standard_normal(clean.shape)
    return (clean + SIGMA * noise).astype(np.float32)


def halved(image: NDArray[Any], sigma: float) -> NDArray[Any]:
    """A denoiser whose result is easily told: sigma less, half of the rest."""
    return (image - sigma) / 2


class Tensor:
    """As much of a PyTorch tensor as an adaptor touches: its values come out only after detach and cpu."""

    def __init__(self, values: Any, free: bool = False) -> None:
        self.values, self.free = np.asarray(values), free

    def detach(self) -> Tensor:
        return Tensor(self.values)

    def cpu(self) -> Tensor:
        return Tensor(self.values, free=True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if not self.free:
            raise TypeError("can't convert a tensor that requires grad or lies on another device")
        return self.values

    def new_tensor(self, values: NDArray[Any]) -> Tensor:
        return Tensor(values.astype(self.values.dtype))


def test_the_default_prior_denoises_with_natural_images(noisy: Image, clean: Image) -> None:
    given = noisy.copy()
    found = Prior()(noisy, SIGMA)
    expected = denoise(noisy, SIGMA, method="paper", epitome=natural(windows((20, 15, 15), (8, 8))))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(noisy, given)
    assert found.dtype == noisy.dtype
    assert np.mean((found - clean) ** 2) < 0.4 * SIGMA**2


def test_an_epitome_a_method_or_any_function_is_a_prior(noisy: Image) -> None:
    epitome = natural(windows((42, 42), (8, 8)))
    expected = denoise(noisy, SIGMA, method="paper", epitome=epitome)
    np.testing.assert_array_equal(Prior(epitome)(noisy, SIGMA), expected)
    np.testing.assert_array_equal(Prior(partial(denoise, method="paper", epitome=epitome))(noisy, SIGMA), expected)
    np.testing.assert_array_equal(Prior(Patchwise(epitome=epitome))(noisy, SIGMA), expected)
    fast = NonLocal(preset="fast")
    np.testing.assert_array_equal(Prior(fast)(noisy, SIGMA), denoise(noisy, SIGMA, preset="fast"))
    np.testing.assert_array_equal(Prior(partial(denoise, method=fast))(noisy, SIGMA), Prior(fast)(noisy, SIGMA))
    np.testing.assert_array_equal(Prior(halved)(noisy, 2.0), (noisy - 2.0) / 2)
    with pytest.raises(TypeError, match=r"denoiser must be an Epitome, a method or a function .*, got int"):
        Prior(3)  # type: ignore[arg-type]


@pytest.mark.slow
def test_calibrate_denoiser_finds_sigma(noisy: Image) -> None:
    """scikit-image's J-invariance calibration accepts the prior as it is."""
    levels = [2.0, SIGMA, 200.0]
    scaled = noisy.astype(np.float64) / 255  # scikit-image wants floats between -1 and 1
    given = [level / 255 for level in levels]
    best, (tried, losses) = calibrate_denoiser(scaled, Prior(), {"sigma": given}, extra_output=True)
    assert [one["sigma"] for one in tried] == given
    assert np.argmin(losses) == 1
    assert best(scaled).shape == scaled.shape


def test_batches_and_their_sigmas(noisy: Image) -> None:
    batch = np.stack([noisy, noisy[::-1]])[:, None]  # batch, channels, height, width
    prior = Prior()
    np.testing.assert_array_equal(prior(batch, SIGMA)[1, 0], prior(noisy[::-1], SIGMA))
    for levels in (np.array([0.0, SIGMA]), np.array([0.0, SIGMA]).reshape(2, 1, 1, 1)):
        found = prior(batch, levels)
        np.testing.assert_array_equal(found[0], batch[0])  # no noise, nothing to do
        np.testing.assert_array_equal(found[1, 0], prior(noisy[::-1], SIGMA))
    with pytest.raises(ValueError, match="one for each entry of the first axis of x, got 3"):
        prior(batch, np.ones(3))
    with pytest.raises(ValueError, match="sigma must be a finite number >= 0, got -1"):
        prior(batch, -1.0)
    with pytest.raises(ValueError, match=r"x needs at least 2 axes, those of an image, got shape \(5,\)"):
        prior(np.ones(5), 1.0)


@pytest.mark.parametrize("axis", [1, -3])
def test_colours_jointly(noisy: Image, axis: int) -> None:
    colour = np.stack([noisy, noisy + 9, 255 - noisy])[:, :24, :24]
    epitome = natural(windows((20, 15, 15, 3), (8, 8, 3)))
    found = Prior(channel_axis=axis)(colour[None], SIGMA)
    np.testing.assert_array_equal(found[0], denoise(colour, SIGMA, method="paper", epitome=epitome, channel_axis=0))
    fast = Prior(NonLocal(preset="fast"), channel_axis=axis)(colour[None], SIGMA)
    np.testing.assert_array_equal(fast[0], denoise(colour, SIGMA, preset="fast", channel_axis=0))
    last = Prior(lambda image, sigma: image * np.arange(3), channel_axis=axis)(colour[None], SIGMA)
    np.testing.assert_array_equal(last[0], colour * np.arange(3)[:, None, None])  # functions get channels last


def test_tensors_come_back_as_tensors() -> None:
    """deepinv calls `denoiser(x, sigma)` with tensors, and sigma may be one, too."""
    x = Tensor(np.full((1, 1, 3, 3), 4.0, np.float32))
    found = Prior(halved)(x, Tensor([2.0]))
    assert isinstance(found, Tensor)
    assert found.values.dtype == np.float32
    np.testing.assert_array_equal(found.values, np.ones((1, 1, 3, 3)))


def test_arrays_with_a_namespace_come_back_in_it() -> None:
    class Other:
        values = np.full((3, 3), 4.0)

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
            return self.values

        def __array_namespace__(self) -> Any:
            return SimpleNamespace(asarray=lambda values: ("other", values))

    name, values = Prior(halved)(Other(), 2.0)
    assert name == "other"
    np.testing.assert_array_equal(values, np.ones((3, 3)))


def test_jax_gets_a_callback(monkeypatch: pytest.MonkeyPatch) -> None:
    """scico compiles its solvers: what is not JAX must be called back, and say beforehand what will come."""
    traced = type("Traced", (), {"__module__": "jax._src.core", "shape": (3, 3), "dtype": np.dtype(np.float32)})
    calls = []

    def pure_callback(work: Any, like: Any, *arguments: Any) -> Any:
        calls.append((like, arguments))
        return work(np.full((3, 3), 4.0, np.float32), np.float32(2.0))

    fake = SimpleNamespace(pure_callback=pure_callback, ShapeDtypeStruct=lambda *of: of)
    monkeypatch.setitem(sys.modules, "jax", fake)  # type: ignore[arg-type]
    x = traced()
    np.testing.assert_array_equal(Prior(halved)(x, 2.0), np.ones((3, 3)))
    assert calls == [(((3, 3), np.dtype(np.float32)), (x, 2.0))]


def test_a_proximal_operator_takes_its_variance_away() -> None:
    image = np.full((3, 4), 10.0)
    operator = Proximal(Prior(halved), weight=0.5)
    np.testing.assert_allclose(operator.prox(image, 8.0), np.full((3, 4), (10 - np.sqrt(8 * 0.5)) / 2))
    np.testing.assert_allclose(operator.prox(image, 8.0, v0=image), operator.prox(image, 8.0))  # as scico calls it
    flat = Proximal(Prior(halved), shape=(3, 4), weight=0.5).prox(image.reshape(-1), 8.0)  # as pyproximal does
    np.testing.assert_allclose(flat, operator.prox(image, 8.0).reshape(-1))
    assert operator(image) == 0.0
    assert (operator.has_eval, operator.has_prox, operator.hasgrad) == (False, True, False)
    with pytest.raises(ValueError, match="weight must be a finite number > 0"):
        Proximal(weight=0.0)


def test_moreau() -> None:
    """For g = 1/2 |z|^2 the proximal operator is x / (1 + tau), and that of the conjugate, g again, the same."""
    square = Proximal(Prior(lambda image, sigma: image / (1 + sigma**2)))
    x = np.arange(6.0).reshape(2, 3)
    for tau in (0.5, 1.0, 3.0):
        np.testing.assert_allclose(square.prox(x, tau), x / (1 + tau))
        np.testing.assert_allclose(square.proxdual(x, tau), x / (1 + tau))
        np.testing.assert_allclose(square.conj_prox(x, tau), x / (1 + tau))


def test_plug_and_play_fills_in_missing_pixels(clean: Image, rng: np.random.Generator) -> None:
    """Half of the pixels are unknown: data and prior in turn, as every solver does, come nearer than the start."""
    known = rng.random(clean.shape) < 0.5
    start = np.where(known, clean, clean[known].mean()).astype(np.float32)
    operator, x = Proximal(), start
    for sigma in (60.0, 40.0, 25.0, 15.0, 10.0):
        x = np.where(known, clean, operator.prox(x, sigma**2))
    assert np.mean((x - clean) ** 2) < 0.25 * np.mean((start - clean) ** 2)
