"""Aggregation undoes extraction, for every stride, support, block and tile."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from epitomes import kernels
from epitomes.aggregate import Aggregator
from epitomes.kernels import reference_patches
from epitomes.patches import Patches


def picture(shape: tuple[int, ...], dtype: type = np.float64, seed: int = 0) -> NDArray[np.floating]:
    return (100 + 30 * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def returned(patches: Patches, block: int = 4096) -> Aggregator:
    """All patches, means added back, block by block."""
    aggregator = Aggregator(patches)
    for first in range(0, len(patches), block):
        rows, means = patches.rows(first, min(first + block, len(patches)))
        aggregator.add(first, rows + means[:, None])
    return aggregator


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize(
    ("shape", "patch"),
    [((17,), (5,)), ((14, 11), (5, 4)), ((12, 9, 3), (4, 3, 3)), ((7, 8, 6), (3, 2, 4)), ((5, 6, 4, 3), (3, 2, 2, 3))],
)
def test_out_and_in_is_the_identity_for_every_stride(shape, patch, centred, dtype) -> None:
    image = picture(shape, dtype)
    for stride in itertools.product(*(range(1, width + 1) for width in patch)):
        result = returned(Patches(image, patch, stride, centred)).mean()
        assert result.dtype == dtype and result.shape == shape
        np.testing.assert_allclose(result, image, rtol=0, atol=8 * np.finfo(dtype).eps * 250)


@pytest.mark.slow
@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    axes=st.lists(st.tuples(st.integers(1, 5), st.integers(0, 7), st.integers(1, 6)), min_size=1, max_size=4),
    seed=st.integers(0, 10_000),
    share=st.floats(0.2, 1.0),
)
def test_supports_cover_or_say_so(axes: list[tuple[int, int, int]], seed: int, share: float) -> None:
    patch, extra, stride = (tuple(column) for column in zip(*axes, strict=True))
    if np.prod(patch) * np.prod(np.add(extra, 1)) > 30_000:
        return
    image = picture(tuple(np.add(patch, extra)), seed=seed)
    support = np.random.default_rng(seed).random(patch) < share
    support.flat[0] = True
    patches = Patches(image, patch, stride, support=support)
    covered = np.zeros(image.size, bool)
    covered[patches.starts(0, len(patches))[:, None] + patches.offsets] = True
    aggregator = returned(patches)
    if covered.all():
        np.testing.assert_allclose(aggregator.mean(), image, rtol=1e-13)
        return
    first = tuple(int(i) for i in np.unravel_index(np.argmin(covered), image.shape))
    with pytest.raises(ValueError, match=f"{(~covered).sum()} of {image.size} pixels have no estimate") as caught:
        aggregator.mean()
    assert f"the first at index {first}:" in str(caught.value)
    other = picture(image.shape, seed=seed + 1)
    filled = aggregator.mean(other, blend=0.0)
    np.testing.assert_array_equal(filled[~covered.reshape(image.shape)], other[~covered.reshape(image.shape)])
    np.testing.assert_allclose(filled[covered.reshape(image.shape)], image[covered.reshape(image.shape)], rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_do_not_change_bits(dtype) -> None:
    patches = Patches(picture((75, 66), dtype), (8, 7), support=np.random.default_rng(0).random((8, 7)) < 0.8)
    rows = np.random.default_rng(1).standard_normal((len(patches), patches.patch_size)).astype(dtype)
    weights = np.random.default_rng(2).random(len(patches))
    images = []
    for block in (1, 7, 4096, len(patches)):
        aggregator = Aggregator(patches)
        for first in range(0, len(patches), block):
            part = slice(first, first + block)
            aggregator.add(first, rows[part], weights[part])
        images.append(aggregator.mean(patches.image, blend=0.3).tobytes())
    assert len(set(images)) == 1


@pytest.mark.parametrize("seed", range(40))
def test_sums_have_the_bits_of_one_patch_after_another(seed: int) -> None:
    """Neighbours are added together, whatever the gaps of the support, the channels and the stride."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(5, 30, 2)) + ((), (2,), (3,))[seed % 3]
    patch = tuple(int(rng.integers(1, min(n, 9) + 1)) for n in shape)
    support = rng.random(patch) < 0.7
    support.flat[0] = True
    dtype = (np.float32, np.float64)[seed % 2]
    patches = Patches(np.zeros(shape, dtype), patch, int(rng.integers(1, 4)), support=support)
    rows = rng.standard_normal((len(patches), patches.patch_size)).astype(dtype)
    weights = rng.random(len(patches)).astype(dtype)
    total, weight, exact_total, exact_weight = np.zeros((4, patches.image.size))
    starts = patches.starts(0, len(patches))
    kernels.scatter(total, weight, starts, patches.offsets, rows, weights)
    reference_patches.scatter(exact_total, exact_weight, starts, patches.offsets, rows, weights)
    np.testing.assert_array_equal(total, exact_total)
    np.testing.assert_array_equal(weight, exact_weight)


@pytest.mark.parametrize(
    ("shape", "patch", "tile"),
    [((50, 41), (8, 6), (17, 13)), ((40, 30, 3), (5, 4, 3), (11, 9, 3)), ((90,), (7,), (20,))],
)
def test_tiles_with_a_halo_do_not_change_bits(shape, patch, tile) -> None:
    patches = Patches(picture(shape, np.float32), patch)
    untiled = returned(patches).mean()
    tiled = np.full(shape, np.nan, np.float32)
    for corner in itertools.product(*(range(0, n, t) for n, t in zip(shape, tile, strict=True))):
        inner = [slice(a, min(a + t, n)) for a, t, n in zip(corner, tile, shape, strict=True)]
        outer = [
            slice(max(part.start - w + 1, 0), min(part.stop + w - 1, n))
            for part, w, n in zip(inner, patch, shape, strict=True)
        ]
        image = returned(patches.crop(outer), block=100).mean()
        local = tuple(slice(i.start - o.start, i.stop - o.start) for i, o in zip(inner, outer, strict=True))
        tiled[tuple(inner)] = image[local]
    assert tiled.tobytes() == untiled.tobytes()


def test_weights_and_blend_follow_the_formula() -> None:
    image = picture((9, 8))
    patches = Patches(image, (3, 2), (2, 1))
    rng = np.random.default_rng(5)
    estimates, weights = rng.standard_normal((len(patches), 6)), rng.random(len(patches))
    total, weight = np.zeros(image.shape), np.zeros(image.shape)
    corners = itertools.product([0, 2, 4, 6], range(7))
    for (i, j), row, w in zip(corners, estimates, weights, strict=True):
        total[i : i + 3, j : j + 2] += w * row.reshape(3, 2)
        weight[i : i + 3, j : j + 2] += w
    aggregator = Aggregator(patches)
    aggregator.add(0, estimates[:10], weights[:10])
    aggregator.add(10, estimates[10:], weights[10:].tolist())
    np.testing.assert_allclose(aggregator.mean(), total / weight, rtol=1e-13)
    np.testing.assert_allclose(aggregator.mean(image, 0.7), (total + 0.7 * image) / (weight + 0.7), rtol=1e-13)
    np.testing.assert_array_equal(aggregator.mean(image), aggregator.mean())  # blend 0: noisy only fills holes
    aggregator.add(0, np.zeros_like(estimates), np.zeros(len(patches)))
    np.testing.assert_allclose(aggregator.mean(), total / weight, rtol=1e-13)  # an estimate of weight 0 does not count


def test_blend_against_a_small_linear_system() -> None:
    """Elad and Aharon: the image that minimises `blend * |z - y|^2 + sum_i |R_i z - x_i|^2`."""
    noisy = picture((7, 6))
    patches = Patches(noisy, 3, 2)
    estimates = np.random.default_rng(6).standard_normal((len(patches), 9))
    pixels = patches.starts(0, len(patches))[:, None] + patches.offsets
    cut = np.eye(noisy.size)[pixels.ravel()]  # all R_i, one over the other
    system = np.vstack([np.sqrt(0.5) * np.eye(noisy.size), cut])
    wanted = np.concatenate([np.sqrt(0.5) * noisy.ravel(), estimates.ravel()])
    aggregator = Aggregator(patches)
    aggregator.add(0, estimates)
    best = np.linalg.lstsq(system, wanted, rcond=None)[0].reshape(noisy.shape)
    np.testing.assert_allclose(aggregator.mean(noisy, blend=0.5), best, rtol=1e-11)


def test_sums_are_in_float64() -> None:
    """In float32 the many equal estimates of a pixel would drift away from their mean."""
    patches = Patches(np.full(4000, 0.1, np.float32), 2000, centred=False)
    np.testing.assert_array_equal(returned(patches, 500).mean(), patches.image)


@pytest.mark.parametrize("of_estimates", [np.float32, np.float64])
@pytest.mark.parametrize("of_image", [np.float32, np.float64])
def test_the_result_has_the_dtype_of_the_image(of_image, of_estimates) -> None:
    patches = Patches(picture((8, 9), of_image), 3)
    rows, means = patches.rows(0, len(patches))
    estimates = (rows + means[:, None]).astype(of_estimates)
    before = estimates.copy()
    aggregator = Aggregator(patches)
    aggregator.add(0, estimates)
    assert aggregator.mean().dtype == of_image
    np.testing.assert_array_equal(estimates, before)
    np.testing.assert_allclose(aggregator.mean(), patches.image, rtol=1e-6)


def test_errors_say_what_was_needed() -> None:
    image = picture((6, 7))
    patches = Patches(image, 3)
    rows = np.zeros((20, 9))
    for arguments, kind, words in (
        ((0, rows[:, :8]), ValueError, r"estimates need 9 pixels per row, got shape \(20, 8\)"),
        ((0, rows[0]), ValueError, "estimates needs 2 axes"),
        ((1, rows), ValueError, "rows 1 to 21 are not a range within the 20 patches"),
        ((-1, rows), ValueError, "first"),
        ((0, np.where(rows == 0, np.nan, 0)), ValueError, "estimates holds 180 NaN"),
        ((0, rows, np.ones(19)), ValueError, "weights need one number per row of estimates, 20, got 19"),
        ((0, rows, np.ones((20, 1))), ValueError, "weights needs 1 axes"),
        ((0, rows, -np.arange(20)), ValueError, r"weights must be >= 0, got -19.0 at index 19"),
        ((0, rows, np.full(20, np.inf)), ValueError, "weights holds 20 NaN or infinite"),
    ):
        with pytest.raises(kind, match=words):
            Aggregator(patches).add(*arguments)
    aggregator = returned(patches)
    for arguments, kind, words in (
        ((None, 0.5), ValueError, "blend 0.5 needs the noisy image"),
        ((image, -0.5), ValueError, "blend must be a finite number >= 0"),
        ((image[1:], 0.5), ValueError, r"noisy needs the shape \(6, 7\) of the image, got \(5, 7\)"),
        ((np.where(image > 0, np.nan, 0), 0.5), ValueError, "noisy holds 42 NaN"),
    ):
        with pytest.raises(kind, match=words):
            aggregator.mean(*arguments)
    np.testing.assert_allclose(aggregator.mean(), image, rtol=1e-13)  # refused calls changed nothing


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_overflow_is_an_error_not_an_infinity() -> None:
    single = Aggregator(Patches(picture((6, 7), np.float32), 3))
    single.add(0, np.full((20, 9), 1e39))
    double = Aggregator(Patches(picture((6, 7)), 3))
    double.add(0, np.full((20, 9), 1e10), np.full(20, 1e300))
    for aggregator in (single, double):
        with pytest.raises(ValueError, match="too large for float"):
            aggregator.mean()
        with pytest.raises(ValueError, match="too large for float"):
            aggregator.mean(aggregator.patches.image, 0.5)
