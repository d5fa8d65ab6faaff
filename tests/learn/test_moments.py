"""Moments: the sums that they claim to be, whoever adds them up and in whatever batches."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from learn_cases import Doubles, sparse_codes, texture
from scipy.sparse import csr_array

from epitomes import Epitome, Patches
from epitomes.coders import Codes, Lasso
from epitomes.learn import Moments, cost, smooth_noise
from epitomes.phi import windows

SUMS = ("gram", "cross", "mass")


@pytest.fixture
def problem(rng: np.random.Generator) -> tuple[Doubles, Codes]:
    return rng.standard_normal((500, 12)), sparse_codes(500, 31, rng)


def assert_close(one: Moments, other: Moments, tolerance: float = 1e-12) -> None:
    for name in SUMS:
        expected = getattr(other, name)
        np.testing.assert_allclose(getattr(one, name), expected, rtol=0, atol=tolerance * np.abs(expected).max())
    assert one.energy == pytest.approx(other.energy, rel=tolerance)
    assert one.count == pytest.approx(other.count, rel=tolerance)


def assert_same_bits(one: Moments, other: Moments) -> None:
    assert all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in SUMS)
    assert (one.energy, one.count) == (other.energy, other.count)


def test_they_are_the_dense_products(problem: tuple[Doubles, Codes]) -> None:
    X, codes = problem
    A = codes.toarray()
    expected = Moments(A.T @ A, A.T @ X, np.abs(A).sum(axis=0), float(np.sum(X**2)), len(X))
    assert_close(Moments.of(X, codes), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_patches_of_an_image_count_as_their_rows_do(dtype: Any, rng: np.random.Generator) -> None:
    patches = Patches(texture((40, 50)).astype(dtype), (5, 6))
    codes = sparse_codes(len(patches), 20, rng).astype(dtype)
    X = patches.rows(0, len(patches))[0]
    assert_same_bits(Moments.of(patches, codes), Moments.of(X, codes))
    A = codes.toarray().astype(np.float64)
    expected = Moments(A.T @ A, A.T @ X, np.abs(A).sum(axis=0), float(np.sum(X.astype(np.float64) ** 2)), len(X))
    assert_close(Moments.of(patches, codes), expected)  # sums are in float64 even where patches are not


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 100])
def test_threads_change_no_bit(threads: int, rng: np.random.Generator) -> None:
    X, codes = rng.standard_normal((9000, 9)), sparse_codes(9000, 37, rng, share=0.05)  # two blocks of rows
    assert_same_bits(Moments.of(X, codes, threads=threads), Moments.of(X, codes, threads=2))


def test_they_add(problem: tuple[Doubles, Codes]) -> None:
    X, codes = problem
    whole = Moments.of(X, codes)
    for cuts in ([0, 250, 500], [0, 1, 499, 500], list(range(0, 501, 50))):
        pieces = [Moments.of(X[i:j], codes[i:j]) for i, j in itertools.pairwise(cuts)]
        total = pieces[0]
        for piece in pieces[1:]:
            total = total + piece
        assert_close(total, whole)
    order = np.random.default_rng(1).permutation(500)
    assert_close(Moments.of(X[order], codes[order]), whole)


def test_scaled_patches_count_so_much(problem: tuple[Doubles, Codes]) -> None:
    """Twice the weight is as good as the same patches twice; a weight w is X and A times its root, but for the mass."""
    X, codes = problem
    once = Moments.of(X, codes)
    assert_close(once.scaled(2.0), once + once)
    light, root = once.scaled(0.3), np.sqrt(0.3)
    assert_close(
        light, Moments(*(0.3 * getattr(once, name) for name in SUMS), energy=0.3 * once.energy, count=0.3 * 500)
    )
    np.testing.assert_allclose(light.gram, Moments.of(root * X, codes * root).gram, rtol=1e-12, atol=1e-12)
    assert once.scaled(0.0).count == 0
    for wrong in (-0.1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="weight must be a finite number >= 0"):
            once.scaled(wrong)


def test_then_is_the_scaled_sum(problem: tuple[Doubles, Codes]) -> None:
    X, codes = problem
    old, new = Moments.of(X[:200], codes[:200]), (X[200:], codes[200:])
    before = {name: getattr(old, name).copy() for name in SUMS}
    for keep in (0.0, 0.4, 1.0):
        assert_close(old.then(*new, keep=keep), old.scaled(keep) + Moments.of(*new))
    assert_close(old.then(*new), Moments.of(X, codes))
    for name in SUMS:  # what others hold is not changed
        np.testing.assert_array_equal(getattr(old, name), before[name])
    assert_same_bits(old.then(*new, keep=0.4, threads=1), old.then(*new, keep=0.4, threads=3))
    with pytest.raises(ValueError, match="codes need 31 columns, one per atom of the moments, got 30"):
        old.then(X[200:], codes[200:, :30])


def test_recoded_is_what_larger_codes_give(problem: tuple[Doubles, Codes], rng: np.random.Generator) -> None:
    X, codes = problem
    for factor in (0.01, 1.0, 37.5):
        assert_close(Moments.of(X, codes).recoded(factor), Moments.of(X, codes * factor))
    D = rng.standard_normal((31, 12))
    before, after = cost(D, Moments.of(X, codes), 0.7), cost(D / 37.5, Moments.of(X, codes).recoded(37.5), 0.7)
    assert after == pytest.approx(before, rel=1e-12)


def test_unused_atoms_are_named(problem: tuple[Doubles, Codes]) -> None:
    X, codes = problem
    A = codes.toarray()
    A[:, [3, 30]] = 0
    used = Moments.of(X, csr_array(A)).used
    np.testing.assert_array_equal(np.flatnonzero(~used), [3, 30])
    nothing = Moments.of(X, csr_array((500, 31), dtype=np.float64))
    assert not nothing.used.any()
    assert nothing.energy == pytest.approx(np.sum(X**2))
    assert not nothing.gram.any() and not nothing.cross.any()


def test_stored_zeros_and_order_within_a_row_do_not_matter(problem: tuple[Doubles, Codes]) -> None:
    X, codes = problem
    mixed = csr_array(codes, copy=True)
    for row in range(500):
        low, high = mixed.indptr[row], mixed.indptr[row + 1]
        mixed.indices[low:high] = mixed.indices[low:high][::-1].copy()
        mixed.data[low:high] = mixed.data[low:high][::-1].copy()
    assert_close(Moments.of(X, mixed), Moments.of(X, codes))


def test_inputs_are_not_changed(problem: tuple[Doubles, Codes]) -> None:
    X, codes = problem
    before = X.copy(), codes.data.copy(), codes.indices.copy()
    locked = X.copy()
    locked.flags.writeable = False
    codes.data.flags.writeable = False
    assert_same_bits(Moments.of(locked, codes), Moments.of(X, codes))
    for array, kept in zip((X, codes.data, codes.indices), before, strict=True):
        np.testing.assert_array_equal(array, kept)


def test_what_cannot_be_summed_is_refused(problem: tuple[Doubles, Codes]) -> None:
    X, codes = problem
    with pytest.raises(TypeError, match="codes must be a sparse array, as encode returns it, got ndarray"):
        Moments.of(X, codes.toarray())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one row per patch, 499, got 500"):
        Moments.of(X[1:], codes)
    with pytest.raises(ValueError, match=r"\(31, 11\).*cannot be added to those of \(31, 12\)"):
        Moments.of(X, codes) + Moments.of(X[:, 1:], codes)
    with pytest.raises(ValueError, match="NaN"):
        Moments.of(np.where(X > 2, np.nan, X), codes)


def test_of_a_real_coder() -> None:
    """The moments of codes as encode returns them, on an image: residuals computed from them are the residuals."""
    patches = Patches(texture((30, 30)), (6, 6))
    epitome: Epitome = smooth_noise(windows((12, 12), (6, 6)))
    codes = Lasso(lam=30.0).encode(patches, epitome.dictionary)
    known, D = Moments.of(patches, codes), epitome.dictionary.atoms
    X = patches.rows(0, len(patches))[0]
    rest = known.energy - 2 * np.vdot(known.cross, D) + np.vdot(known.gram @ D, D)
    assert rest == pytest.approx(np.sum((X - codes @ D) ** 2), rel=1e-10)
