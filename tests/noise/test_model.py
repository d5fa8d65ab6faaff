"""Noise: constructors, levels, standard deviations by pixel, and pictures of stacks."""

from __future__ import annotations

import json

import numpy as np
import pytest

import epitomes
from epitomes.layout import Layout
from epitomes.noise import Noise, estimate_noise, kernel_spectrum

MANY = 400_000


class TestConstructors:
    def test_gaussian(self) -> None:
        noise = Noise.gaussian(12)
        assert (noise.sigma, noise.gain, noise.offset, noise.level) == (12.0, 0.0, 0.0, 12.0)
        assert noise.sigma.dtype == np.float64 and noise.sigma.shape == ()
        assert noise.is_white and noise.is_constant and noise.reliable and not noise.estimated
        assert noise.interval is None and noise.doubts == () and noise.parts == ()
        colours = Noise.gaussian([3.0, 4.0, 5.0])
        assert colours.sigma.shape == (3,) and not colours.is_constant
        assert colours.level == pytest.approx(np.sqrt(50 / 3))
        assert epitomes.Noise is Noise

    def test_map(self) -> None:
        levels = np.arange(1.0, 13.0).reshape(3, 4)
        noise = Noise.map(levels)
        levels[:] = 0  # the noise has its own copy
        assert noise.level == pytest.approx(np.sqrt(np.mean(np.arange(1, 13) ** 2)))
        assert not noise.is_constant and noise.is_white
        with pytest.raises(ValueError, match="read-only"):
            noise.sigma[0, 0] = 3

    def test_poisson_gaussian(self, rng: np.random.Generator) -> None:
        """The variance of simulated pixels, by its definition."""
        noise = Noise.poisson_gaussian(2.5, 100.0, 5.0)
        pixels = 2.5 * rng.poisson(30, MANY) + 100 + 5 * rng.standard_normal(MANY)
        assert noise.std(pixels.mean()) == pytest.approx(pixels.std(), rel=0.01)
        assert not noise.is_constant

    def test_from_spectrum(self) -> None:
        power = kernel_spectrum([[1.0, 2.0, 1.0]], (12, 10), sigma=3.0) + 0.5
        noise = Noise.from_spectrum(power)
        assert noise.spectrum is not None and noise.spectrum.mean() == pytest.approx(1.0)
        np.testing.assert_allclose(noise.sigma**2 * noise.spectrum, power)
        assert noise.level == pytest.approx(np.sqrt(9 * 6 + 0.5))
        assert not noise.is_white and not noise.is_constant

    @pytest.mark.parametrize(
        ("make", "words"),
        [
            (lambda: Noise.gaussian(0.0), "sigma must be > 0, got 0"),
            (lambda: Noise.gaussian([1.0, -2.0]), r"sigma must be > 0, got -2 at index \(1,\)"),
            (lambda: Noise.gaussian(np.ones((2, 2))), "use Noise.map"),
            (lambda: Noise.gaussian(np.nan), "NaN"),
            (lambda: Noise.map(np.eye(2)), r"sigma must be > 0, got 0 at index \(0, 1\)"),
            (lambda: Noise.poisson_gaussian(-1.0), "gain must be >= 0"),
            (lambda: Noise.poisson_gaussian(1.0, np.inf), "offset holds 1 NaN or infinite"),
            (lambda: Noise.poisson_gaussian(1.0, 0.0, -1.0), "read_noise must be >= 0"),
            (lambda: Noise.poisson_gaussian(0.0), "both 0"),
            (lambda: Noise(sigma=np.ones(3), gain=np.ones(2)), "different shapes"),
            (lambda: Noise(sigma=np.ones((2, 3)), gain=np.ones(3)), "different shapes"),
            (lambda: Noise(gain=np.ones(()), spectrum=np.ones((4, 4))), "needs gain 0"),
        ],
    )
    def test_errors(self, make: object, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            make()  # type: ignore[operator]


class TestLevel:
    def test_counts_without_brightness(self) -> None:
        """The read noise and one count."""
        assert Noise.poisson_gaussian(4.0, 7.0, 3.0).level == pytest.approx(5.0)

    def test_counts_with_brightness(self) -> None:
        noise = Noise(gain=np.asarray(4.0), offset=np.asarray(7.0), sigma=np.asarray(3.0), brightness=np.asarray(107.0))
        assert noise.level == pytest.approx(np.sqrt(9 + 400))

    def test_of_estimates(self, rng: np.random.Generator) -> None:
        """The root mean square of the noise that was drawn."""
        light = 30 + 60 * (np.indices((200, 200)).sum(axis=0) / 400)
        noise = 3.0 * (rng.poisson(light) - light)
        found = estimate_noise(3 * light + noise, model="poisson-gaussian")
        assert found.level == pytest.approx(noise.std(), rel=0.03)

    def test_nothing(self) -> None:
        assert Noise().level == 0.0 and Noise().is_constant


class TestStd:
    def test_one_count_is_the_least(self) -> None:
        noise = Noise.poisson_gaussian(2.0, 10.0, 3.0)
        np.testing.assert_allclose(noise.std([[-50.0, 10.0, 12.0, 60.0]]), np.sqrt([[13.0, 13.0, 13.0, 109.0]]))

    @pytest.mark.parametrize("axis", [0, 1, -1])
    def test_channels_anywhere(self, axis: int, rng: np.random.Generator) -> None:
        last = 50 * rng.random((6, 5, 3))
        image = np.moveaxis(last, -1, axis)
        layout = Layout.of(image.shape, axis)
        noise = Noise.poisson_gaussian([1.0, 2.0, 3.0], [0.0, 5.0, 9.0], [1.0, 0.0, 2.0])
        found = noise.std(image, layout)
        for each in range(3):
            alone = Noise.poisson_gaussian(noise.gain[each], noise.offset[each], noise.sigma[each])
            np.testing.assert_allclose(np.take(found, each, axis), alone.std(last[..., each]))
        np.testing.assert_array_equal(np.moveaxis(found, axis, -1), noise.std(last))

    def test_maps(self) -> None:
        levels = np.arange(1.0, 5.0)[:, None]
        np.testing.assert_array_equal(Noise.map(levels).std(np.zeros((4, 3))), np.broadcast_to(levels, (4, 3)))
        np.testing.assert_array_equal(Noise.map([1.0, 2.0]).std([5.0, 5.0], Layout.of((2,))), [1.0, 2.0])

    def test_errors(self) -> None:
        with pytest.raises(ValueError, match="has no channels: pass channel_axis"):
            Noise.gaussian([1.0, 2.0]).std(np.zeros((4, 2)), Layout.of((4, 2)))
        with pytest.raises(ValueError, match="does not fit an image"):
            Noise.map(np.ones((2, 2, 1)) + np.eye(2)[..., None]).std(np.zeros((2, 2)))
        with pytest.raises(ValueError, match="the layout is for shape"):
            Noise.gaussian(1.0).std(np.zeros((4, 2)), Layout.of((4, 4)))


class TestAt:
    @pytest.mark.parametrize("axis", [0, 1, 3, -1])
    def test_pictures_of_a_stack(self, axis: int, rng: np.random.Generator) -> None:
        """Whatever the layout, the noise of a picture is that of its place, channels last."""
        canonical = 1 + rng.random((4, 6, 5, 3))
        image = np.moveaxis(canonical, -1, axis)
        layout = Layout.of(image.shape, axis, 2)
        every = Noise.map(image)
        per_picture = Noise.map(layout.original(np.arange(1.0, 5.0).reshape(4, 1, 1, 1)))
        both = Noise.map(layout.original(np.arange(1.0, 13.0).reshape(4, 1, 1, 3)))
        for place in layout.places():
            np.testing.assert_array_equal(every.at(place, layout).sigma, canonical[place])
            assert per_picture.at(place, layout).sigma == place[0] + 1
            assert per_picture.at(place, layout).is_constant
            np.testing.assert_array_equal(both.at(place, layout).sigma, np.arange(1, 4) + 3 * place[0])
            assert both.at(place, layout).interval is None
            np.testing.assert_array_equal(Noise.gaussian([1.0, 2.0, 3.0]).at(place, layout).sigma, [1, 2, 3])

    def test_without_a_stack(self) -> None:
        levels = np.arange(1.0, 25.0).reshape(3, 4, 2)
        layout = Layout.of((3, 4, 2), 0)
        np.testing.assert_array_equal(Noise.map(levels).at((), layout).sigma, np.moveaxis(levels, 0, -1))
        assert Noise.gaussian(3.0).at((), layout).level == 3.0
        with pytest.raises(ValueError, match="does not fit an image"):
            Noise.map(levels).at((), Layout.of((3, 4, 5), 0))


class TestWords:
    @pytest.mark.parametrize(
        ("noise", "words"),
        [
            (Noise(), "no noise"),
            (Noise.gaussian(12.34), "Gaussian, sigma 12.34"),
            (Noise(sigma=np.asarray(12.3), interval=(11.9, 12.6)), "Gaussian, sigma 12.3 (90 % interval 11.9 to 12.6)"),
            (Noise.gaussian([1.0, 2.0, 3.0]), "Gaussian, sigma 1, 2 and 3 per channel"),
            (Noise.gaussian(np.arange(1.0, 9.0)), "Gaussian, sigma 1 to 8 (per channel)"),
            (Noise.map([[1.0, 2.0]]), "Gaussian, sigma 1 to 2 (array of shape (1, 2))"),
            (Noise.from_spectrum(np.full((4, 4), 9.0)), "correlated Gaussian, sigma 3"),
            (Noise.poisson_gaussian(2.1, 0.0, 3.0), "Poisson-Gaussian, gain 2.1, offset 0, read noise 3"),
        ],
    )
    def test_describe(self, noise: Noise, words: str) -> None:
        assert noise.describe() == words
        assert repr(noise) == f"<Noise: {words}>"

    def test_as_dict(self, rng: np.random.Generator) -> None:
        found = estimate_noise(rng.standard_normal((40, 40, 2)), channel_axis=-1).as_dict()
        assert json.loads(json.dumps(found, allow_nan=False)) == found
        assert found["model"] == "gaussian" and len(found["parts"]) == 2 and found["reliable"]
        assert Noise.map(np.full((8, 8), 2.0)).as_dict()["sigma"] == [[2.0] * 8] * 8
        assert Noise.map(np.full((8, 9), 2.0)).as_dict()["sigma"] == {"shape": [8, 9]}
        unsure = Noise(gain=np.asarray(1.0), gain_interval=(0.5, np.inf)).as_dict()
        assert unsure["gain_interval"] == [0.5, None] and unsure["model"] == "poisson-gaussian"
