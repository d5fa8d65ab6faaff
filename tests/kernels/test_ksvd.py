"""Updates of atoms one by one: the specification's numbers, unused atoms left alone, zero rows no harm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array

from epitomes import kernels
from epitomes.kernels import reference_ksvd

NATIVE = [isa for isa in kernels.isas if kernels.isa != "reference"]
GO_ON = np.zeros(1, np.uint8)


@pytest.fixture(params=NATIVE)
def isa(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(kernels, "isa", request.param)
    return str(request.param)


def problem(n: int, p: int, m: int, dtype: Any, rng: np.random.Generator) -> tuple[Any, ...]:
    """Rows, codes by atoms and unit atoms; atom 1 is not used."""
    dense = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.3)
    dense[:, 1] = 0
    A = csc_array(dense)
    atoms = rng.standard_normal((p, m))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    rows = A @ atoms + 0.3 * rng.standard_normal((n, m))
    begin, users = A.indptr.astype(np.int64), A.indices.astype(np.int32)
    return rows, (rows - A @ atoms).astype(dtype), begin, users, A.data.astype(dtype), atoms.astype(dtype)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [1, 5, 16, 33])
def test_as_the_reference(isa: str, m: int, dtype: Any, exact: bool, rng: np.random.Generator) -> None:
    rows, residual, begin, users, values, atoms = problem(700, 6, m, dtype, rng)
    mine, theirs = ([each.copy() for each in (residual, values, atoms)] for _ in range(2))
    kernels.update_atoms(mine[0], begin, users, mine[1], mine[2], exact, GO_ON)
    reference_ksvd.update_atoms(theirs[0], begin, users, theirs[1], theirs[2], exact)
    tol = 2e-4 if dtype == np.float32 else 1e-9
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tol * max(1.0, np.abs(other).max()))
    np.testing.assert_array_equal(mine[2][1], atoms[1])
    A = csc_array((mine[1].astype(np.float64), users, begin), shape=(700, 6))
    np.testing.assert_allclose(mine[0], rows - A @ mine[2], atol=20 * tol)  # the residual is kept up to date
    assert np.sum(mine[0] ** 2) <= np.sum(residual**2) * (1 + 1e-6)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_largest_singular_value_wherever_the_atom_was(isa: str, scale: float, rng: np.random.Generator) -> None:
    """The first atom has no part in the best one, and many singular values are nearly as large."""
    n, m = 90, 64
    left, right = (np.linalg.qr(rng.standard_normal((n, m)))[0], np.linalg.qr(rng.standard_normal((m, m)))[0])
    sizes = scale * np.linspace(1.0, 0.9, m)
    sizes[0] *= 1.02
    residual, atoms = (left * sizes) @ right.T, right[:, 1:2].T.copy()
    values, begin, users = np.zeros(n), np.array([0, n]), np.arange(n, dtype=np.int32)
    kernels.update_atoms(residual, begin, users, values, atoms, True, GO_ON)
    assert np.linalg.norm(values) == pytest.approx(sizes[0], rel=1e-9)
    np.testing.assert_allclose(np.abs(atoms[0] @ right[:, 0]), 1.0, atol=1e-9)


def test_rows_of_zeros_change_nothing(isa: str) -> None:
    atoms = np.eye(2, 8)
    residual, values = np.zeros((3, 8)), np.zeros(3)
    begin, users = np.array([0, 3, 3]), np.arange(3, dtype=np.int32)
    for exact in (False, True):
        kernels.update_atoms(residual, begin, users, values, atoms, exact, GO_ON)
        np.testing.assert_array_equal(atoms, np.eye(2, 8))


@pytest.mark.parametrize("begin", [[0, 1], [0, 3, 2], [0, 1, 4]])
def test_what_is_no_compressed_matrix_is_refused(isa: str, begin: list[int]) -> None:
    with pytest.raises(ValueError, match=r"agree|compressed"):
        kernels.update_atoms(
            np.zeros((3, 8)), np.array(begin), np.arange(3, dtype=np.int32), np.zeros(3), np.eye(2, 8), False, GO_ON
        )
