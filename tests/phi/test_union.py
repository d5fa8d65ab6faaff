"""A union of phis is a phi."""

from __future__ import annotations

import numpy as np
import pytest
from phi_cases import disc

from epitomes.phi import GatherPhi, UnionPhi, as_matrix, flat, split, subpixel, turned, union, windows


def test_atoms_of_all_parts_in_order() -> None:
    parts = windows((20, 9), (6, 6)), windows((2, 8, 8), (6, 6)), flat(5, (6, 6))
    phi = union(*parts)
    assert isinstance(phi, GatherPhi)
    rng = np.random.default_rng(0)
    epitomes = [rng.standard_normal(part.epitome_shape) for part in parts]
    E = np.concatenate([epitome.ravel() for epitome in epitomes])
    assert phi.epitome_shape == E.shape
    np.testing.assert_array_equal(phi(E), np.concatenate([part(e) for part, e in zip(parts, epitomes, strict=True)]))
    for piece, epitome in zip(split(phi, E), epitomes, strict=True):
        np.testing.assert_array_equal(piece, epitome)


def test_union_of_gathers_equals_the_general_union() -> None:
    parts = windows((9, 9), (4, 4)), turned(windows((2, 6, 6), (4, 4)))
    one, general = union(*parts), UnionPhi(parts)
    rng = np.random.default_rng(0)
    E, D = rng.standard_normal(one.epitome_shape), rng.standard_normal((one.n_atoms, one.patch_size))
    np.testing.assert_array_equal(one(E), general(E))
    np.testing.assert_array_equal(one.adjoint(D), general.adjoint(D))
    np.testing.assert_array_equal(one.average(D), general.average(D))
    for left, right in zip(split(one, E), split(general, E), strict=True):
        np.testing.assert_array_equal(left, right)


def test_union_is_associative() -> None:
    a, b, c = windows((9, 9), (4, 4)), flat(3, (4, 4)), subpixel(windows((6, 11), (4, 4)), [(0.5, 0.5)])
    E = np.random.default_rng(0).standard_normal(union(a, b, c).epitome_shape)
    np.testing.assert_array_equal(union(union(a, b), c)(E), union(a, b, c)(E))
    np.testing.assert_array_equal(union(a, union(b, c))(E), union(a, b, c)(E))


def test_nested_unions_split_as_they_were_made() -> None:
    inner = union(windows((9, 9), (4, 4)), flat(3, (4, 4)))
    outer = union(inner, windows((6, 11), (4, 4)))
    assert outer.n_atoms == inner.n_atoms + 3 * 8
    E = np.random.default_rng(0).standard_normal(outer.epitome_shape)
    left, right = split(outer, E)
    assert left.shape == inner.epitome_shape
    assert right.shape == (6, 11)
    assert [piece.shape for piece in split(inner, left)] == [(9, 9), (3, 4, 4)]


def test_the_matrix_of_a_union_is_block_diagonal() -> None:
    a, b = windows((5, 5), (3, 3)), subpixel(windows((4, 6), (3, 3)), [(0.5, 0)])
    R = as_matrix(union(a, b)).toarray()
    rows, columns = as_matrix(a).shape
    np.testing.assert_array_equal(R[:rows, :columns], as_matrix(a).toarray())
    np.testing.assert_array_equal(R[rows:, columns:], as_matrix(b).toarray())
    assert not R[:rows, columns:].any()
    assert not R[rows:, :columns].any()


def test_a_union_of_one_and_of_twins() -> None:
    part = windows((9, 9), (4, 4))
    E = np.random.default_rng(0).standard_normal((9, 9))
    np.testing.assert_array_equal(union(part)(E.ravel()), part(E))
    assert split(union(part), E.ravel())[0].shape == (9, 9)
    np.testing.assert_array_equal(union(part, part).index[36:], part.index + 81)  # type: ignore[union-attr]


def test_turning_a_union_keeps_its_parts() -> None:
    both = union(windows((9, 9), (4, 4)), flat(3, (4, 4)))
    assert isinstance(both, GatherPhi)
    phi = turned(both)
    E = np.zeros(phi.epitome_shape)
    assert [piece.shape for piece in split(phi, E)] == [(9, 9), (3, 4, 4)]


def test_what_cannot_be_united() -> None:
    part = windows((9, 9), (4, 4))
    with pytest.raises(ValueError, match="at least one phi"):
        union()
    with pytest.raises(TypeError, match="part 1 of the union must be a phi, got ndarray"):
        union(part, np.ones(3))  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"part 0 has patch_shape \(4, 4\) with 16 pixels, part 1 has \(5, 5\) with 25"
    ):
        union(part, windows((9, 9), (5, 5)))
    with pytest.raises(ValueError, match="with 21"):
        union(windows((9, 9), (5, 5)), windows((9, 9), (5, 5), border="periodic", support=disc(5)))
    other = np.roll(disc(5), 1, axis=0)
    with pytest.raises(ValueError, match="same support"):
        union(*(windows((9, 9), (5, 5), border="periodic", support=mask) for mask in (disc(5), other)))
    with pytest.raises(TypeError, match="made by union"):
        split(part, np.ones((9, 9)))
    with pytest.raises(ValueError, match=r"epitome needs shape \(97,\).*got \(9, 9\)"):
        split(union(part, flat(1, (4, 4))), np.ones((9, 9)))
    with pytest.raises(ValueError, match="must add up to"):
        GatherPhi((81,), (4, 4), (np.arange(81).reshape(9, 9),), None, ((80,),))
