"""What the paper says of phi, in numbers (section 2, appendix B, figures 6 and 7)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from phi_cases import PHIS, disc

from epitomes.phi import GatherPhi, as_matrix, flat, project, shift_invariant, windows

GATHERS = [phi for phi in PHIS if isinstance(phi, GatherPhi)]


@pytest.mark.parametrize(("n", "w"), [(8, 8), (9, 4), (42, 8), (15, 8), (20, 1)])
def test_number_of_atoms(n: int, w: int) -> None:
    M, m = n * n, w * w
    assert windows((n, n), (w, w)).n_atoms == round((math.sqrt(M) - math.sqrt(m) + 1) ** 2)


def test_figure_7_keeps_about_the_same_number_of_atoms() -> None:
    layouts = [(1, 42), (2, 32), (4, 25), (20, 15)]
    assert [windows((k, n, n), (8, 8)).n_atoms for k, n in layouts] == [1225, 1250, 1296, 1280]
    assert [k * n * n for k, n in layouts] == [1764, 2048, 2500, 4500]


def test_figure_6_does_not() -> None:
    assert [windows((2, 46, 46), (w, w)).n_atoms for w in (6, 8, 9, 10, 12)] == [3362, 3042, 2888, 2738, 2450]


def test_a_seven_pixel_epitome_holds_no_patch_of_eight() -> None:
    with pytest.raises(ValueError, match="axis 1 needs at least 8 pixels, got 7"):
        windows((20, 7, 7), (8, 8))


def test_counts_of_valid_borders_run_from_one_to_m() -> None:
    counts = windows((20, 20), (8, 8)).counts
    assert counts.shape == (20, 20)
    assert counts.min() == counts[0, 0] == counts[-1, 0] == 1
    assert counts.max() == counts[10, 10] == 64
    ramp = np.minimum(np.minimum(np.arange(1, 21), np.arange(20, 0, -1)), 8)
    np.testing.assert_array_equal(counts, np.outer(ramp, ramp))


@pytest.mark.parametrize(
    ("shape", "patch"), [((12, 12), (8, 8)), ((9, 10), (1, 5)), ((6, 6), (6, 6)), ((3, 7, 8), (4, 5))]
)
def test_counts_of_periodic_borders_are_all_m(shape: tuple[int, ...], patch: tuple[int, ...]) -> None:
    phi = windows(shape, patch, border="periodic")
    assert (phi.counts == math.prod(patch)).all()
    assert phi.n_atoms == math.prod(shape)


def test_channels_do_not_run_into_each_other() -> None:
    phi = windows((9, 9, 3), (4, 4, 3), border="periodic")
    assert phi.n_atoms == 81
    assert (phi.counts == 16).all()
    assert (phi.index % 3 == np.tile([0, 1, 2], 16)).all()
    assert windows((9, 9, 3), (4, 4, 3), border=("periodic",) * 3).n_atoms == 243  # when asked for


def test_a_border_for_each_axis() -> None:
    phi = windows((9, 10), (4, 5), border=("periodic", "valid"))
    assert phi.n_atoms == 9 * 6
    np.testing.assert_array_equal(phi.counts, np.outer(np.full(9, 4), [1, 2, 3, 4, 5, 5, 4, 3, 2, 1]))


@pytest.mark.parametrize("phi", [phi for phi in GATHERS if math.prod(phi.epitome_shape) < 300], ids=repr)
def test_gather_has_a_diagonal_normal_matrix(phi: GatherPhi) -> None:
    R = as_matrix(phi)
    normal = (R.T @ R).toarray()
    np.testing.assert_array_equal(normal, np.diag(phi.counts.ravel()))
    assert phi.counts.sum() == phi.n_atoms * phi.patch_size


def test_average_is_the_mean_of_the_copies() -> None:
    phi = windows((9, 9), (4, 4))
    D = np.random.default_rng(0).standard_normal((phi.n_atoms, phi.patch_size))
    E = phi.average(D)
    for pixel in (0, 17, 40, 80):
        assert E.ravel()[pixel] == pytest.approx(D[phi.index == pixel].mean(), rel=1e-14)


def test_average_is_not_the_adjoint() -> None:
    phi = windows((9, 9), (4, 4))
    rng = np.random.default_rng(0)
    E, D = rng.standard_normal((9, 9)), rng.standard_normal((36, 16))
    assert np.vdot(phi(E), D) == pytest.approx(np.vdot(E, phi.adjoint(D)), rel=1e-12)
    assert np.vdot(phi(E), D) != pytest.approx(np.vdot(E, phi.average(D)), rel=1e-2)


def test_normalised_atoms_leave_the_image_of_phi() -> None:
    phi = windows((9, 9), (4, 4))
    D = phi(np.random.default_rng(0).standard_normal((9, 9)))
    unit = D / np.linalg.norm(D, axis=1, keepdims=True)
    np.testing.assert_allclose(project(phi, D), D, atol=1e-14)
    assert np.linalg.norm(unit - project(phi, unit)) > 0.05 * np.linalg.norm(unit)


def test_epitomes_of_the_size_of_the_patch_are_a_flat_dictionary() -> None:
    one, many = windows((8, 8), (8, 8)), windows((30, 8, 8), (8, 8))
    plain = flat(30, (8, 8))
    E = np.random.default_rng(0).standard_normal((30, 8, 8))
    np.testing.assert_array_equal(plain.index, many.index)
    np.testing.assert_array_equal(plain(E), E.reshape(30, 64))
    np.testing.assert_array_equal(one(E[0]), E[:1].reshape(1, 64))
    np.testing.assert_array_equal(plain.average(E.reshape(30, 64)), plain.adjoint(E.reshape(30, 64)))
    np.testing.assert_array_equal(shift_invariant(30, (8, 8), 0).index, plain.index)


def test_shift_invariant_atoms_are_moved_patterns() -> None:
    phi = shift_invariant(3, (5, 6), (2, 1))
    assert phi.epitome_shape == (3, 7, 7)
    assert phi.n_atoms == 3 * 3 * 2
    E = np.random.default_rng(0).standard_normal((3, 7, 7))
    np.testing.assert_array_equal(phi(E)[6 + 2 * 2 + 1].reshape(5, 6), E[1, 2:7, 1:7])


@pytest.mark.parametrize("phi", GATHERS, ids=repr)
def test_atom_pictures_show_the_atoms(phi: GatherPhi) -> None:
    E = np.random.default_rng(0).standard_normal(phi.epitome_shape).astype(np.float32)
    pictures = phi.atom_pictures(E)
    if phi.support is not None:
        assert pictures is None
        return
    assert pictures is not None
    rows = [sliding_window_view(picture, phi.patch_shape).reshape(-1, phi.patch_size) for picture in pictures]
    atoms = np.concatenate(rows)
    assert atoms.dtype == np.float32
    assert all(picture.flags.c_contiguous for picture in pictures)
    np.testing.assert_array_equal(atoms, phi(E))
    np.testing.assert_array_equal(atoms, E.ravel()[phi.index])


def test_a_support_picks_the_pixels_of_a_window() -> None:
    mask = disc(5)
    phi = windows((9, 9), (5, 5), border="periodic", support=mask)
    full = windows((9, 9), (5, 5), border="periodic")
    np.testing.assert_array_equal(phi.index, full.index[:, mask.ravel()])
    assert phi.patch_size == mask.sum() == 21
    assert windows((9, 9), (5, 5), support=np.ones((5, 5), bool)).support is None  # nothing is left out
