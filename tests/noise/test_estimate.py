"""estimate_noise: known noise is found, scale does not matter, and what cannot be known is said."""

from __future__ import annotations

import io
import tracemalloc
import warnings

import numpy as np
import pytest
from PIL import Image
from skimage import data
from skimage.restoration import estimate_sigma

from benchmarks.noise import BARS, ten
from benchmarks.pictures import add_noise
from epitomes.noise import NoiseEstimate, estimate_noise, weak, windows


def noisy(name: str, sigma: float, crop: int = 256, seed: int = 0) -> np.ndarray:
    clean = np.asarray(getattr(data, name)(), np.float64)[:crop, :crop]
    return clean + sigma * np.random.default_rng(seed).standard_normal(clean.shape)


def smooth(side: int) -> np.ndarray:
    """A picture without texture: shading and one soft edge."""
    y, x = np.mgrid[0:side, 0:side] / side
    return 80 * np.sin(3 * x + 2 * y) + 60 / (1 + np.exp(-40 * (x - y)))


class TestTruth:
    @pytest.mark.parametrize("sigma", [2, 10])
    def test_ten_pictures(self, sigma: int) -> None:
        """The bar of the benchmark `noise`, which measures the other levels, too."""
        ours, peer = [], []
        for picture in ten():
            pixels = add_noise(picture.pixels, sigma, seed=0)
            ours.append(abs(estimate_noise(pixels).sigma / sigma - 1))
            peer.append(abs(estimate_sigma(pixels) / sigma - 1))
        assert np.mean(ours) <= BARS[sigma]
        assert np.mean(ours) < np.mean(peer)

    def test_pure_noise_has_no_bias(self) -> None:
        """Choosing flat patches and learning directions would each bias the estimate by several percent."""
        found = [estimate_noise(np.random.default_rng(seed).standard_normal((96, 96))).sigma for seed in range(30)]
        assert np.mean(found) == pytest.approx(1.0, abs=0.01)

    def test_flat_patches_are_not_quiet_ones(self, rng: np.random.Generator) -> None:
        image = rng.standard_normal((256, 256))
        found = weak.measured(image, np.ones(image.shape, np.bool_))
        for texture in found.textures:
            flattest = found.energy[np.argsort(texture)[: len(found) // 50]]
            assert flattest.mean() == pytest.approx(1.0, abs=0.06)  # 1250 patches of 4 values: error 0.02 or more

    def test_intervals_cover(self) -> None:
        clean = smooth(128)
        hits = 0
        for seed in range(40):
            sigma = 0.5 + seed / 4
            found = estimate_noise(clean + sigma * np.random.default_rng(seed).standard_normal(clean.shape))
            assert found.reliable, found.reason
            hits += found.low <= sigma <= found.high
        assert hits >= 32  # 90 % of 40 are 36; fewer than 32 come once in 60 times

    def test_channels(self, rng: np.random.Generator) -> None:
        sigmas = np.array([2.0, 5.0, 9.0])
        image = np.stack([smooth(100)] * 3) + sigmas[:, None, None] * rng.standard_normal((3, 100, 100))
        found = estimate_noise(image, channel_axis=0)
        np.testing.assert_allclose([one.sigma for one in found.channels], sigmas, rtol=0.06)
        assert found.sigma == pytest.approx(np.sqrt(np.mean([one.sigma**2 for one in found.channels])))
        assert found.low < found.sigma < found.high
        assert found == estimate_noise(np.moveaxis(image, 0, -1), channel_axis=-1)


class TestScale:
    def test_exact(self) -> None:
        image = noisy("camera", 10, 128)
        found = estimate_noise(image)
        for factor in (2.0**-1000, 0.25, 2.0**900):
            scaled = estimate_noise(image * factor)
            assert (scaled.sigma, scaled.low, scaled.high) == tuple(
                value * factor for value in (found.sigma, found.low, found.high)
            )
        assert estimate_noise(image * 0.3 + 7).sigma == pytest.approx(0.3 * found.sigma, rel=1e-9)
        assert estimate_noise(-image).sigma == pytest.approx(found.sigma, rel=1e-9)

    def test_any_array_of_the_same_numbers(self) -> None:
        image = np.clip(np.rint(noisy("camera", 10, 96)) + 100, 0, 60000).astype(np.uint16)
        kept = image.copy()
        found = estimate_noise(image)
        image.flags.writeable = False
        others = [
            image.astype(np.float64),
            image.astype(np.int64),
            image.astype(">f4"),
            np.asfortranarray(image),
            np.repeat(image, 2, axis=1)[:, ::2],
            image[::-1, ::-1][::-1, ::-1],
            image.tolist(),
        ]
        assert all(estimate_noise(other) == found for other in others)
        np.testing.assert_array_equal(image, kept)

    def test_chunks_do_not_matter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        image = noisy("coins", 10, 80)
        found = estimate_noise(image)
        monkeypatch.setattr(windows, "CHUNK", 37)
        assert estimate_noise(image).sigma == pytest.approx(found.sigma, rel=1e-12)

    def test_large_images_are_sampled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        image = noisy("camera", 10, 512)
        monkeypatch.setattr(weak, "MOST", 40_000)
        found = weak.measured(image, np.ones(image.shape, np.bool_))
        assert 20_000 < len(found) <= 40_000
        assert estimate_noise(image).sigma == pytest.approx(10, rel=0.03)

    @pytest.mark.parametrize("shape", [(7, 60_000), (60_000, 7), (1200, 1200)])
    def test_memory_is_bounded(self, shape: tuple[int, int], rng: np.random.Generator) -> None:
        image = rng.standard_normal(shape)
        tracemalloc.start()
        found = estimate_noise(image)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert found.sigma == pytest.approx(1.0, rel=0.02)
        assert peak < 20 * image.nbytes + 40e6  # all patches at once would be 49 times the image


class TestDoubt:
    @staticmethod
    def of(image: np.ndarray) -> NoiseEstimate:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = estimate_noise(image)
        assert found.reliable == (not found.reason)
        assert 0 <= found.low <= found.sigma <= found.high < np.inf
        return found

    def test_none(self) -> None:
        assert self.of(noisy("camera", 10)).reliable

    def test_constant(self) -> None:
        found = self.of(np.full((20, 20), 7, np.uint8))
        assert found.sigma == found.high == 0
        assert "constant" in found.reason

    @pytest.mark.parametrize("shape", [(7, 7), (8, 20), (20, 30)])
    def test_tiny(self, shape: tuple[int, int], rng: np.random.Generator) -> None:
        assert "tiny" in self.of(rng.standard_normal(shape)).reason

    def test_texture(self) -> None:
        found = self.of(noisy("grass", 2, 512))
        assert "texture is everywhere" in found.reason
        assert found.low == 0 and found.high > 2

    def test_drawing(self) -> None:
        for drawing in (
            data.checkerboard(),
            data.shepp_logan_phantom(),
            np.eye(64),
            np.add.outer(range(40), range(40)),
        ):
            found = self.of(drawing)
            assert found.sigma == 0
            assert "no noise at all" in found.reason

    def test_drawing_with_noise_is_fine(self, rng: np.random.Generator) -> None:
        found = self.of(data.shepp_logan_phantom() + 0.05 * rng.standard_normal((400, 400)))
        assert found.reliable
        assert found.sigma == pytest.approx(0.05, rel=0.02)

    def test_quantised(self, rng: np.random.Generator) -> None:
        assert "quantised" in self.of(np.rint(smooth(128) + 0.3 * rng.standard_normal((128, 128)))).reason
        assert self.of(np.rint(smooth(128) + 2 * rng.standard_normal((128, 128)))).reliable

    def test_clipped(self) -> None:
        """A quarter of the pixels at 0: what is left must still tell the level, roughly, but not without doubt."""
        dark = np.clip(np.rint(noisy("camera", 25, 512) * 0.4 - 20), 0, 255).astype(np.uint8)
        found = self.of(dark)
        assert "clipped" in found.reason
        assert found.sigma == pytest.approx(10, rel=0.15)

    def test_few_clipped_pixels_do_no_harm(self) -> None:
        image = np.clip(np.rint(noisy("camera", 10, 512)), 0, 255).astype(np.uint8)
        assert (image == 0).mean() > 0.005
        found = self.of(image)
        assert found.reliable
        assert found.sigma == pytest.approx(10, rel=0.03)

    def test_masked_half(self) -> None:
        image = noisy("camera", 10)
        image[:, :128] = 50
        found = self.of(image)
        assert found.sigma == pytest.approx(10, rel=0.05)

    def test_noise_that_grows(self, rng: np.random.Generator) -> None:
        assert "grows with brightness" in self.of(rng.poisson(data.camera() / 2.0)).reason

    def test_jpeg(self) -> None:
        held = io.BytesIO()
        Image.fromarray(np.clip(noisy("camera", 10), 0, 255).astype(np.uint8)).save(held, "JPEG", quality=60)
        assert "JPEG" in self.of(np.asarray(Image.open(held))).reason


class TestDoor:
    @pytest.mark.parametrize(
        ("image", "error", "words"),
        [
            (np.zeros(9), ValueError, "needs 2 axes"),
            (np.zeros((9, 9, 3)), ValueError, "channel_axis=-1"),
            (np.zeros((6, 90)), ValueError, r"at least 7 pixels .* \(6, 90\)"),
            (np.zeros((9, 9), complex), TypeError, "real numbers"),
            (np.zeros((0, 9)), ValueError, "empty"),
            (np.full((9, 9), np.nan), ValueError, "81 NaN"),
            (np.full((9, 9), "a"), TypeError, "real numbers"),
        ],
    )
    def test_errors(self, image: np.ndarray, error: type[Exception], words: str) -> None:
        with pytest.raises(error, match=words):
            estimate_noise(image)

    @pytest.mark.parametrize(("shape", "axis"), [((9, 9), 0), ((9, 9, 3), 3), ((9, 9, 3), -4)])
    def test_channel_axis(self, shape: tuple[int, ...], axis: int) -> None:
        with pytest.raises(ValueError, match=f"channel_axis={axis}"):
            estimate_noise(np.zeros(shape), channel_axis=axis)


class TestParts:
    def test_cosines_are_orthonormal(self) -> None:
        basis, frequency = windows.cosines()
        np.testing.assert_allclose(basis @ basis.T, np.eye(windows.WIDTH**2), atol=1e-12)
        np.testing.assert_allclose(basis[1:].sum(axis=1), 0, atol=1e-12)
        assert frequency[0] == 0 and frequency.max() == 2 * (windows.WIDTH - 1)

    def test_principal_directions(self, rng: np.random.Generator) -> None:
        """Against the definition: orthonormal, without the mean, weak ones of less energy than any strong one."""
        rows = rng.standard_normal((500, windows.WIDTH**2)) @ np.diag(np.linspace(1, 3, windows.WIDTH**2))
        rows -= rows.mean(axis=1)[:, None]
        found = weak.principal(rows.T @ rows / len(rows))
        every = np.concatenate([found.weak, found.strong], axis=1)
        np.testing.assert_allclose(every.T @ every, np.eye(windows.WIDTH**2 - 1), atol=1e-10)
        np.testing.assert_allclose(every.sum(axis=0), 0, atol=1e-10)
        energies = np.mean((rows @ every) ** 2, axis=0)
        np.testing.assert_allclose(energies[weak.WEAKEST :], found.usual, rtol=1e-8)
        assert energies[: weak.WEAKEST].max() <= found.usual.min()

    def test_covariance_is_that_of_all_patches(self, rng: np.random.Generator) -> None:
        image = rng.standard_normal((20, 15))
        rows = np.array([image[i : i + 7, j : j + 7].ravel() for i in range(14) for j in range(9)])
        rows -= rows.mean(axis=1)[:, None]
        patches = weak.Patches(image)
        np.testing.assert_allclose(patches.covariance(np.arange(len(rows))), rows.T @ rows / len(rows), atol=1e-12)

    def test_usable_patches(self, rng: np.random.Generator) -> None:
        usable = rng.random((30, 22)) > 0.02
        expected = [usable[i : i + 7, j : j + 7].all() for i in range(24) for j in range(16)]
        np.testing.assert_array_equal(windows.whole(usable, 10**6), expected)
        assert 0 < sum(expected) < len(expected)

    def test_the_other_half_teaches(self) -> None:
        """Directions for a half are those of the flattest tenth of the other one, and of no patch of its own."""
        patches = weak.Patches(noisy("camera", 10, 128))
        places = np.arange(len(patches.half))
        first = weak.principal(patches.covariance(places))
        texture = patches.split([first, first], places).textures[1]
        for half, taught in enumerate(weak._taught(patches, places)):
            other = places[patches.half != half]
            flattest = other[np.argsort(texture[other])[: round(weak.FLATTEST * len(other))]]
            expected = weak.principal(patches.covariance(flattest))
            overlap = np.linalg.svd(taught.weak.T @ expected.weak)[1]  # all 1: they span the same
            np.testing.assert_allclose(overlap, 1, atol=0.01)
