"""EpitomeDenoiser: `epitomes.denoise` behind scikit-learn's interface."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from epitomes import Noise, demo, denoise, estimate_noise
from epitomes.estimators import EpitomeDenoiser
from epitomes.learn import natural
from epitomes.phi import windows
from epitomes.restoration import NonLocal, Patchwise, Recipe

SIGMA = 20.0
FAST = {"sigma": SIGMA, "preset": "fast"}
QUICK = Patchwise(recipe=Recipe(n_steps=2))

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


@pytest.fixture(scope="module")
def colour(noisy: Images) -> Images:
    """Grey images in three colours, so that there is something to share."""
    return np.stack([noisy[0], noisy[0] * 0.5 + 30, 255 - noisy[0]], axis=-1)[:24, :32]


def learner(**options: Any) -> EpitomeDenoiser:
    return EpitomeDenoiser(**{"sigma": SIGMA, "method": QUICK, **options})


def error(images: NDArray[Any], clean: Images) -> float:
    return float(np.mean((np.asarray(images, np.float64) - clean) ** 2))


def quiet(estimator: EpitomeDenoiser, images: NDArray[Any]) -> NDArray[Any]:
    """`fit_transform`; small images leave doubts about their noise."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the noise was estimated with low confidence")
        return estimator.fit_transform(images)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sigma": SIGMA},
        {"noise": Noise.gaussian(SIGMA)},
        {"noise": Noise.poisson_gaussian(2.0, offset=-10.0, read_noise=8.0)},
        {"preset": "fast"},
        {"sigma": SIGMA, "preset": "balanced"},
        {"sigma": SIGMA, "method": "paper"},
        {"sigma": 90.0, "method": "paper"},  # strong noise: patches of three scales
        {"sigma": SIGMA, "method": "nonlocal"},
        {"sigma": SIGMA, "method": NonLocal(preset="fast", residual_factor=1.0)},
        {"sigma": SIGMA, "method": QUICK},
        {"sigma": SIGMA, "method": Patchwise(recipe=Recipe(n_steps=1), multiscale=True)},
        {"sigma": SIGMA, "epitome": natural(windows((42, 42), (8, 8)))},
        {"sigma": SIGMA, "method": "paper", "epitome": natural(windows((42, 42), (8, 8)))},
    ],
    ids=repr,
)
def test_one_image_is_denoised_as_by_denoise(noisy: Images, options: dict[str, Any]) -> None:
    found = quiet(EpitomeDenoiser(random_state=2, **options), noisy[0])
    np.testing.assert_array_equal(found, denoise(noisy[0], rng=2, **options))


@pytest.mark.parametrize("axis", [2, -1, 0, -3, 1])
@pytest.mark.parametrize("options", [{}, FAST, {"sigma": SIGMA, "method": "paper"}], ids=repr)
def test_colours_are_denoised_as_by_denoise(colour: Images, options: dict[str, Any], axis: int) -> None:
    expected = denoise(colour, channel_axis=-1, **options)
    moved = np.moveaxis(colour, -1, axis)
    estimator = EpitomeDenoiser(channel_axis=axis, **options)
    np.testing.assert_array_equal(quiet(estimator, moved), np.moveaxis(expected, -1, axis))
    np.testing.assert_array_equal(estimator.transform(moved[None]), np.moveaxis(expected, -1, axis)[None])


@pytest.mark.slow
def test_a_whole_image_is_denoised_as_by_denoise() -> None:
    """Large enough for trials: the chosen method and the estimated noise are those of `denoise`."""
    noisy = demo.shipped_picture()[:128, :128] + np.random.default_rng(0).normal(0, SIGMA, (128, 128))
    estimator = EpitomeDenoiser(n_jobs=-1).fit(noisy)
    np.testing.assert_array_equal(estimator.transform(noisy), denoise(noisy))
    assert estimator.plan_.trials
    assert estimator.sigma_ == estimate_noise(noisy).level


@pytest.mark.slow
def test_one_epitome_is_learned_from_all_images(noisy: Images, clean: Images) -> None:
    found = learner(method="paper").fit(noisy)
    restored = found.transform(noisy)
    assert restored.shape == noisy.shape
    assert restored.dtype == noisy.dtype
    assert error(restored, clean) < 0.4 * SIGMA**2
    assert found.fit_.epitome is found.epitome_ is found.plan_.method.epitome
    assert found.epitome_.phi.epitome_shape == (20, 15, 15)
    np.testing.assert_array_equal(restored[2], denoise(noisy[2], SIGMA, method="paper", epitome=found.epitome_))
    np.testing.assert_array_equal(found.transform(noisy[1]), restored[1])  # each by itself
    np.testing.assert_array_equal(found.transform(noisy[1:2]), restored[1:2])
    assert found.transform(noisy[0, :20, :30]).shape == (20, 30)  # of another size
    assert not np.array_equal(found.epitome_.pixels, learner(method="paper").fit(noisy[:1]).epitome_.pixels)


def test_colour_patches_are_learned_jointly(colour: Images) -> None:
    start = natural(windows((20, 15, 15, 3), (8, 8, 3)))
    found = learner(method=Patchwise(recipe=Recipe(start=start, n_steps=1)), channel_axis=-1).fit(colour)
    assert found.epitome_.phi.patch_shape == (8, 8, 3)
    expected = denoise(colour, SIGMA, method="paper", epitome=found.epitome_, channel_axis=-1)
    np.testing.assert_array_equal(found.transform(colour), expected)


@pytest.mark.parametrize("options", [{"channel_axis": -1, "method": "paper"}, {"method": "paper", "sigma": 90.0}, FAST])
def test_where_nothing_can_be_shared_nothing_is_learned_by_fit(colour: Images, options: dict[str, Any]) -> None:
    images = colour if "channel_axis" in options else colour[..., 0]
    found = learner().fit(colour[..., 0])
    assert hasattr(found, "epitome_")
    found.set_params(**{"sigma": SIGMA, "method": None, **options}).fit(images)
    assert not hasattr(found, "epitome_")
    assert not hasattr(found, "fit_")


@pytest.mark.slow
def test_a_method_is_chosen_on_the_image_with_the_largest_variance() -> None:
    flat = np.full((128, 128), 50.0)
    busy = demo.shipped_picture()[64:192, 64:192]
    images = np.stack([flat, busy, flat]) + np.random.default_rng(0).normal(0, SIGMA, (3, 128, 128))
    first, second = (EpitomeDenoiser(sigma=SIGMA).fit(image).plan_.reasons for image in images[:2])
    assert first != second
    assert EpitomeDenoiser(sigma=SIGMA).fit(images).plan_.reasons == second


def test_rows_are_images(noisy: Images) -> None:
    images, rows = EpitomeDenoiser(**FAST).fit(noisy), EpitomeDenoiser(image_shape=(48, 64), **FAST)
    found = rows.fit_transform(noisy.reshape(3, -1))
    np.testing.assert_array_equal(found, images.transform(noisy).reshape(3, -1))
    assert rows.n_features_in_ == 48 * 64


def test_rows_with_channels(colour: Images) -> None:
    found = EpitomeDenoiser(image_shape=colour.shape, channel_axis=-1, **FAST).fit_transform(colour.reshape(1, -1))
    np.testing.assert_array_equal(found.reshape(colour.shape), denoise(colour, channel_axis=-1, **FAST))


@pytest.mark.parametrize(("shape", "patch"), [((30, 5, 12), (5, 8)), ((4, 2, 2), (2, 2)), ((20, 11), (8,))])
def test_small_images_and_signals_get_small_patches(
    shape: tuple[int, ...], patch: tuple[int, ...], rng: np.random.Generator
) -> None:
    rows = rng.standard_normal(shape).reshape(shape[0], -1)
    found = EpitomeDenoiser(sigma=0.3, image_shape=shape[1:]).fit(rows)
    assert found.epitome_.phi.patch_shape == patch
    assert found.epitome_.phi.epitome_shape == (20, *(2 * side - 1 for side in patch))
    assert found.transform(rows).shape == rows.shape


def test_whole_numbers_stay_whole(noisy: Images, clean: Images) -> None:
    bytes_in = np.clip(np.rint(noisy), 0, 255).astype(np.uint8)
    before = bytes_in.copy()
    restored = learner(method="paper").fit(bytes_in).transform(bytes_in)
    assert restored.dtype == np.uint8
    assert error(restored, clean) < 0.4 * SIGMA**2
    np.testing.assert_array_equal(bytes_in, before)


def test_the_noise_of_several_images_is_the_median_of_theirs(noisy: Images, clean: Images) -> None:
    with pytest.warns(UserWarning, match="the noise was estimated with low confidence"):
        found = EpitomeDenoiser(preset="fast").fit(noisy)
    levels = [estimate_noise(image).level for image in noisy]
    assert found.sigma_ == found.noise_.level == np.median(levels)
    assert found.sigma_ == pytest.approx(SIGMA, rel=0.15)
    assert error(found.transform(noisy), clean) < 0.45 * SIGMA**2


def test_images_without_noise_are_returned_as_they_are() -> None:
    flat = np.full((40, 40), 7.0)
    for options in ({}, {"method": "paper"}):
        with pytest.warns(UserWarning, match=r"low confidence \(no noise\): The image is constant"):
            found = EpitomeDenoiser(**options).fit(flat)
        with pytest.warns(UserWarning, match="no noise was found, and the image is unchanged: pass sigma"):
            np.testing.assert_array_equal(found.transform(flat), flat)


@pytest.mark.slow
def test_score_is_minus_the_error_known_or_estimated(noisy: Images, clean: Images) -> None:
    found = learner(method="paper").fit(noisy)
    known = found.score(noisy, clean)
    assert known == pytest.approx(-error(found.transform(noisy), clean), rel=1e-6)
    afresh = (clean + SIGMA * np.random.default_rng(6).standard_normal(clean.shape)).astype(np.float32)
    assert found.score(afresh) == pytest.approx(found.score(afresh, clean), rel=0.25)  # from the noisy images alone
    assert found.score(noisy, np.arange(3)) == found.score(noisy)  # labels of a pipeline's last step


def test_score_with_a_level_per_channel(clean: Images) -> None:
    sigma = np.array([5.0, 10.0, 20.0])
    image = np.moveaxis(clean, 0, -1)
    noisy = image + sigma * np.random.default_rng(0).standard_normal(image.shape)
    found = EpitomeDenoiser(noise=Noise.gaussian(sigma), channel_axis=-1, preset="fast").fit(noisy)
    assert found.score(noisy) == pytest.approx(found.score(noisy, image), rel=0.3)
    counted = EpitomeDenoiser(noise=Noise.poisson_gaussian(1.0), preset="fast").fit(noisy[..., 0])
    with pytest.raises(ValueError, match=r"white Gaussian noise only, got Poisson-Gaussian.*: pass the clean images"):
        counted.score(noisy[..., 0])


@pytest.mark.slow
def test_a_search_finds_the_better_method(noisy: Images, clean: Images) -> None:
    """With the clean images and without them."""
    methods = [NonLocal(preset="fast", residual_factor=factor) for factor in (0.2, 1.15)]
    for y in (clean, None):
        search = GridSearchCV(EpitomeDenoiser(sigma=SIGMA), {"method": methods}, cv=3).fit(noisy, y)
        assert search.best_params_["method"].residual_factor == 1.15


@pytest.mark.slow
def test_pipelines_frames_and_copies(noisy: Images) -> None:
    found = learner().fit(noisy)
    expected = found.transform(noisy)
    scaled = make_pipeline(FunctionTransformer(lambda X: X / 255), learner(sigma=SIGMA / 255)).fit(noisy)
    np.testing.assert_allclose(255 * scaled.transform(noisy), expected, rtol=0.02, atol=2.0)
    again = pickle.loads(pickle.dumps(found))  # noqa: S301  (of our own making)
    np.testing.assert_array_equal(again.transform(noisy), expected)
    given = EpitomeDenoiser(sigma=SIGMA, noise=None, epitome=natural(windows((42, 42), (8, 8))), method="paper")
    assert clone(found).get_params().keys() == clone(given).get_params().keys() == found.get_params().keys()
    np.testing.assert_array_equal(clone(given).fit_transform(noisy[0]), given.fit_transform(noisy[0]))
    rows = learner(image_shape="auto").set_output(transform="pandas").fit_transform(noisy[:, :16, :16].reshape(3, -1))
    assert list(rows.columns[:2]) == ["x0", "x1"]
    assert rows.shape == (3, 256)


@pytest.mark.slow
def test_threads_and_generators(noisy: Images) -> None:
    one, two = (EpitomeDenoiser(sigma=SIGMA, preset="best", n_jobs=n).fit_transform(noisy[0]) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    drawn = learner(random_state=np.random.RandomState(0)).fit(noisy)
    np.testing.assert_array_equal(drawn.transform(noisy), drawn.transform(noisy))  # the seed is drawn by fit alone


@pytest.mark.parametrize(
    ("options", "shape", "message"),
    [
        ({}, (9,), "X needs 2 axes for one image or 3 for several, got shape .9,.: pass image_shape"),
        ({"channel_axis": -1}, (9, 9), "X needs 3 axes for one image or 4 for several"),
        ({"channel_axis": 3}, (9, 9, 3), "channel_axis 3 is out of range for an array of shape .9, 9, 3."),
        ({"image_shape": (4, 4)}, (2, 9), "image_shape .4, 4. has 16 pixels, the rows of X have 9"),
        ({"method": "magic"}, (9, 9), "method must be one of 'nonlocal', 'paper', got 'magic'"),
        ({"preset": "slow"}, (9, 9), "preset must be one of"),
        ({"sigma": 0.0}, (9, 9), "sigma must be a finite number > 0"),
        ({"noise": Noise.gaussian(1.0)}, (9, 9), "sigma is short for noise=.*, and both were given"),
        ({"time": 1.0, "preset": "fast"}, (9, 9), "time chooses the method, and preset sets it"),
        ({"method": "nonlocal"}, (5, 9), "smaller than a patch of 8 x 8"),
    ],
)
def test_invalid_parameters_are_refused(options: dict[str, Any], shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EpitomeDenoiser(**{"sigma": SIGMA, **options}).fit(np.ones(shape))


def test_more_refusals(noisy: Images, clean: Images) -> None:
    found = EpitomeDenoiser(**FAST).fit(noisy)
    with pytest.raises(ValueError, match=r"y needs the clean images of X, of shape \(3, 48, 64\), got \(48, 64\)"):
        found.score(noisy, clean[0])
    with pytest.raises(ValueError, match="NaN"):
        found.transform(np.full((20, 20), np.nan))
