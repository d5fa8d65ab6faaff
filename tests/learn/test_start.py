"""Initial epitomes: each against its definition, computed another way."""

from __future__ import annotations

import numpy as np
import phi_cases
import pytest
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, gaussian_filter1d

from epitomes import Epitome
from epitomes.learn import cosines, random_windows, smooth_noise
from epitomes.phi import UnionPhi, flat, split, union, windows

# A union inside a union no longer knows the shapes of its pictures.
NESTED = "union of union"
PHIS = {name: phi for name, phi in phi_cases.NAMED.items() if name != NESTED}


def pictures(epitome: Epitome) -> list[NDArray[np.float64]]:
    """Each picture of the epitome, with the axes of a patch."""
    phi, pixels = epitome.phi, epitome.pixels
    if isinstance(phi, UnionPhi):
        parts = zip(split(phi, pixels), phi.parts, strict=True)
        return [picture for piece, part in parts for picture in pictures(Epitome(piece, part))]
    parts_ = split(phi, pixels) if getattr(phi, "part_shapes", ()) else (pixels,)
    rank = len(phi.patch_shape)
    return [picture for part in parts_ for picture in part.reshape(-1, *part.shape[part.ndim - rank :])]


# ---- all of them


@pytest.mark.parametrize("name", PHIS)
def test_every_phi_has_a_start(name: str, rng: np.random.Generator) -> None:
    """No start has an atom that is zero, for such an atom would never be used."""
    phi = PHIS[name]
    image = rng.standard_normal((60,) * len(phi.patch_shape))
    for epitome in (smooth_noise(phi), random_windows(phi, image), cosines(phi)):
        assert epitome.pixels.shape == phi.epitome_shape
        assert epitome.phi is phi
        assert (epitome.dictionary.norms > 0).all()


def test_pictures_of_one_pixel() -> None:
    """Without its mean nothing would be left of it."""
    for epitome in (
        smooth_noise(flat(5, (1, 1))),
        random_windows(flat(5, (1, 1)), np.ones((4, 4))),
        cosines(flat(5, (1, 1))),
    ):
        assert (epitome.pixels != 0).all()


@pytest.mark.parametrize("make", [smooth_noise, cosines])
def test_nested_unions_are_refused(make: type) -> None:
    with pytest.raises(ValueError, match="join all parts in one union"):
        make(phi_cases.NAMED[NESTED])


@pytest.mark.parametrize("seed", [-1, 0.5, True])
def test_bad_seeds(seed: object) -> None:
    for call in (
        lambda: smooth_noise(flat(2, 4), rng=seed),
        lambda: random_windows(flat(2, 4), np.arange(9.0), rng=seed),
    ):
        with pytest.raises((TypeError, ValueError), match="rng must be"):
            call()  # type: ignore[no-untyped-call]


# ---- smooth noise


@pytest.mark.parametrize("name", PHIS)
def test_noise_has_mean_zero_and_variance_one_in_each_picture(name: str) -> None:
    for picture in pictures(smooth_noise(PHIS[name])):
        if picture.size > 1:
            assert picture.mean() == pytest.approx(0, abs=1e-12)
            assert picture.std() == pytest.approx(1)


def test_noise_is_filtered_noise() -> None:
    """The filter as a convolution of each axis by hand, on a picture far larger than it."""
    found = smooth_noise(windows((64, 48), (8, 8)), rng=4, width=2.0).pixels
    x = np.arange(-8, 9)
    taps = np.exp(-(x**2) / (2 * 2.0**2))
    soft = np.random.default_rng(4).standard_normal((64, 48))
    for axis in (0, 1):
        soft = sum(tap * np.roll(soft, shift, axis) for tap, shift in zip(taps, x, strict=True))
    soft -= soft.mean()
    np.testing.assert_allclose(found, soft / soft.std(), atol=1e-10)


def test_noise_does_not_cross_pictures_and_channels() -> None:
    """Each picture and each channel is smooth; beside each other they are strangers."""

    def likeness(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
        return float(np.corrcoef(a.reshape(-1), b.reshape(-1))[0, 1])

    several = smooth_noise(windows((2, 64, 64), (8, 8))).pixels
    colour = smooth_noise(windows((64, 64, 3), (8, 8, 3))).pixels
    for one, other in ((several[0], several[1]), (colour[..., 0], colour[..., 1])):
        assert likeness(one[1:], one[:-1]) > 0.8
        assert likeness(one[:, 1:], one[:, :-1]) > 0.8
        assert abs(likeness(one, other)) < 0.2


def test_noise_has_the_same_variance_at_the_border() -> None:
    found = smooth_noise(windows((2000, 12, 12), (8, 8)), width=1.5).pixels
    spread = found.std(axis=0)
    assert spread[0].mean() == pytest.approx(spread[6].mean(), rel=0.04)
    mirrored = gaussian_filter(np.random.default_rng(0).standard_normal((2000, 12, 12)), (0, 1.5, 1.5)).std(axis=0)
    assert mirrored[0].mean() > 1.1 * mirrored[6].mean()  # the test can tell: another border would fail it


def test_noise_depends_on_seed_and_width() -> None:
    phi = windows((20, 20), (8, 8))
    np.testing.assert_array_equal(smooth_noise(phi, rng=3).pixels, smooth_noise(phi, rng=3).pixels)
    assert not np.array_equal(smooth_noise(phi, rng=3).pixels, smooth_noise(phi, rng=4).pixels)
    white = np.random.default_rng(0).standard_normal((20, 20))
    np.testing.assert_allclose(smooth_noise(phi, width=0).pixels, (white - white.mean()) / white.std())
    for width in (-1.0, np.nan, np.inf, "1"):
        with pytest.raises((TypeError, ValueError), match="width must be"):
            smooth_noise(phi, width=width)  # type: ignore[arg-type]


def test_a_wide_filter_leaves_something_of_a_small_picture() -> None:
    found = smooth_noise(windows((6, 6), (4, 4)), width=1e9).pixels
    np.testing.assert_array_equal(found, smooth_noise(windows((6, 6), (4, 4)), width=3.0).pixels)
    # What is left is one slow wave along each axis, not rounding errors: a further filter only scales it.
    again = gaussian_filter1d(gaussian_filter1d(found, 1.0, axis=0, mode="wrap"), 1.0, axis=1, mode="wrap")
    assert np.corrcoef(found.ravel(), again.ravel())[0, 1] > 0.98


# ---- random windows


def test_random_windows_are_windows_of_the_image(rng: np.random.Generator) -> None:
    image = rng.standard_normal((30, 26)).astype(np.float32)
    for phi in (windows((12, 11), (4, 4)), windows((3, 9, 8), (4, 4)), union(windows((7, 5), (4, 4)), flat(2, (4, 4)))):
        for piece in pictures(random_windows(phi, image, rng=1)):
            assert piece.dtype == np.float32
            found = np.lib.stride_tricks.sliding_window_view(image, piece.shape)
            centred = found - found.mean(axis=(2, 3), keepdims=True)
            assert np.abs(centred - piece).max(axis=(2, 3)).min() < 1e-6


def test_random_windows_come_from_everywhere() -> None:
    """A ramp tells where each window was: the corners of 400 windows reach all over the image."""
    ramp = np.add.outer(np.arange(12.0) ** 2, 1000 * np.arange(10.0) ** 2)
    found = random_windows(flat(400, (3, 3)), ramp).pixels
    steps_down = np.unique(np.round(found[:, 1, 0] - found[:, 0, 0], 6))
    steps_right = np.unique(np.round(found[:, 0, 1] - found[:, 0, 0], 6))
    assert len(steps_down) == 12 - 3 + 1
    assert len(steps_right) == 10 - 3 + 1


def test_random_windows_depend_on_the_seed_and_leave_the_image(rng: np.random.Generator) -> None:
    image, phi = rng.standard_normal((30, 30)), windows((12, 12), (4, 4))
    before = image.copy()
    np.testing.assert_array_equal(random_windows(phi, image, rng=1).pixels, random_windows(phi, image, rng=1).pixels)
    assert not np.array_equal(random_windows(phi, image, rng=1).pixels, random_windows(phi, image, rng=2).pixels)
    np.testing.assert_array_equal(image, before)
    assert random_windows(phi, (image * 40).astype(np.uint8)).pixels.dtype == np.float32


def test_constant_windows_are_drawn_again() -> None:
    image = np.zeros((40, 40))
    image[:8, :8] = np.arange(64).reshape(8, 8)  # most windows are constant
    found = random_windows(flat(20, (4, 4)), image).pixels
    assert (found.reshape(20, -1).std(axis=1) > 0).all()
    with pytest.raises(ValueError, match="are constant: use an image with structure"):
        random_windows(flat(20, (4, 4)), np.full((40, 40), 7.0))


def test_images_that_do_not_fit(rng: np.random.Generator) -> None:
    phi = windows((12, 12), (4, 4))
    for shape in ((11, 40), (40, 11), (40,), (40, 40, 3)):
        with pytest.raises(ValueError, match="image must be at least as large as"):
            random_windows(phi, rng.standard_normal(shape))
    with pytest.raises(ValueError, match="image holds 1 NaN"):
        random_windows(phi, np.where(np.arange(400).reshape(20, 20) == 3, np.nan, 1.0))
    assert random_windows(phi, rng.standard_normal((12, 12))).pixels.std() > 0  # exactly fits


# ---- cosines


def overcomplete_dct(n: int, k: int) -> NDArray[np.float64]:
    """The dictionary of the K-SVD papers, `(k, n)`: cosines, all but the first without mean, of length one."""
    rows = []
    for frequency in range(k):
        row = np.array([np.cos(x * frequency * np.pi / k) for x in range(n)])
        rows.append(row - row.mean() if frequency else row)
    return np.array([row / np.linalg.norm(row) for row in rows])


@pytest.mark.parametrize(("k", "width"), [(16, 8), (11, 8), (8, 8), (3, 5), (1, 4)])
def test_flat_cosines_are_the_overcomplete_dct(k: int, width: int) -> None:
    found = cosines(flat(k * k, (width, width))).dictionary.unit
    one = overcomplete_dct(width, k)
    np.testing.assert_allclose(found, np.kron(one, one), atol=1e-12)


def test_flat_cosines_of_other_sizes() -> None:
    signal = cosines(flat(20, 8)).dictionary.unit
    np.testing.assert_allclose(signal, overcomplete_dct(8, 20), atol=1e-12)
    volume = cosines(flat(27, (4, 5, 3))).dictionary.unit
    a, b, c = (overcomplete_dct(n, 3) for n in (4, 5, 3))
    np.testing.assert_allclose(volume, np.kron(a, np.kron(b, c)), atol=1e-12)
    full, some = (cosines(flat(n, (8, 8))).dictionary.unit for n in (256, 250))
    matches = (np.abs(some @ full.T) > 1 - 1e-9).argmax(axis=1)
    assert len(set(matches)) == 250  # each of them once
    left = sorted(set(range(256)) - set(matches))
    assert all(min(divmod(number, 16)) >= 12 for number in left)  # the highest frequencies are left out


def test_large_cosines_hold_many_frequencies() -> None:
    """Windows along the diagonal oscillate faster and faster."""
    epitome = cosines(windows((42, 42), (8, 8)))
    assert np.sqrt(np.mean(epitome.pixels**2)) == pytest.approx(1)
    steps = [np.linalg.norm(np.diff(epitome.pixels[i : i + 8, i : i + 8], axis=0)) for i in (0, 11, 22, 34)]
    sizes = [np.linalg.norm(epitome.pixels[i : i + 8, i : i + 8]) for i in (0, 11, 22, 34)]
    speeds = np.divide(steps, sizes)
    assert (np.diff(speeds) > 0.1).all()


def test_large_cosines_are_products() -> None:
    for picture in cosines(windows((20, 15, 15), (8, 8))).pixels:
        values = np.linalg.svd(picture, compute_uv=False)
        assert values[1] < 1e-12 * values[0]
        assert np.sqrt(np.mean(picture**2)) == pytest.approx(1)
