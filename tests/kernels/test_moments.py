"""Sums over coded patches and products with a dictionary: the specification's numbers, and one order for every sum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from epitomes import kernels
from epitomes.kernels import Start, reference_moments

Doubles = NDArray[np.float64]
Sums = tuple[Doubles, Doubles, Doubles]

NATIVE = [isa for isa in kernels.isas if kernels.isa != "reference"]


@pytest.fixture(params=NATIVE)
def isa(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(kernels, "isa", request.param)
    return str(request.param)


def coded(n: int, p: int, m: int, dtype: Any, rng: np.random.Generator, density: float = 0.1) -> tuple[Any, Start]:
    """Rows and their codes; the first row, the last one and one atom are not used."""
    dense = rng.standard_normal((n, p)) * (rng.random((n, p)) < density)
    dense[[0, n - 1]] = 0
    dense[:, p // 2] = 0
    A = csr_array(dense)
    begin, index, values = A.indptr.astype(np.int64), A.indices.astype(np.int32), A.data.astype(dtype)
    return rng.standard_normal((n, m)).astype(dtype), (begin, index, values)


def zeros(p: int, m: int) -> Sums:
    return np.zeros((p, p)), np.zeros((p, m)), np.zeros(p)


def part(codes: Start, first: int, last: int) -> Start:
    begin, index, values = codes
    low, high = begin[first], begin[last]
    return begin[first : last + 1] - low, index[low:high], values[low:high]


def summed(rows: Any, codes: Start, p: int, atoms: Iterable[tuple[int, int]], cuts: Iterable[tuple[int, int]]) -> Sums:
    """The sums of all rows, by ranges of atoms and of rows."""
    sums = zeros(p, rows.shape[1])
    for low, high in cuts:
        for each in atoms:
            kernels.summarise(rows[low:high], part(codes, low, high), each, *sums)
    return sums


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [1, 3, 7, 8, 33, 64])
def test_sums_are_those_of_the_reference(isa: str, m: int, dtype: Any, rng: np.random.Generator) -> None:
    n, p = 60, 23
    rows, codes = coded(n, p, m, dtype, rng, density=0.3)
    found, expected = zeros(p, m), zeros(p, m)
    for sums in (found, expected):
        for array in sums:
            array += 1.0  # sums are added to, not set
    kernels.summarise(rows, codes, (4, 19), *found)
    reference_moments.summarise(rows, codes, (4, 19), *expected)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(ours[:4], 1.0)  # atoms outside the range are left alone
        np.testing.assert_array_equal(ours[19:], 1.0)
        assert not np.array_equal(ours[4:19], np.ones_like(ours[4:19]))


def test_sums_do_not_depend_on_ranges_of_atoms_or_of_rows(isa: str, rng: np.random.Generator) -> None:
    n, p, m = 300, 41, 9
    rows, codes = coded(n, p, m, np.float32, rng)
    whole = summed(rows, codes, p, [(0, p)], [(0, n)])
    splits = [
        ([(0, 1), (1, 40), (40, 41)], [(0, n)]),
        ([(20, p), (0, 20)], [(0, 1), (1, 2), (2, 150), (150, n)]),
        ([(j, j + 1) for j in reversed(range(p))], [(i, i + 1) for i in range(n)]),
        ([(7, 7), (0, p)], [(0, 0), (0, n), (n, n)]),  # empty ranges
    ]
    for atoms, cuts in splits:
        for one, other in zip(whole, summed(rows, codes, p, atoms, cuts), strict=True):
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("width", [1, 2, 5, 8, 31, 32, 33, 37, 64, 130])
@pytest.mark.parametrize("density", [0.0, 0.05, 0.3, 0.6, 1.0])
def test_products_are_those_of_the_reference(isa: str, density: float, width: int, rng: np.random.Generator) -> None:
    left = rng.standard_normal((101, 59)) * (rng.random((101, 59)) < density)
    right = rng.standard_normal((59, width))
    found, expected = np.full((101, width), np.nan), np.empty((101, width))
    kernels.multiply(left, right, found)
    reference_moments.multiply(left, right, expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("width", [3, 16, 37, 64, 70])
def test_sparse_and_dense_routes_give_the_same_bits(isa: str, width: int, rng: np.random.Generator) -> None:
    """One row in the middle of each band of 48 chooses the route; here it is full, and empty, among the same others."""
    n, inner = 100, 77
    sparse = rng.standard_normal((n, inner)) * (rng.random((n, inner)) < 0.15)
    right = rng.standard_normal((inner, width))
    products = []
    for filling in (np.ones((n, inner)), np.zeros((n, inner))):
        left = sparse.copy()
        chooser = np.arange(n) % 48 == 24
        chooser[96 + 2] = True  # the last band is short
        left[chooser] = filling[chooser]
        product = np.empty((n, width))
        kernels.multiply(left, right, product)
        products.append(product[~chooser])
    assert products[0].tobytes() == products[1].tobytes()


def test_a_row_of_a_product_does_not_depend_on_its_neighbours(isa: str, rng: np.random.Generator) -> None:
    left = rng.standard_normal((130, 50)) * (rng.random((130, 1)) < rng.random((130, 50)))
    right = rng.standard_normal((50, 21))
    whole = np.empty((130, 21))
    kernels.multiply(left, right, whole)
    for cut in ([0, 1, 130], [0, 13, 47, 48, 49, 97, 130], range(131)):
        for low, high in zip(cut, list(cut)[1:], strict=False):
            band = np.empty((high - low, 21))
            kernels.multiply(left[low:high], right, band)
            assert band.tobytes() == whole[low:high].tobytes()
    order = rng.permutation(130)
    mixed = np.empty((130, 21))
    kernels.multiply(left[order], right, mixed)
    np.testing.assert_array_equal(mixed, whole[order])


@pytest.mark.skipif(kernels.isa == "reference", reason="tests the native bindings")
class TestWrongCalls:
    """The bindings check what Python should have checked: a wrong call is an error, never a wrong write."""

    rows = np.zeros((3, 4))
    codes: Start = (np.array([0, 1, 1, 2]), np.array([0, 4], np.int32), np.ones(2))

    @pytest.mark.parametrize(
        "begin",
        [[0, 1, 1], [0, 1, 1, 2, 2], [0, 2, 1, 2], [0, 1, 1, 3], [-1, 1, 1, 2], [0, 1, -1, 2]],
        ids=["too few rows", "too many rows", "falls", "beyond the end", "before the beginning", "negative"],
    )
    def test_rows_of_the_codes(self, begin: list[int]) -> None:
        with pytest.raises(ValueError, match=r"do not agree|not a compressed"):
            kernels.summarise(self.rows, (np.array(begin), *self.codes[1:]), (0, 5), *zeros(5, 4))

    @pytest.mark.parametrize("atom", [-1, 5, 2**31 - 1])
    def test_atoms_that_are_not_there(self, atom: int) -> None:
        wrong = np.array([0, atom], np.int32)
        with pytest.raises(ValueError, match="not there"):
            kernels.summarise(self.rows, (self.codes[0], wrong, self.codes[2]), (0, 1), *zeros(5, 4))

    @pytest.mark.parametrize("atoms", [(0, 6), (3, 2), (6, 6)])
    def test_ranges(self, atoms: tuple[int, int]) -> None:
        with pytest.raises(ValueError, match="range of atoms"):
            kernels.summarise(self.rows, self.codes, atoms, *zeros(5, 4))

    def test_sums(self) -> None:
        for sums in (zeros(4, 4), zeros(5, 3), (np.zeros((5, 4)), *zeros(5, 4)[1:]), (*zeros(5, 4)[:2], np.zeros(6))):
            with pytest.raises(ValueError, match=r"do not agree|not there|range of atoms"):
                kernels.summarise(self.rows, self.codes, (0, 5), *sums)

    def test_values(self) -> None:
        with pytest.raises(ValueError, match="do not agree"):
            kernels.summarise(self.rows, (*self.codes[:2], np.ones(3)), (0, 5), *zeros(5, 4))
        with pytest.raises(TypeError):
            kernels.summarise(self.rows.astype(np.float32), self.codes, (0, 5), *zeros(5, 4))

    def test_sums_that_cannot_be_written_in_place(self) -> None:
        gram, cross, mass = zeros(5, 4)
        locked = cross.copy()
        locked.flags.writeable = False
        for wrong in ((gram.astype(np.float32), cross, mass), (gram, np.zeros((4, 5)).T, mass), (gram, locked, mass)):
            with pytest.raises(TypeError):
                kernels.summarise(self.rows, self.codes, (0, 5), *wrong)

    def test_matrices(self) -> None:
        for shapes in (((2, 3), (4, 5), (2, 5)), ((2, 3), (3, 5), (3, 5)), ((2, 3), (3, 5), (2, 4))):
            with pytest.raises(ValueError, match="do not agree"):
                kernels.multiply(*(np.zeros(shape) for shape in shapes))
        with pytest.raises(TypeError):
            kernels.multiply(np.zeros((3, 2)).T, np.zeros((3, 5)), np.zeros((2, 5)))
        with pytest.raises(TypeError):
            kernels.multiply(np.zeros((2, 3), np.float32), np.zeros((3, 5)), np.zeros((2, 5)))  # type: ignore[arg-type]
