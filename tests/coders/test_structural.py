"""The structural kernel, for patches of an image on an epitome: when it is used, agreement with rows, tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from epitomes import Dictionary, Epitome, Patches, kernels
from epitomes.coders import OLS, OMP, Lasso, LassoLARS
from epitomes.coders._encode import is_structural
from epitomes.phi import windows

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference codes rows only")

CODERS = [OMP(residual=64 * 20.0**2), OLS(residual=64 * 20.0**2), Lasso(lam=60.0), LassoLARS(lam=60.0)]


def epitome(rng: np.random.Generator, dtype: Any = np.float32, shape: tuple[int, ...] = (30, 31)) -> Epitome:
    phi = windows(shape, (8, 8))
    return Epitome(rng.standard_normal(phi.epitome_shape).cumsum(-1).cumsum(-2).astype(dtype), phi)


def picture(rng: np.random.Generator, dtype: Any = np.float32, shape: tuple[int, int] = (70, 83)) -> Any:
    smooth = rng.standard_normal(shape).cumsum(0).cumsum(1)
    return (128 + 40 * smooth / smooth.std() + 25 * rng.standard_normal(shape)).astype(dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("coder", CODERS, ids=repr)
def test_same_codes_as_rows(coder: Any, dtype: Any, rng: np.random.Generator) -> None:
    D, patches = epitome(rng, dtype).dictionary, Patches(picture(rng, dtype), (8, 8))
    assert is_structural(patches, D)
    X, _ = patches.rows(0, len(patches))
    ours, rows = coder.encode(patches, D), coder.encode(X, D)
    assert ours.dtype == dtype and ours.has_sorted_indices
    assert 0.3 < ours.nnz / len(X) < 10
    same = np.mean([np.array_equal(ours[[i]].indices, rows[[i]].indices) for i in range(len(X))])
    assert same >= (0.999 if dtype == np.float32 else 1.0)
    fit, fit_rows = ((X - A @ D.atoms).astype(np.float64) for A in (ours, rows))
    np.testing.assert_allclose((fit**2).sum(1), (fit_rows**2).sum(1), rtol=0.05)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("coder", CODERS, ids=repr)
def test_tiles_and_threads_have_the_same_bits(coder: Any, dtype: Any, rng: np.random.Generator) -> None:
    D, image = epitome(rng, dtype).dictionary, picture(rng, dtype)
    patches = Patches(image, (8, 8))
    whole = coder.encode(patches, D, threads=1)
    numbers = np.arange(len(patches)).reshape(patches.grid_shape)
    for threads in (2, 3, 7):
        again = coder.encode(patches, D, threads=threads)
        np.testing.assert_array_equal(again.data, whole.data)
        np.testing.assert_array_equal(again.indices, whole.indices)
    for top, left, height, width in ((0, 0, 8, 8), (3, 5, 20, 33), (40, 50, 30, 33), (11, 0, 9, 83), (0, 30, 70, 8)):
        tile = patches.crop((slice(top, top + height), slice(left, left + width)))
        part = coder.encode(tile, D)
        wanted = whole[numbers[top : top + height - 7, left : left + width - 7].ravel()]
        np.testing.assert_array_equal(part.indptr, wanted.indptr)
        np.testing.assert_array_equal(part.indices, wanted.indices)
        np.testing.assert_array_equal(part.data, wanted.data)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("numbers", [range(17, 29), [0, 3, 40, 62], [30, 5, 5, 6], [62]], ids=str)
def test_lines_have_the_bits_of_the_whole(numbers: Any, centred: bool, rng: np.random.Generator) -> None:
    D, patches = epitome(rng).dictionary, Patches(picture(rng), (8, 8), centred=centred)
    coder = OLS(residual=64 * 20.0**2, n_nonzero=5)
    wanted = coder.encode(patches, D)
    wanted = wanted[np.arange(len(patches)).reshape(patches.grid_shape)[list(numbers)].ravel()]
    part = coder.encode(patches.lines(list(numbers)), D)
    np.testing.assert_array_equal(part.indptr, wanted.indptr)
    np.testing.assert_array_equal(part.indices, wanted.indices)
    np.testing.assert_array_equal(part.data, wanted.data)


def test_warm_start_by_windows(rng: np.random.Generator) -> None:
    coder, E = Lasso(lam=60.0, tol=1e-6), epitome(rng)
    patches = Patches(picture(rng), (8, 8))
    D = E.dictionary
    moved = Epitome(E.pixels + 0.02 * rng.standard_normal(E.pixels.shape).astype(np.float32), E.phi).dictionary
    cold = coder.encode(patches, D)
    warm = coder.encode(patches, D, coder.encode(patches, moved))
    gaps = [coder.gap(patches, D, codes).max() for codes in (cold, warm)]
    assert max(gaps) < 1e-2 * 60.0  # objectives here are in the thousands
    assert abs(cold - warm).max() < 1e-2 * abs(cold).max()


def test_which_patches_are_structural(rng: np.random.Generator) -> None:
    E, image = epitome(rng), picture(rng)
    D = E.dictionary
    assert is_structural(Patches(image, (8, 8)), D)
    assert is_structural(Patches(image, (8, 8), stride=(3, 1)), D)
    assert is_structural(Patches(image, (8, 8), centred=False), D)
    assert not is_structural(Patches(image, (8, 8), stride=2), D)
    assert not is_structural(Patches(image, (8, 8)), Dictionary(D.atoms))
    assert not is_structural(Patches(image, (4, 16)), D)
    disc = np.add.outer((np.arange(9) - 4) ** 2, (np.arange(9) - 4) ** 2) <= 16
    assert not is_structural(Patches(image, (9, 9), support=disc), D)


@pytest.mark.parametrize("stride", [1, 2, (3, 1), (1, 4), (5, 7)])
@pytest.mark.parametrize("centred", [True, False])
def test_strides_and_uncentred_patches(stride: Any, centred: bool, rng: np.random.Generator) -> None:
    D = epitome(rng, np.float64).dictionary
    patches = Patches(picture(rng, np.float64), (8, 8), stride=stride, centred=centred)
    coder = OLS(residual=64 * 20.0**2, n_nonzero=3)
    X, _ = patches.rows(0, len(patches))
    np.testing.assert_allclose(coder.encode(patches, D).toarray(), coder.encode(X, D).toarray(), atol=1e-9)


def test_colour_windows(rng: np.random.Generator) -> None:
    phi = windows((14, 15, 3), (6, 6, 3))
    D = Epitome(rng.standard_normal(phi.epitome_shape), phi).dictionary
    patches = Patches(100 + 20 * rng.standard_normal((25, 31, 3)), (6, 6, 3))
    assert is_structural(patches, D)
    coder = Lasso(lam=25.0, tol=1e-8)
    X, _ = patches.rows(0, len(patches))
    np.testing.assert_allclose(coder.encode(patches, D).toarray(), coder.encode(X, D).toarray(), atol=1e-4)
