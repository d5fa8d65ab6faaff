"""Eigenvalues of small symmetric matrices: those of NumPy in float64, up to the rounding of float32, at every scale."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from epitomes import kernels
from epitomes.kernels import _native

Doubles = NDArray[np.float64]
Singles = NDArray[np.float32]

NATIVE = [isa for isa in kernels.isas if kernels.isa != "reference"]
SIZES = [*range(1, 35), 47, 48, 63, 64, 65, 96, 100, 127, 128]


def decomposed(isa: str, matrix: Singles) -> tuple[Singles, Singles]:
    n = len(matrix)
    values, vectors = np.full(n, np.nan, np.float32), np.full((n, n), np.nan, np.float32)
    assert _native.decompose(kernels.isas.index(isa), matrix, -np.inf, values, vectors) == n
    return values, vectors


def check(isa: str, matrix: Doubles, tolerance: float = 3e-6) -> tuple[Singles, Singles]:
    """Errors are measured by the largest eigenvalue: no more can be asked of a sum in float32."""
    single = symmetric(matrix)
    values, vectors = decomposed(isa, single)
    exact, n = single.astype(np.float64), len(single)
    wide, size = vectors.astype(np.float64), float(np.abs(np.linalg.eigvalsh(exact)).max())
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose(wide @ wide.T, np.eye(n), rtol=0, atol=1e-5)
    np.testing.assert_allclose(wide @ exact, values[:, None].astype(np.float64) * wide, rtol=0, atol=tolerance * size)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(exact), rtol=0, atol=tolerance * size)
    return values, vectors


def symmetric(matrix: Doubles) -> Singles:
    return np.ascontiguousarray(np.tril(matrix) + np.tril(matrix, -1).T, np.float32)


def definite(n: int, rng: np.random.Generator, rank: int | None = None) -> Doubles:
    factor = rng.standard_normal((n, n if rank is None else rank))
    return factor @ factor.T


def rotated(values: Doubles, rng: np.random.Generator) -> Doubles:
    """A full matrix with these eigenvalues."""
    turn, _ = np.linalg.qr(rng.standard_normal((len(values), len(values))))
    return (turn * values) @ turn.T


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.parametrize("n", SIZES)
def test_definite_matrices_of_every_size(n: int, isa: str, rng: np.random.Generator) -> None:
    check(isa, definite(n, rng))


SPECIAL: dict[str, Callable[[int, np.random.Generator], Doubles]] = {
    "identity": lambda n, rng: np.eye(n),
    "zero": lambda n, rng: np.zeros((n, n)),
    "minus identity": lambda n, rng: -np.eye(n),
    "diagonal": lambda n, rng: np.diag(rng.standard_normal(n)),
    "descending diagonal": lambda n, rng: np.diag(np.arange(n, 0.0, -1.0)),
    "one entry": lambda n, rng: np.diag(np.eye(n)[n // 2]),
    "all ones": lambda n, rng: np.ones((n, n)),
    "rank one": lambda n, rng: definite(n, rng, 1),
    "rank three": lambda n, rng: definite(n, rng, 3),
    "one short of full": lambda n, rng: definite(n, rng, n - 1),
    "centred": lambda n, rng: np.cov(rng.standard_normal((n, 5)), ddof=0).reshape(n, n),
    "duplicates": lambda n, rng: np.kron(np.ones((2, 2)), definite(-(-n // 2), rng))[:n, :n],
    "repeated values": lambda n, rng: rotated(np.where(np.arange(n) % 2, 3.0, 7.0), rng),
    "indefinite": lambda n, rng: rng.standard_normal((n, n)),
    "opposite pairs": lambda n, rng: np.fliplr(np.eye(n)),
    "tridiagonal": lambda n, rng: 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1),
    "falls apart": lambda n, rng: np.kron(np.diag(1.0 + np.arange(-(-n // 3))), definite(3, rng))[:n, :n],
    "arrow": lambda n, rng: np.diag(np.arange(1.0, n + 1)) + np.eye(n)[[0] * n].T + np.eye(n)[[0] * n],
    "zero borders": lambda n, rng: np.pad(definite(max(1, n - 2), rng), 1)[:n, :n],
    "Hilbert": lambda n, rng: 1.0 / (1.0 + np.arange(n) + np.arange(n)[:, None]),
    "a far mean": lambda n, rng: 1e6 * np.ones((n, n)) + definite(n, rng),
}


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_matrices(name: str, isa: str, rng: np.random.Generator) -> None:
    for n in (2, 3, 4, 7, 8, 9, 16, 31, 33, 64):
        check(isa, SPECIAL[name](n, rng))


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.parametrize("n", [2, 5, 8, 30, 64, 128])
def test_graded_values(n: int, isa: str, rng: np.random.Generator) -> None:
    """From 1e-6 to 1e6: turned into one another, in both orders of the diagonal, and as scaled rows and columns."""
    values = np.logspace(-6, 6, n)
    check(isa, rotated(values, rng))
    for rising in (values, values[::-1]):
        scale = np.sqrt(rising)
        check(isa, scale[:, None] * definite(n, rng) * scale / n)
        got, _ = check(isa, np.diag(rising))
        np.testing.assert_allclose(got, values, rtol=1e-6)  # nothing to turn: small values keep all their digits


@pytest.mark.parametrize("isa", NATIVE)
def test_exact_where_nothing_is_to_do(isa: str) -> None:
    for n in (1, 2, 3, 8, 17):
        values, vectors = decomposed(isa, np.eye(n, dtype=np.float32) * np.float32(0.7))
        np.testing.assert_array_equal(values, np.float32(0.7))
        np.testing.assert_array_equal(np.abs(vectors), np.eye(n))
        values, vectors = decomposed(isa, np.zeros((n, n), np.float32))
        np.testing.assert_array_equal(values, 0)
        np.testing.assert_array_equal(np.abs(vectors), np.eye(n))
    values, vectors = decomposed(isa, np.array([[-3.25]], np.float32))
    assert values[0] == -3.25 and abs(vectors[0, 0]) == 1


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.parametrize("power", [-110, -80, -60, -40, -30, -20, 20, 30, 40, 60, 80, 110])
def test_scale_does_not_matter(power: int, isa: str, rng: np.random.Generator) -> None:
    """Products of pixels may be as small as 1e-33 and as large as 1e33: squares of them are not in range."""
    for n in (2, 3, 20, 64):
        matrix = definite(n, rng) / n
        values, _ = check(isa, matrix * 2.0**power)
        expected, _ = check(isa, matrix)
        largest = float(expected.max())
        np.testing.assert_allclose(values * 2.0**-power, expected, rtol=0, atol=3e-6 * largest)


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.parametrize("size", [1e-45, 1e-42, 1e-38, 1e-30, 1e30, 1e37])
def test_always_finite(size: float, isa: str, rng: np.random.Generator) -> None:
    for matrix in (definite(20, rng) / 60, np.ones((20, 20)), np.eye(20), definite(20, rng, 1) / 20):
        values, vectors = decomposed(isa, symmetric(matrix * size))
        assert np.isfinite(values).all() and np.isfinite(vectors).all()
        np.testing.assert_allclose(vectors.astype(np.float64) @ vectors.T, np.eye(20), rtol=0, atol=1e-5)


@pytest.mark.parametrize("isa", NATIVE)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(n=st.integers(1, 20), largest=st.integers(0, 3), density=st.floats(0.0, 1.0), seed=st.integers(0, 10_000))
def test_small_whole_numbers(isa: str, n: int, largest: int, density: float, seed: int) -> None:
    """Many zeros, equal values and singular matrices."""
    rng = np.random.default_rng(seed)
    entries = rng.integers(-largest, largest + 1, (n, n)) * (rng.random((n, n)) < density)
    check(isa, entries.astype(np.float64))


def check_above(isa: str, matrix: Doubles, cut: float, tolerance: float = 4e-6) -> int:
    """Only values above a cut, in any basis where they are equal."""
    single, n = symmetric(matrix), len(matrix)
    values, vectors = np.full(n, np.nan, np.float32), np.full((n, n), np.nan, np.float32)
    count = _native.decompose(kernels.isas.index(isa), single, cut, values, vectors)
    exact = single.astype(np.float64)
    expected = np.linalg.eigvalsh(exact)
    size = float(np.abs(expected).max())
    near = tolerance * size  # values that close to the cut may be on either side of it
    assert np.sum(expected > cut + near) <= count <= np.sum(expected > cut - near)
    np.testing.assert_allclose(values[:count], expected[n - count :], rtol=0, atol=near)
    wide = vectors[:count].astype(np.float64)
    np.testing.assert_allclose(wide @ wide.T, np.eye(count), rtol=0, atol=1e-5)
    np.testing.assert_allclose(wide @ exact, values[:count, None].astype(np.float64) * wide, rtol=0, atol=near)
    return int(count)


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 33, 49, 64, 80, 128])
def test_the_largest_alone(n: int, isa: str, rng: np.random.Generator) -> None:
    """Noise with a few strong directions, as groups have them; with none, and with cuts inside of the noise."""
    for strong in (0, 1, 2, 5, 11):
        factor = rng.standard_normal((n, 2 * n)) + 9 * rng.standard_normal((n, strong)) @ rng.standard_normal(
            (strong, 2 * n)
        )
        matrix = factor @ factor.T / n
        edge = (1 + 2**0.5) ** 2
        assert check_above(isa, matrix, 1.3 * edge) >= (min(strong, n) if n > 8 else 0)
        check_above(isa, matrix, 0.8 * edge)
        check_above(isa, matrix * 2.0**-70, 1.3 * edge * 2.0**-70)


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.parametrize("name", SPECIAL)
def test_the_largest_of_special_matrices(name: str, isa: str, rng: np.random.Generator) -> None:
    for n in (2, 8, 17, 64):
        matrix = SPECIAL[name](n, rng)
        top = float(np.linalg.eigvalsh(matrix)[-1])
        for cut in (2 * abs(top), 0.9 * top, 0.3 * top):
            check_above(isa, matrix, cut)


@pytest.mark.parametrize("isa", NATIVE)
def test_equal_values_have_different_vectors(isa: str, rng: np.random.Generator) -> None:
    values = np.ones(64)
    values[:7] = 50.0
    assert check_above(isa, rotated(values, rng), 20.0) == 7
    assert check_above(isa, np.diag(values), 20.0) == 7


@pytest.mark.parametrize("isa", NATIVE)
def test_the_wrapper(isa: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = symmetric(definite(12, rng))
    matrix.flags.writeable = False
    monkeypatch.setattr(kernels, "isa", isa)
    values, vectors = kernels.decompose(matrix)
    assert values.dtype == vectors.dtype == np.float32
    again = kernels.decompose(matrix)
    np.testing.assert_array_equal(values, again[0])
    np.testing.assert_array_equal(vectors, again[1])
    monkeypatch.setattr(kernels, "isa", "reference")
    expected, rows = kernels.decompose(matrix)
    np.testing.assert_allclose(values, expected, rtol=0, atol=3e-6 * expected.max())
    np.testing.assert_allclose(np.abs((vectors * rows).sum(axis=1)), 1, rtol=0, atol=1e-4)  # signs are free
    cut = float(expected[-2:].mean())
    few, only = kernels.decompose(matrix, cut)
    assert few[0] == expected[-1] and only.shape == (1, 12)


@pytest.mark.skipif(not NATIVE, reason="tests the native bindings")
class TestWrongCalls:
    @pytest.mark.parametrize(
        "shapes",
        [
            ((3, 4), (3,), (3, 3)),
            ((3, 3), (4,), (3, 3)),
            ((3, 3), (3,), (3, 4)),
            ((3, 3), (3,), (4, 3)),
            ((0, 0), (0,), (0, 0)),
        ],
        ids=str,
    )
    def test_sizes(self, shapes: tuple[tuple[int, ...], ...]) -> None:
        with pytest.raises(ValueError, match="not square"):
            matrix, values, vectors = (np.zeros(shape, np.float32) for shape in shapes)
            _native.decompose(0, matrix, 0.0, values, vectors)

    def test_types_and_layouts(self) -> None:
        values, vectors = np.zeros(3, np.float32), np.zeros((3, 3), np.float32)
        for matrix in (np.eye(3), np.eye(6, dtype=np.float32)[::2, ::2], np.zeros((3, 3, 1), np.float32)):
            with pytest.raises(TypeError):
                _native.decompose(0, matrix, 0.0, values, vectors)
        with pytest.raises(TypeError):
            _native.decompose(0, np.eye(3, dtype=np.float32), 0.0, values, np.zeros((3, 3)))
        vectors.flags.writeable = False
        with pytest.raises(TypeError):
            _native.decompose(0, np.eye(3, dtype=np.float32), 0.0, values, vectors)

    def test_instruction_set(self) -> None:
        with pytest.raises(ValueError, match="no such instruction set"):
            matrix, values, vectors = (np.zeros(shape, np.float32) for shape in ((1, 1), (1,), (1, 1)))
            _native.decompose(len(kernels.isas), matrix, 0.0, values, vectors)
