"""The laws of appendix B over every kind of phi, and proof that the checker sees broken ones."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import ArrayLike
from phi_cases import NAMED, PHIS

from epitomes.checks import Array
from epitomes.phi import GatherPhi, Phi, as_matrix, project, windows
from epitomes.testing.phi import check_phi


@pytest.mark.parametrize("phi", PHIS, ids=repr)
def test_laws(phi: Phi) -> None:
    assert isinstance(phi, Phi)
    check_phi(phi)
    check_phi(phi, rng=np.random.default_rng(7))


def test_every_kind_has_its_own_line() -> None:
    assert len(set(map(repr, PHIS))) == len(PHIS)
    assert max(len(repr(phi)) for phi in PHIS if isinstance(phi, GatherPhi)) < 100


@pytest.mark.parametrize("phi", PHIS, ids=repr)
def test_copies_and_pickles_are_the_same_phi(phi: Phi) -> None:
    rng = np.random.default_rng(0)
    E, D = rng.standard_normal(phi.epitome_shape), rng.standard_normal((phi.n_atoms, phi.patch_size))
    for twin in (pickle.loads(pickle.dumps(phi)), copy.deepcopy(phi)):  # noqa: S301  our own bytes
        np.testing.assert_array_equal(twin(E), phi(E))
        np.testing.assert_array_equal(twin.adjoint(D), phi.adjoint(D))
        np.testing.assert_array_equal(twin.average(D), phi.average(D))


def test_a_pickle_sends_no_table() -> None:
    phi = windows((40, 40), (8, 8))
    assert len(pickle.dumps(phi)) < phi.index.nbytes / 10


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["flat", "several signals", "disc", "flipped", "sub-pixel", "union of gather and matrix"]
)
def test_matrix_of_phi(name: str) -> None:
    phi = NAMED[name]
    rng = np.random.default_rng(1)
    E, D = rng.standard_normal(phi.epitome_shape), rng.standard_normal((phi.n_atoms, phi.patch_size))
    R = as_matrix(phi).toarray()
    np.testing.assert_allclose((R @ E.ravel()).reshape(D.shape), phi(E), atol=1e-13)
    np.testing.assert_allclose((R.T @ D.ravel()).reshape(E.shape), phi.adjoint(D), atol=1e-12)
    nearest = np.linalg.solve(R.T @ R, R.T @ D.ravel())
    np.testing.assert_allclose(nearest.reshape(E.shape), phi.average(D), atol=1e-12)
    np.testing.assert_allclose((R @ nearest).reshape(D.shape), project(phi, D), atol=1e-12)


@dataclass(frozen=True)
class Spoiled:
    """A right phi, to be spoiled in one verb by a subclass."""

    right: GatherPhi = windows((9, 9), (4, 4))  # noqa: RUF009  frozen

    @property
    def epitome_shape(self) -> tuple[int, ...]:
        return self.right.epitome_shape

    @property
    def patch_shape(self) -> tuple[int, ...]:
        return self.right.patch_shape

    @property
    def n_atoms(self) -> int:
        return self.right.n_atoms

    @property
    def patch_size(self) -> int:
        return self.right.patch_size

    def __call__(self, epitome: ArrayLike) -> Array:
        return self.right(epitome)

    def adjoint(self, atoms: ArrayLike) -> Array:
        return self.right.adjoint(atoms)

    def average(self, atoms: ArrayLike) -> Array:
        return self.right.average(atoms)


class WrongAdjoint(Spoiled):
    def adjoint(self, atoms: ArrayLike) -> Array:
        return self.right.adjoint(atoms)[::-1]


class AverageAsAdjoint(Spoiled):
    def adjoint(self, atoms: ArrayLike) -> Array:
        return self.right.average(atoms)


class AdjointAsAverage(Spoiled):
    def average(self, atoms: ArrayLike) -> Array:
        return self.right.adjoint(atoms)


class NotInjective(Spoiled):
    """One pixel is in no atom; the adjoint and the average are right for that."""

    def __call__(self, epitome: ArrayLike) -> Array:
        E = np.array(epitome)
        E[4, 4] = 0
        return self.right(E)

    def adjoint(self, atoms: ArrayLike) -> Array:
        E = self.right.adjoint(atoms)
        E[4, 4] = 0
        return E

    def average(self, atoms: ArrayLike) -> Array:
        E = self.right.average(atoms)
        E[4, 4] = 0
        return E


class Oblique(Spoiled):
    """An inverse on Im(phi) that looks at one copy of each pixel: a projector, but not the orthogonal one."""

    def average(self, atoms: ArrayLike) -> Array:
        D = np.asarray(atoms)
        first = np.unique(self.right.index, return_index=True)[1]
        found: Array = D.ravel()[first].reshape(self.epitome_shape)
        return found


class AlwaysDouble(Spoiled):
    def average(self, atoms: ArrayLike) -> Array:
        return self.right.average(atoms).astype(np.float64)


class FlatEpitome(Spoiled):
    def adjoint(self, atoms: ArrayLike) -> Array:
        return self.right.adjoint(atoms).reshape(-1)


class NotLinear(Spoiled):
    def __call__(self, epitome: ArrayLike) -> Array:
        return np.abs(self.right(epitome))


class ChangesItsInput(Spoiled):
    def average(self, atoms: ArrayLike) -> Array:
        result = self.right.average(atoms)
        np.asarray(atoms)[...] = 0
        return result


class NotANumber(Spoiled):
    def adjoint(self, atoms: ArrayLike) -> Array:
        return np.full_like(self.right.adjoint(atoms), np.nan)


class RoundsToFloat32(Spoiled):
    def __call__(self, epitome: ArrayLike) -> Array:
        return self.right(np.asarray(epitome).astype(np.float32)).astype(np.asarray(epitome).dtype)


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (WrongAdjoint(), "dot test"),
        (AverageAsAdjoint(), "dot test"),
        (AdjointAsAverage(), "average undoes phi"),
        (NotInjective(), "average undoes phi"),
        (Oblique(), "projector is symmetric"),
        (AlwaysDouble(), "dtype in = dtype out"),
        (FlatEpitome(), "shapes"),
        (NotLinear(), "phi is linear"),
        (ChangesItsInput(), "inputs are not changed"),
        (NotANumber(), "adjoint"),
        (RoundsToFloat32(), "phi is linear"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_broken_phis_are_named(broken: Phi, law: str) -> None:
    check_phi(Spoiled())
    with pytest.raises(AssertionError, match=law):
        check_phi(broken)


def test_the_size_of_a_violation_is_told() -> None:
    with pytest.raises(AssertionError, match=r"relative violation \d\.\d\de[+-]\d\d, allowed 1e-12"):
        check_phi(WrongAdjoint())


def test_tolerance_is_obeyed() -> None:
    check_phi(RoundsToFloat32(), tol=1e-5)
