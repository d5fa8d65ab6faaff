"""Contradictions: each is found on an image made for it, and none where the model is right."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from validation_cases import Doubles, add_noise, picture

from epitomes.noise import BlockSpectrum, Noise, noise_from_flat
from epitomes.validation import Audit, audit, error_map, sure
from epitomes.validation.evened import whitened
from epitomes.validation.tile_levels import TileLevels

PICTURES = ("camera", "coins", "brick", "gravel", "moon")
SIGMA = 20.0


def kinds(noisy: Doubles, clean: Doubles, noise: Noise | float, **options: int) -> tuple[str, ...]:
    """What the audit of a perfect result says."""
    return audit(noisy, clean, noise, **options).reason_kinds


def correlated(shape: tuple[int, ...], rng: np.random.Generator, width: float = 0.8) -> Doubles:
    noise = gaussian_filter(rng.standard_normal(shape), (width, width, 0)[: len(shape)], mode="wrap")
    return SIGMA * noise / noise.std()


@pytest.mark.parametrize("name", PICTURES)
class TestWhiteNoise:
    @pytest.mark.parametrize("sigma", [5.0, 15.0, 50.0])
    def test_the_right_level(self, name: str, sigma: float) -> None:
        clean = picture(name)
        assert kinds(add_noise(clean, sigma, seed=1), clean, sigma) == ()

    @pytest.mark.parametrize(("told", "kind"), [(0.4, "low"), (2.0, "high")])
    def test_another_level(self, name: str, told: float, kind: str) -> None:
        """The advice names the level that the image has."""
        clean = picture(name)
        found = audit(add_noise(clean, SIGMA, seed=2), clean, told * SIGMA)
        assert found.reason_kinds == (kind,) and not found.model_fits
        (advice,) = found.advice
        assert float(advice.split("--sigma ")[1].split()[0]) == pytest.approx(SIGMA, rel=0.2)

    def test_taken_for_correlated_noise(self, name: str, rng: np.random.Generator) -> None:
        clean = picture(name)
        assert kinds(clean + correlated(clean.shape, rng), clean, SIGMA) == ("correlated",)

    def test_taken_for_poisson_noise(self, name: str, rng: np.random.Generator) -> None:
        clean, gain = picture(name), 255 / 30
        if name == "moon":  # its brightness hardly varies
            clean = 3 * np.maximum(clean - 80, 0)
        noisy = gain * rng.poisson(clean / gain)
        assert kinds(noisy, clean, Noise.poisson_gaussian(gain)) == ()
        found = audit(noisy, clean, float(np.sqrt(gain * clean.mean())))
        assert found.reason_kinds == ("brightness",)
        assert "--poisson" in found.advice[0]

    def test_salt_and_pepper(self, name: str, rng: np.random.Generator) -> None:
        clean = picture(name)
        noisy = np.clip(add_noise(clean, 15.0, seed=3), 0, 255)
        noisy[rng.random(clean.shape) < 0.015] = 0
        noisy[rng.random(clean.shape) < 0.015] = 255
        assert kinds(noisy, clean, 15.0)[0] == "impulses"


def test_regions(rng: np.random.Generator) -> None:
    """A quiet corner, as an overscan strip has it; a map of the levels is right."""
    clean = picture("brick")
    levels = np.where(np.arange(256) < 80, 8.0, SIGMA) * np.ones((256, 1))
    noisy = clean + levels * rng.standard_normal(clean.shape)
    assert kinds(noisy, clean, SIGMA) == ("regions",)
    assert kinds(noisy, clean, Noise.map(levels)) == ()


def test_noise_that_the_finest_detail_lacks(rng: np.random.Generator) -> None:
    """The level of the finest detail is that of white noise which is found; coarser noise contradicts it."""
    clean = picture("camera")
    assert kinds(clean + correlated(clean.shape, rng, 1.5), clean, 1.0) == ("correlated",)


def test_channels_and_volumes(rng: np.random.Generator) -> None:
    colours = picture("astronaut", 128)
    noisy = add_noise(colours, SIGMA, seed=4)
    assert kinds(noisy, colours, SIGMA, channel_axis=-1) == ()
    assert kinds(noisy, colours, SIGMA / 2, channel_axis=-1) == ("low",)
    volume = np.moveaxis(colours, -1, 0)
    assert kinds(np.moveaxis(noisy, -1, 0), volume, 2 * SIGMA) == ("high",)


def test_a_few_tiles_say_nothing() -> None:
    """Residual measures remain."""
    clean = picture("camera", 40)
    found = audit(add_noise(clean, SIGMA, seed=5), clean, SIGMA / 2)
    assert found.model_fits and found.verdict == "warn"


def test_clean_borders_are_no_quiet_region() -> None:
    clean = picture("camera")
    clean[:60] = 0.0
    noisy = add_noise(clean, SIGMA, seed=6)
    noisy[:60] = 0.0
    assert audit(noisy, clean, SIGMA).model_fits


class TestNothingRemoved:
    FIRST = "No noise was found: the image was returned as it was."

    @staticmethod
    def audited(image: Doubles, noise: Noise) -> Audit:
        found = audit(image, image, noise)
        assert found.unchanged
        return found

    @pytest.mark.parametrize("level", [0.0, 3.0])
    @pytest.mark.parametrize("name", PICTURES)
    def test_a_clean_image(self, name: str, level: float) -> None:
        assert str(self.audited(picture(name), Noise(sigma=np.asarray(level)))) == f"pass: {self.FIRST}"

    @pytest.mark.parametrize("level", [0.0, 3.0])
    def test_a_noisy_image(self, level: float) -> None:
        found = self.audited(add_noise(picture("camera"), 10.0, seed=7), Noise(sigma=np.asarray(level)))
        assert found.reason_kinds == ("unremoved",) and not found.model_fits
        assert found.headline == f"warn: {self.FIRST}"
        assert float(found.advice[0].split("--sigma ")[1].split()[0]) == pytest.approx(10.0, rel=0.15)

    def test_a_level_of_0_needs_an_unchanged_image(self) -> None:
        with pytest.raises(ValueError, match="noise level is 0"):
            audit(np.eye(32), np.zeros((32, 32)), Noise())


class TestBlocks:
    """Correlated noise whose model is right, or has another level."""

    @pytest.mark.parametrize("n_channels", [1, 3])
    def test_the_noise_is_whitened(self, n_channels: int, rng: np.random.Generator) -> None:
        shape = (256, 256, n_channels)
        mix = np.eye(n_channels) + 0.5
        blocks = noise_from_flat(correlated(shape, rng) @ mix, channel_axis=-1).blocks
        assert blocks is not None
        white = whitened(correlated(shape, rng) @ mix, blocks)
        assert white.std(axis=(0, 1)) == pytest.approx(1.0, abs=0.1)
        neighbours = np.mean(white[1:] * white[:-1], axis=(0, 1)) / white.var(axis=(0, 1))
        assert abs(neighbours).max() < 0.15  # 0.65 before
        if n_channels > 1:
            assert abs(np.corrcoef(white.reshape(-1, n_channels).T) - np.eye(n_channels)).max() < 0.1

    def test_white_blocks_divide(self, rng: np.random.Generator) -> None:
        noisy = rng.standard_normal((40, 48, 2))
        np.testing.assert_allclose(whitened(noisy, BlockSpectrum.white(4.0, 2)), noisy / 2)

    @pytest.mark.parametrize("name", PICTURES)
    def test_verdicts(self, name: str, rng: np.random.Generator) -> None:
        clean = picture(name)
        noisy = clean + correlated(clean.shape, rng)
        noise = noise_from_flat(correlated(clean.shape, rng))
        assert noise.blocks is not None
        assert audit(noisy, clean, noise).verdict == "pass"
        assert audit(noisy, clean, noise.times(2.0)).verdict == "warn"
        if name in ("camera", "brick"):
            assert audit(noisy, gaussian_filter(noisy, 6.0), noise).verdict == "warn"
            assert audit(noisy, (noisy + clean) / 2, noise).verdict == "warn"

    def test_errors_cannot_be_estimated(self) -> None:
        noise, image = Noise.from_blocks(BlockSpectrum.white(4.0)), np.eye(32)
        with pytest.raises(ValueError, match="correlated, and white noise is needed: judge the result with audit"):
            sure(lambda pixels: pixels, image, noise)
        with pytest.raises(ValueError, match="correlated, and white noise is needed"):
            error_map(image, image, noise, lambda pixels: pixels)

    def test_another_number_of_channels(self) -> None:
        noise = Noise.from_blocks(BlockSpectrum.white(4.0, 3))
        with pytest.raises(ValueError, match="3"):
            audit(np.eye(32), np.zeros((32, 32)), noise)


def test_no_interval_with_a_wrong_model() -> None:
    clean = picture("camera", 128)
    noisy = add_noise(clean, SIGMA, seed=8)

    def denoiser(image: Doubles) -> Doubles:
        return gaussian_filter(image, 1.0)

    right, wrong = sure(denoiser, noisy, SIGMA), sure(denoiser, noisy, SIGMA / 2)
    assert right.doubts == () and np.isfinite(right.interval).all()
    assert wrong.interval == (-np.inf, np.inf) and wrong.as_dict()["interval"] == [None, None]
    assert "too low" in wrong.doubts[0] and "too low" in str(wrong)
    assert error_map(noisy, denoiser(noisy), SIGMA / 2, denoiser).sure.doubts == wrong.doubts


def test_levels_of_white_noise(rng: np.random.Generator) -> None:
    """The constants of tiles: their quantiles, and the error of a quantile."""
    noisy = rng.standard_normal((600, 600, 1))
    tiles = TileLevels.of(noisy, noisy, np.ones(noisy.shape, bool))
    assert tiles.fine.mean() == pytest.approx(1.0, abs=0.02) and tiles.half.mean() == pytest.approx(1.0, abs=0.05)
    for share in (0.1, 0.25):
        assert tiles.most(share) == pytest.approx(1.0, abs=0.03)
        assert tiles.half_size(share) == pytest.approx(1.0, abs=0.06)
    parts = [tiles.where(np.arange(len(tiles)) % 20 == each) for each in range(20)]
    assert np.std([part.most(0.25) for part in parts]) == pytest.approx(parts[0].error(0.25), rel=0.4)
