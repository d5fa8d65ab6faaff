"""EpitomeDenoiser: the library's own denoising behind scikit-learn's interface."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from epitomes import demo, denoise
from epitomes.estimators import EpitomeDenoiser
from epitomes.estimators.denoiser import _patches
from epitomes.learn import smooth_noise
from epitomes.phi import windows

SIGMA = 20.0

Images = NDArray[np.float32]


@pytest.fixture(scope="module")
def clean() -> Images:
    """Three pieces of 48 x 64 pixels of a photograph."""
    picture = demo.shipped_picture()
    return np.stack([picture[top : top + 48, left : left + 64] for top, left in ((40, 90), (80, 60), (120, 100))])


@pytest.fixture(scope="module")
def noisy(clean: Images) -> Images:
    noise = np.random.default_rng(5).standard_normal(clean.shape)
    return (clean + SIGMA * noise).astype(np.float32)


def denoiser(**options: Any) -> EpitomeDenoiser:
    return EpitomeDenoiser(**{"sigma": SIGMA, "passes": 1.0, **options})


def error(images: NDArray[Any], clean: Images) -> float:
    return float(np.mean((np.asarray(images, np.float64) - clean) ** 2))


def test_one_image_is_denoised_as_by_denoise(noisy: Images) -> None:
    found = EpitomeDenoiser(sigma=SIGMA, random_state=2).fit(noisy[0])
    expected = denoise(noisy[0], SIGMA, method="paper", seed=2)
    np.testing.assert_array_equal(found.transform(noisy[0]), expected.image)
    np.testing.assert_array_equal(found.epitome_.pixels, expected.epitome.pixels)
    assert found.fit_.history[-1].index == len(found.fit_.history)


def test_nonlocal_with_what_was_learned(noisy: Images, clean: Images) -> None:
    found = denoiser(method="nonlocal").fit(noisy)
    restored = found.transform(noisy)
    np.testing.assert_array_equal(restored[0], denoise(noisy[0], SIGMA, epitome=found.epitome_).image)
    assert error(restored, clean) < error(denoiser().fit(noisy).transform(noisy), clean)
    colour = np.stack([noisy[0], noisy[1], noisy[2]], axis=-1)
    in_colour = denoiser(method="nonlocal", channel_axis=-1).fit(colour)
    assert in_colour.epitome_.phi.patch_shape == (8, 8)
    np.testing.assert_array_equal(in_colour.epitome_.pixels, found.epitome_.pixels)  # the same planes taught it
    assert in_colour.transform(colour).shape == colour.shape


def test_several_images_teach_one_epitome(noisy: Images, clean: Images) -> None:
    found = denoiser().fit(noisy)
    restored = found.transform(noisy)
    assert restored.shape == noisy.shape
    assert restored.dtype == noisy.dtype
    assert error(restored, clean) < 0.4 * SIGMA**2
    np.testing.assert_array_equal(found.transform(noisy[1]), restored[1])  # each by itself
    np.testing.assert_array_equal(found.transform(noisy[1:2]), restored[1:2])
    other = found.transform(noisy[0, :20, :30])  # of another size
    assert other.shape == (20, 30)


def test_no_patch_crosses_a_seam(rng: np.random.Generator) -> None:
    stack = rng.standard_normal((3, 9, 11))
    patches = _patches(stack, smooth_noise(windows((8, 8), (4, 5))), 1.0)
    rows, means = patches.rows(0, len(patches))
    apart = np.concatenate([np.lib.stride_tricks.sliding_window_view(one, (4, 5)).reshape(-1, 20) for one in stack])
    np.testing.assert_allclose(rows + means[:, None], apart, atol=1e-12)


def test_rows_are_images(noisy: Images) -> None:
    images, rows = denoiser().fit(noisy), denoiser(image_shape=(48, 64)).fit(noisy.reshape(3, -1))
    np.testing.assert_array_equal(rows.transform(noisy.reshape(3, -1)), images.transform(noisy).reshape(3, -1))
    assert rows.n_features_in_ == 48 * 64


@pytest.mark.parametrize("axis", [2, -1, 0, -3, 1])
def test_colours_are_denoised_jointly(noisy: Images, axis: int) -> None:
    """Wherever the colours are kept; grey images in three colours, so that there is something to share."""
    colour = np.stack([noisy[0], noisy[0] * 0.5 + 30, 255 - noisy[0]], axis=-1)[:24, :24]
    last = denoiser(channel_axis=-1).fit(colour)
    assert last.epitome_.phi.patch_shape == (8, 8, 3)
    assert last.epitome_.phi.epitome_shape == (20, 15, 15, 3)
    expected = last.transform(colour)
    moved = np.moveaxis(colour, -1, axis)
    found = denoiser(channel_axis=axis).fit(moved)
    np.testing.assert_array_equal(found.transform(moved), np.moveaxis(expected, -1, axis))
    np.testing.assert_array_equal(found.transform(moved[None]), np.moveaxis(expected, -1, axis)[None])


def test_whole_numbers_stay_whole(noisy: Images, clean: Images) -> None:
    bytes_in = np.clip(np.rint(noisy), 0, 255).astype(np.uint8)
    before = bytes_in.copy()
    restored = denoiser().fit(bytes_in).transform(bytes_in)
    assert restored.dtype == np.uint8
    assert error(restored, clean) < 0.4 * SIGMA**2
    np.testing.assert_array_equal(bytes_in, before)


def test_small_images_get_small_patches(rng: np.random.Generator) -> None:
    found = denoiser().fit(rng.standard_normal((30, 5, 12)))
    assert found.epitome_.phi.patch_shape == (5, 8)
    assert found.epitome_.phi.epitome_shape == (20, 9, 15)


def test_sigma_is_found(noisy: Images, clean: Images) -> None:
    found = denoiser(sigma="auto").fit(noisy)
    assert found.sigma_ == pytest.approx(SIGMA, rel=0.15)
    assert error(found.transform(noisy), clean) < 0.45 * SIGMA**2


def test_doubts_about_sigma_are_told(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match=r"no noise was found in X \(the image is constant\): give sigma"):
        denoiser(sigma="auto").fit(np.full((40, 40), 7.0))
    clipped = np.clip(rng.normal(0.0, SIGMA, (64, 64)), 0, None)  # half of the noise is cut off
    with pytest.warns(UserWarning, match="sigma was estimated as .* with a doubt: "):
        denoiser(sigma="auto").fit(clipped)


def test_score_is_minus_the_error_known_or_estimated(noisy: Images, clean: Images) -> None:
    found = denoiser().fit(noisy)
    known = found.score(noisy, clean)
    assert known == pytest.approx(-error(found.transform(noisy), clean), rel=1e-6)
    afresh = (clean + SIGMA * np.random.default_rng(6).standard_normal(clean.shape)).astype(np.float32)
    assert found.score(afresh) == pytest.approx(found.score(afresh, clean), rel=0.25)  # from the noisy images alone
    assert found.score(noisy, np.arange(3)) == found.score(noisy)  # labels of a pipeline's last step


def test_a_search_finds_the_better_gain(noisy: Images, clean: Images) -> None:
    """With the clean images and without them."""
    for y in (clean, None):
        search = GridSearchCV(denoiser(), {"gain": [0.2, 1.15]}, cv=3).fit(noisy, y)
        assert search.best_params_ == {"gain": 1.15}


def test_pipelines_frames_and_copies(noisy: Images) -> None:
    found = denoiser().fit(noisy)
    expected = found.transform(noisy)
    scaled = make_pipeline(FunctionTransformer(lambda X: X / 255), denoiser(sigma=SIGMA / 255)).fit(noisy)
    np.testing.assert_allclose(255 * scaled.transform(noisy), expected, rtol=0.02, atol=2.0)
    again = pickle.loads(pickle.dumps(found))  # noqa: S301  (of our own making)
    np.testing.assert_array_equal(again.transform(noisy), expected)
    assert clone(found).get_params() == found.get_params()
    rows = denoiser(image_shape="auto").set_output(transform="pandas").fit_transform(noisy[:, :16, :16].reshape(3, -1))
    assert list(rows.columns[:2]) == ["x0", "x1"]
    assert rows.shape == (3, 256)


@pytest.mark.parametrize(
    ("options", "shape", "message"),
    [
        ({}, (9,), "X needs 2 axes for one image or 3 for several, got shape .9,.: give image_shape"),
        ({"channel_axis": -1}, (9, 9), "X needs 3 axes for one image or 4 for several"),
        ({"channel_axis": 3}, (9, 9, 3), "channel_axis is 3, an image has 3 axes"),
        ({"image_shape": (4, 4)}, (2, 9), "image_shape .4, 4. has 16 pixels, the rows of X have 9"),
        ({"method": "magic"}, (9, 9), "method"),
        ({"sigma": 0.0}, (9, 9), "sigma must be a finite number > 0"),
        ({"patch_shape": (12, 12)}, (9, 9), "patches of shape .12, 12. do not fit in images of shape .9, 9."),
    ],
)
def test_what_cannot_be_is_refused_in_words(options: dict[str, Any], shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        denoiser(**options).fit(np.ones(shape))


def test_more_refusals(noisy: Images, clean: Images) -> None:
    found = denoiser().fit(noisy)
    with pytest.raises(ValueError, match=r"y needs the clean images of X, of shape \(3, 48, 64\), got \(48, 64\)"):
        found.score(noisy, clean[0])
    with pytest.raises(ValueError, match="NaN"):
        found.transform(np.full((20, 20), np.nan))
