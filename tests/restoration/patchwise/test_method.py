"""The paper's method: an image like the one that came in, less noise, and section 5.4 evaluated by hand."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from learn_cases import Doubles, same_bits, texture
from numpy.typing import ArrayLike, NDArray
from phi_cases import disc
from restoration_cases import Progress, psnr, shipped_picture, with_noise

from epitomes import Epitome, Patches, Restored, restore
from epitomes.checks import RNG
from epitomes.coders import OLS
from epitomes.learn import natural, smooth_noise
from epitomes.phi import turned, windows
from epitomes.restoration import Patchwise, Recipe
from epitomes.restoration.method import Callback

SIGMA = 20.0
PHI = windows((16, 16), (6, 6))
EPITOME = smooth_noise(PHI)
RECIPE = Recipe(start=EPITOME, lam=2.5 * SIGMA, n_steps=3, batch=500)


def denoise(
    image: ArrayLike,
    sigma: float,
    *,
    channel_axis: int | None = None,
    rng: RNG = 0,
    threads: int | None = None,
    callback: Callback | None = None,
    **settings: Any,
) -> Restored:
    """Restore by the paper's method with these settings."""
    return restore(
        image,
        sigma,
        method=Patchwise(**settings),
        channel_axis=channel_axis,
        rng=rng,
        threads=threads,
        callback=callback,
    )


@pytest.fixture(scope="module")
def clean() -> Doubles:
    return texture((48, 52), noise=0.0)


@pytest.fixture(scope="module")
def noisy(clean: Doubles) -> Doubles:
    return clean + SIGMA * np.random.default_rng(0).standard_normal(clean.shape)


def by_hand(noisy: NDArray[Any], epitome: Epitome, bound: float, blend: float = 0.0) -> Doubles:
    """Code every patch up to the bound, then average, pixel by pixel and without any help of the library."""
    patch = epitome.phi.patch_shape
    D = epitome.dictionary
    total, weight = blend * noisy.astype(np.float64), np.full(noisy.shape, blend)
    for top in range(noisy.shape[0] - patch[0] + 1):
        for left in range(noisy.shape[1] - patch[1] + 1):
            place = np.s_[top : top + patch[0], left : left + patch[1]]
            x = noisy[place].ravel().astype(np.float64)
            a = OLS(residual=bound).encode((x - x.mean())[None], D).toarray()[0]
            total[place] += (a @ D.atoms + x.mean()).reshape(patch)
            weight[place] += 1
    return np.asarray(total / weight)


class TestDefinition:
    @pytest.mark.parametrize(("patch", "factor"), [((4, 4), 1.15), ((6, 6), 1.15), ((6, 6), 0.9), ((3, 7), 1.4)])
    def test_the_bound_is_m_times_factor_sigma_squared(
        self, patch: tuple[int, int], factor: float, noisy: Doubles
    ) -> None:
        epitome = smooth_noise(windows((16, 16), patch))
        part = noisy[:20, :21]
        m = patch[0] * patch[1]
        found = denoise(part, SIGMA, epitome=epitome, residual_factor=factor)
        np.testing.assert_allclose(found.image, by_hand(part, epitome, m * (factor * SIGMA) ** 2), rtol=1e-9)
        assert found.atoms_per_patch > 0
        assert not np.allclose(found.image, by_hand(part, epitome, 64 * (factor * SIGMA) ** 2))  # of another patch

    def test_blend_is_the_weight_of_the_noisy_pixel(self, noisy: Doubles) -> None:
        part = noisy[:14, :15]
        expected = by_hand(part, EPITOME, 36 * (1.15 * SIGMA) ** 2, blend=2.5)
        np.testing.assert_allclose(denoise(part, SIGMA, epitome=EPITOME, blend=2.5).image, expected, rtol=1e-9)
        almost = denoise(part, SIGMA, epitome=EPITOME, blend=1e9).image
        np.testing.assert_allclose(almost, part, rtol=1e-5)

    def test_atoms_per_patch(self, noisy: Doubles) -> None:
        patches = Patches(noisy, (6, 6))
        codes = OLS(residual=36 * (1.15 * SIGMA) ** 2).encode(patches, EPITOME.dictionary)
        assert denoise(noisy, SIGMA, epitome=EPITOME).atoms_per_patch == pytest.approx(codes.nnz / len(patches))

    def test_bands_leave_no_seams(self) -> None:
        """Long images are coded band by band; a crop of the middle is what it is alone, away from its borders."""
        tall = np.random.default_rng(1).normal(100, 30, (1400, 60)).astype(np.float32)
        whole = denoise(tall, 25.0, epitome=EPITOME).image
        seam = 16_384 // 55
        part = denoise(tall[seam - 60 : seam + 60], 25.0, epitome=EPITOME).image
        np.testing.assert_allclose(part[10:-10], whole[seam - 50 : seam + 50], rtol=1e-4)


class TestTypes:
    @pytest.mark.parametrize("dtype", ["uint8", "uint16", "int32", "float16", "float32", "float64", ">u2", ">f4"])
    @pytest.mark.parametrize("given", [True, False], ids=["given", "learned"])
    def test_dtype_out_is_dtype_in(self, dtype: str, given: bool, noisy: Doubles) -> None:
        image = np.clip(np.rint(noisy), 0, 255).astype(dtype)
        kept = image.copy()
        image.flags.writeable = False
        chosen = {"epitome": EPITOME} if given else {"recipe": RECIPE}
        restored = denoise(image, SIGMA, **chosen)  # type: ignore[arg-type]
        assert restored.image.dtype == image.dtype
        assert restored.image.shape == image.shape
        np.testing.assert_array_equal(image, kept)
        reference = denoise(image.astype(np.float64), SIGMA, epitome=restored.epitome).image
        step = 0.51 if image.dtype.kind in "iu" else 0.1
        near = np.abs(restored.image.astype(np.float64) - reference) < step
        assert near.mean() > 0.98  # a pursuit in float32 may stop one atom earlier or later

    def test_whole_numbers_are_rounded_and_kept_in_range(self) -> None:
        image = np.where(np.indices((30, 30)).sum(0) % 30 < 15, 0, 255).astype(np.uint8)
        exact = denoise(image.astype(np.float32), SIGMA, epitome=EPITOME).image
        assert exact.min() < 0 or exact.max() > 255  # else there is nothing to keep in range
        restored = denoise(image, SIGMA, epitome=EPITOME).image
        np.testing.assert_array_equal(restored, np.clip(np.rint(exact), 0, 255))

    def test_layouts(self, noisy: Doubles) -> None:
        expected = denoise(noisy, SIGMA, epitome=EPITOME).image
        wide = np.repeat(noisy, 2, axis=1)[:, ::2]
        for image in (np.asfortranarray(noisy), wide, noisy.tolist()):
            np.testing.assert_array_equal(denoise(image, SIGMA, epitome=EPITOME).image, expected)

    def test_the_result_is_an_image(self, noisy: Doubles) -> None:
        restored = denoise(noisy, SIGMA, epitome=EPITOME)
        assert np.asarray(restored) is not noisy
        np.testing.assert_array_equal(np.asarray(restored), restored.image)
        np.testing.assert_array_equal(np.asarray(restored, np.float32), restored.image.astype(np.float32))
        assert restored.seconds > 0


class TestLearning:
    def test_a_given_epitome_is_used_as_it_is(self, noisy: Doubles) -> None:
        restored = denoise(noisy, SIGMA, epitome=EPITOME)
        assert restored.epitome is EPITOME
        assert restored.fit is None

    def test_a_learned_epitome_can_be_given_again(self, noisy: Doubles) -> None:
        learned = denoise(noisy, SIGMA, recipe=RECIPE)
        assert learned.fit is not None and learned.fit.epitome is learned.epitome
        assert len(learned.fit.history) == RECIPE.n_steps
        again = denoise(noisy, SIGMA, epitome=learned.epitome)
        np.testing.assert_array_equal(learned.image, again.image)

    def test_learning_helps(self, rng: np.random.Generator) -> None:
        clean = shipped_picture()[60:160, 80:180]
        noisy = clean + SIGMA * rng.standard_normal(clean.shape)
        recipe = dataclasses.replace(RECIPE, n_steps=40)
        learned = psnr(clean, denoise(noisy, SIGMA, recipe=recipe).image)
        assert learned > 0.3 + psnr(clean, denoise(noisy, SIGMA, epitome=EPITOME).image) > psnr(clean, noisy)

    def test_the_seed_decides(self, noisy: Doubles) -> None:
        one, other, third = (denoise(noisy, SIGMA, recipe=RECIPE, rng=seed) for seed in (3, 3, 4))
        assert one.image.tobytes() == other.image.tobytes()
        assert one.image.tobytes() != third.image.tobytes()

    def test_every_step_is_told(self, noisy: Doubles) -> None:
        progress = Progress()
        restored = denoise(noisy, SIGMA, recipe=RECIPE, callback=progress)
        assert restored.fit is not None and len(restored.fit.history) == RECIPE.n_steps == 3
        learning = [stage for stage in progress.stages if stage.startswith("learning")]
        assert learning == [f"learning, step {step} of 3" for step in (1, 2, 3)]
        assert progress.stages.index(learning[-1]) < progress.stages.index("coding patches")

    @pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
    def test_threads_change_no_bit(self, dtype: Any, noisy: Doubles) -> None:
        image = np.clip(noisy, 0, 255).astype(dtype)
        found = [denoise(image, SIGMA, recipe=RECIPE, threads=threads) for threads in (1, 2, 3)]
        for other in found[1:]:
            assert found[0].image.tobytes() == other.image.tobytes()
            assert same_bits(found[0].epitome, other.epitome)

    def test_scaling_image_and_sigma_scales_the_result(self, noisy: Doubles) -> None:
        """Grey levels have no meaning of their own: 8 bits, or the same as 16 bits times 257, are one problem."""
        image = noisy[:30, :30]
        small, large = (denoise(factor * image, factor * SIGMA).image for factor in (1, 257))
        near = np.abs(large / 257 - small) < 1e-4
        assert near.mean() > 0.99  # ties between atoms may fall either way

    def test_brightness_is_free(self, noisy: Doubles) -> None:
        """A constant added to the image is added to the result: patches are coded without their means."""
        shifted = denoise(noisy + 1000, SIGMA, epitome=EPITOME).image - 1000
        near = np.abs(shifted - denoise(noisy, SIGMA, epitome=EPITOME).image) < 1e-6
        assert near.mean() > 0.99


@pytest.mark.slow
def test_the_shipped_picture_gains_eight_decibels() -> None:
    clean = shipped_picture()
    noisy = (clean + 25 * np.random.default_rng(0).standard_normal(clean.shape)).astype(np.float32)
    before = psnr(clean, noisy)
    assert before == pytest.approx(20.17, abs=0.1)  # sigma 25 for a peak of 255
    assert psnr(clean, denoise(noisy, 25).image) > before + 8
    assert psnr(clean, denoise(noisy, 25, epitome=natural(windows((42, 42), (8, 8)))).image) > before + 8


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("level", [0, 77, 255])
def test_a_constant_image_returns_itself(level: int, dtype: Any) -> None:
    image = np.full((20, 23), level, dtype)
    for restored in (denoise(image, 5.0, recipe=RECIPE), denoise(image, 5.0, epitome=EPITOME)):
        np.testing.assert_array_equal(restored.image, image)
        assert restored.atoms_per_patch == 0


def test_small_images(noisy: Doubles) -> None:
    """As small as one patch, as narrow as one patch, and with fewer patches than atoms."""
    for shape in ((6, 6), (6, 20), (20, 6), (7, 7)):
        restored = denoise(noisy[: shape[0], : shape[1]], SIGMA, recipe=RECIPE)
        assert restored.image.shape == shape
        assert np.isfinite(restored.image).all()


@pytest.mark.parametrize(
    "phi",
    [
        windows((3, 10, 10), (6, 6)),
        turned(windows((10, 10), (6, 6))),
        windows((12, 12), (7, 7), border="periodic", support=disc(7)),
        windows((16, 16), (4, 9)),
    ],
    ids=["several", "turned", "disc", "oblong"],
)
def test_other_epitomes(phi: Any, clean: Doubles, noisy: Doubles) -> None:
    recipe = Recipe(start=smooth_noise(phi), lam=2.5 * SIGMA, n_steps=20, batch=500)
    restored = denoise(noisy, SIGMA, recipe=recipe)
    assert np.isfinite(restored.image).all()
    inside = np.s_[3:-3, 3:-3]
    assert psnr(clean[inside], restored.image[inside]) > psnr(clean[inside], noisy[inside]) + 3


def test_colour_and_volumes_by_an_epitome_of_that_many_axes() -> None:
    rng = np.random.default_rng(0)
    for shape, phi in (((24, 24, 3), windows((10, 10, 3), (5, 5, 3))), ((12, 12, 12), windows((6, 6, 6), (4, 4, 4)))):
        image = texture(shape, noise=0.0)
        noisy = image + SIGMA * rng.standard_normal(shape)
        recipe = Recipe(start=smooth_noise(phi), lam=2.5 * SIGMA, n_steps=10)
        restored = denoise(noisy, SIGMA, recipe=recipe, channel_axis=-1 if shape[-1] == 3 else None)
        assert restored.plan.planes == 1
        assert psnr(image, restored.image) > psnr(image, noisy) + 3


@pytest.mark.parametrize("channels", [1, 3])
def test_without_an_axis_for_them_channels_are_images(channels: int, noisy: Doubles) -> None:
    image = np.stack([noisy, noisy[::-1], noisy[:, ::-1]], axis=-1)[..., :channels]
    together = denoise(image, SIGMA, recipe=RECIPE, channel_axis=-1)
    alone = [denoise(image[..., c], SIGMA, recipe=RECIPE) for c in range(channels)]
    np.testing.assert_array_equal(together.image, np.stack([each.image for each in alone], axis=-1))
    assert together.atoms_per_patch == pytest.approx(np.mean([each.atoms_per_patch for each in alone]))


def test_signals() -> None:
    clean = 100 * np.sin(np.arange(400) / 9) + 50 * (np.arange(400) > 200)
    noisy = with_noise(clean, SIGMA)
    found = restore(noisy, SIGMA)
    assert isinstance(found.plan.method, Patchwise) and "signals" in found.plan.explain()
    assert psnr(clean, found.image) > psnr(clean, noisy) + 3
    several = restore(np.stack([noisy, noisy]), SIGMA, spatial=1)
    np.testing.assert_array_equal(several.image, [found.image] * 2)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (2, 2), (5, 40), (7, 7)])
def test_images_smaller_than_a_usual_patch(shape: tuple[int, int], noisy: Doubles) -> None:
    found = denoise(noisy[: shape[0], : shape[1]], SIGMA)
    assert found.image.shape == shape and np.isfinite(found.image).all()
    assert found.epitome is not None and found.epitome.phi.patch_shape == tuple(min(8, side) for side in shape)


def test_several_images_are_learned_from_together(noisy: Doubles) -> None:
    halves = np.stack([noisy[:24], noisy[24:]])
    fit = Patchwise(recipe=RECIPE).learn(halves, SIGMA)
    assert len(fit.history) == RECIPE.n_steps
    assert not same_bits(fit.epitome, Patchwise(recipe=RECIPE).learn(halves[:1], SIGMA).epitome)
    assert same_bits(fit.epitome, Patchwise(recipe=RECIPE).learn(halves, SIGMA, threads=1).epitome)


class TestErrors:
    def test_images(self, noisy: Doubles) -> None:
        with pytest.raises(ValueError, match=r"patches of shape \(6, 6\) do not fit in a picture of shape \(5, 52\)"):
            denoise(noisy[:5], SIGMA, epitome=EPITOME)
        with pytest.raises(ValueError, match=r"patches of shape \(8, 8\) do not fit in a picture of shape \(7, 52\)"):
            denoise(noisy[:7], SIGMA, recipe=Recipe())
        colour = smooth_noise(windows((10, 10, 3), (5, 5, 3)))
        with pytest.raises(ValueError, match=r"\(5, 5, 3\) do not fit .* \(48, 52, 2\), channels last"):
            denoise(np.stack([noisy] * 2, axis=-1), SIGMA, epitome=colour, channel_axis=-1)
        with pytest.raises(ValueError, match=r"\(5, 5, 3\) do not fit in a picture of shape \(48, 52\)"):
            denoise(noisy, SIGMA, epitome=colour)

    def test_settings(self) -> None:
        """At once: learning may take minutes."""
        with pytest.raises(ValueError, match="epitome and recipe exclude each other"):
            Patchwise(epitome=EPITOME, recipe=RECIPE)
        with pytest.raises(TypeError, match="epitome must be an Epitome, got ndarray"):
            Patchwise(epitome=EPITOME.pixels)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="recipe must be a Recipe, got dict"):
            Patchwise(recipe={"lam": 3})  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="residual_factor must be a finite number > 0"):
            Patchwise(residual_factor=0.0)
        with pytest.raises(ValueError, match="blend must be a finite number >= 0"):
            Patchwise(blend=-1.0)
        with pytest.raises(TypeError, match="multiscale must be True, False or None"):
            Patchwise(multiscale="yes")  # type: ignore[arg-type]

    def test_nothing_is_done_first(self, noisy: Doubles) -> None:
        progress = Progress()
        with pytest.raises(ValueError, match="threads must be at least 1"):
            denoise(noisy, SIGMA, threads=0, callback=progress)
        with pytest.raises(ValueError, match="rng must be at least 0, got -1"):
            denoise(noisy, SIGMA, rng=-1, callback=progress)
        with pytest.raises(ValueError, match=r"no natural epitome of shape \(9, 9\)"):
            denoise(noisy, SIGMA, recipe=Recipe(epitome_shape=(9, 9)), callback=progress)
        assert not progress.told
