"""General linear phis: any injective R, and windows between the pixels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from phi_cases import disc
from scipy.ndimage import map_coordinates
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix

from epitomes.phi import MatrixPhi, as_matrix, rotated, scaled, subpixel, turned, windows
from epitomes.testing.phi import check_phi

Floats = NDArray[np.float64]


def test_matrix_of_a_gather_is_that_gather() -> None:
    phi = windows((2, 7, 8), (3, 4))
    twin = MatrixPhi(as_matrix(phi), phi.epitome_shape, phi.patch_shape)
    rng = np.random.default_rng(0)
    E, D = rng.standard_normal(phi.epitome_shape), rng.standard_normal((phi.n_atoms, phi.patch_size))
    np.testing.assert_array_equal(twin(E), phi(E))
    np.testing.assert_allclose(twin.adjoint(D), phi.adjoint(D), atol=1e-13)
    np.testing.assert_allclose(twin.average(D), phi.average(D), atol=1e-13)


@pytest.mark.parametrize("kind", [np.asarray, csr_array, csc_array, coo_array, csr_matrix, np.float32, list])
def test_any_matrix_is_taken_and_none_is_changed(kind: type) -> None:
    dense = np.random.default_rng(0).integers(-3, 4, (12, 5)).astype(float)
    given = kind(dense)
    phi = MatrixPhi(given, (5,), (4,))
    np.testing.assert_array_equal(phi.matrix.toarray(), dense)
    assert phi.matrix.dtype == np.float64
    check_phi(phi)
    if isinstance(given, csr_array):
        given.data[:] = 0  # ours is a copy
        np.testing.assert_array_equal(phi.matrix.toarray(), dense)


def test_average_is_the_pseudo_inverse_of_badly_scaled_matrices() -> None:
    rng = np.random.default_rng(0)
    for power in (0, 2, 4):
        R = rng.standard_normal((60, 12)) * np.logspace(-power, power, 12)
        D = rng.standard_normal((10, 6))
        found = MatrixPhi(R, (12,), (6,)).average(D).ravel()
        needed = np.linalg.pinv(R / np.logspace(-power, power, 12)) @ D.ravel() / np.logspace(-power, power, 12)
        np.testing.assert_allclose(found, needed, rtol=1e-10)


def test_laws_hold_for_a_poorly_conditioned_matrix() -> None:
    rng = np.random.default_rng(0)
    R = rng.standard_normal((40, 10))
    R[:, 1] = R[:, 0] + 1e-4 * rng.standard_normal(40)
    check_phi(MatrixPhi(R, (10,), (4,)), tol=1e-10)


def averaged_neighbours(n: int) -> Floats:
    """Means of neighbours on a ring: alternating pixels vanish, so it has no inverse for an even n."""
    return (np.eye(n) + np.roll(np.eye(n), 1, axis=1)) / 2


def test_rank_deficient_matrices_are_refused() -> None:
    rng = np.random.default_rng(0)
    R = rng.standard_normal((40, 10))
    R[:, 3] = R[:, 7]
    twins = R.copy()
    R[:, 3] = R[:, :3] @ [0.1, 2, -1]
    for bad in (R, twins, averaged_neighbours(10), np.ones((20, 2))):
        with pytest.raises(ValueError, match="depend on each other"):
            MatrixPhi(bad, (bad.shape[1],), (2,))
    assert MatrixPhi(averaged_neighbours(9), (9,), (3,)).n_atoms == 3
    R[:, 3] = 0
    with pytest.raises(
        ValueError, match=r"1 of the 10 pixels of the epitome are in no atom, the first at index \(0, 3\)"
    ):
        MatrixPhi(R, (2, 5), (4,))
    with pytest.raises(ValueError, match="fewer rows than columns"):
        MatrixPhi(R[:8], (10,), (4,))


def test_wrong_matrices_are_refused() -> None:
    R = np.eye(12, 6)
    R[6:] += np.eye(6)
    with pytest.raises(ValueError, match=r"needs 5 columns.*got shape \(12, 6\)"):
        MatrixPhi(R, (5,), (4,))
    with pytest.raises(ValueError, match="multiple of 5 rows"):
        MatrixPhi(R, (6,), (5,))
    with pytest.raises(ValueError, match="2 axes"):
        MatrixPhi(R[0], (6,), (4,))
    with pytest.raises(TypeError, match="real numbers"):
        MatrixPhi(csr_array(R * 1j), (6,), (4,))
    with pytest.raises(ValueError, match="1 NaN or infinite"):
        MatrixPhi(
            csr_array(np.where(np.arange(6) == np.arange(12)[:, None], np.nan, R)[[0, *range(6, 12), 7]]), (6,), (4,)
        )
    with pytest.raises(ValueError, match=r"needs shape \(3, 4\)"):
        MatrixPhi(R, (6,), (4,)).adjoint(np.ones((4, 3)))
    with pytest.raises(ValueError, match="read-only"):
        MatrixPhi(R, (6,), (4,)).matrix.data[0] = 3


def interpolated(E: Floats, centre: Floats, offsets: Floats) -> Floats:
    """Values of E around a centre, by another implementation of linear interpolation."""
    values: Floats = map_coordinates(E, (centre + offsets).T, order=1, mode="nearest")
    return values


def pixels(patch: tuple[int, ...]) -> Floats:
    return np.argwhere(np.ones(patch)) - (np.array(patch) - 1) / 2


def test_subpixel_windows() -> None:
    plain = windows((9, 10), (4, 5))
    phi = subpixel(plain, [(0.25, 0), (-0.5, 0.75)])
    E = np.random.default_rng(0).standard_normal((9, 10))
    D = phi(E)
    assert phi.n_atoms == plain.n_atoms + 5 * 6 + 5 * 5
    np.testing.assert_array_equal(D[: plain.n_atoms], plain(E))
    first, last = D[plain.n_atoms], D[-1]
    np.testing.assert_allclose(first, interpolated(E, np.array([1.5 + 0.25, 2]), pixels((4, 5))), atol=1e-14)
    np.testing.assert_allclose(last, interpolated(E, np.array([6, 6.75]), pixels((4, 5))), atol=1e-14)


def test_subpixel_is_exact_on_ramps() -> None:
    plain = windows((9, 10), (4, 5))
    ramp = 2.0 * np.arange(9)[:, None] - 3.0 * np.arange(10)
    D = subpixel(plain, [(0.5, 0.25)])(ramp)
    np.testing.assert_allclose(D[plain.n_atoms] - D[0], 2 * 0.5 - 3 * 0.25, atol=1e-13)


@pytest.mark.parametrize("degrees", [90, 180, 270, -90])
@pytest.mark.parametrize("width", [4, 5])
def test_quarter_rotations_are_turns(degrees: int, width: int) -> None:
    plain = windows((2, 9, 9), (width, width))
    phi = rotated(plain, [degrees])
    E = np.random.default_rng(0).standard_normal((2, 9, 9))
    moved = phi(E)[plain.n_atoms :].reshape(-1, width, width)
    needed = [np.rot90(atom, degrees // 90) for atom in plain(E).reshape(-1, width, width)]
    np.testing.assert_array_equal(moved, needed)
    assert phi.n_atoms == 2 * plain.n_atoms
    assert phi.matrix.nnz == 2 * plain.index.size  # copies, no interpolation
    every = {row.tobytes() for row in turned(plain)(E)}
    assert all(np.ascontiguousarray(atom).tobytes() in every for atom in moved)


def test_rotated_windows() -> None:
    plain = windows((15, 15), (5, 5))
    phi = rotated(plain, [30])
    E = np.random.default_rng(0).standard_normal((15, 15))
    cos, sin = np.cos(np.pi / 6), np.sin(np.pi / 6)
    offsets = pixels((5, 5)) @ np.array([[cos, sin], [-sin, cos]]).T
    moved = phi(E)[plain.n_atoms :]
    reach = int(np.ceil(offsets.max()))
    assert len(moved) == (15 - 2 * reach) ** 2  # only windows inside the epitome
    middle = interpolated(E, np.array([7, 7]), offsets)
    np.testing.assert_allclose(moved[len(moved) // 2], middle, atol=1e-14)


def test_a_disc_has_more_room_to_rotate_than_a_square() -> None:
    square = windows((11, 11), (7, 7), border="periodic")
    round_ = windows((11, 11), (7, 7), border="periodic", support=disc(7))
    assert rotated(round_, [45]).n_atoms > rotated(square, [45]).n_atoms


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.5, 2])
def test_scaled_windows(factor: float) -> None:
    plain = windows((15, 15), (5, 5))
    E = np.random.default_rng(0).standard_normal((15, 15))
    moved = scaled(plain, [factor])(E)[plain.n_atoms :]
    offsets = factor * pixels((5, 5))
    assert len(moved) == (15 - 2 * int(np.ceil(2 * factor))) ** 2
    np.testing.assert_allclose(moved[len(moved) // 2], interpolated(E, np.array([7, 7]), offsets), atol=1e-14)


def test_channels_are_never_mixed() -> None:
    plain = windows((12, 12, 3), (4, 4, 3))
    grey = windows((12, 12), (4, 4))
    E = np.random.default_rng(0).standard_normal((12, 12, 3))
    for colour, single in ((scaled(plain, [1.5]), scaled(grey, [1.5])), (rotated(plain, [20]), rotated(grey, [20]))):
        D = colour(E).reshape(-1, 16, 3)
        for channel in range(3):
            np.testing.assert_allclose(D[..., channel], single(E[..., channel]), atol=1e-14)


def test_small_windows_of_a_torus_come_once() -> None:
    plain = windows((6, 6), (5, 5), border="periodic")
    phi = scaled(plain, [0.5])
    assert phi.n_atoms == 36 + 36
    R = phi.matrix.toarray().reshape(72, -1)
    assert len(np.unique(R, axis=0)) == 72


def test_moves_that_are_refused() -> None:
    phi = windows((9, 9), (6, 6))
    with pytest.raises(ValueError, match="whole pixels"):
        subpixel(phi, [(0.5, 0), (1, 0)])
    with pytest.raises(ValueError, match=r"2 columns, one per axis of the patch, got shape \(1, 3\)"):
        subpixel(phi, [(0.5, 0, 0)])
    with pytest.raises(ValueError, match="shifts needs 2 axes"):
        subpixel(phi, [0.5, 0.5])
    with pytest.raises(ValueError, match="NaN or infinite"):
        subpixel(phi, [(0.5, np.nan)])
    with pytest.raises(ValueError, match="moves nothing"):
        rotated(phi, [45, 360])
    with pytest.raises(ValueError, match="two axes"):
        rotated(windows((10, 12, 12), (4, 6, 6)), [45])
    with pytest.raises(ValueError, match="moves nothing"):
        scaled(phi, [1])
    with pytest.raises(ValueError, match="> 0"):
        scaled(phi, [-2])
    with pytest.raises(ValueError, match=r"no window of \(6, 6\) pixels scaled by 3.0 lies inside"):
        scaled(phi, [3])
    with pytest.raises(ValueError, match="lies inside"):
        scaled(phi, [1e300])
    with pytest.raises(ValueError, match="is empty"):
        rotated(phi, [])
    for move in (subpixel, rotated, scaled):
        with pytest.raises(TypeError, match=f"{move.__name__} needs an index-table phi such as windows"):
            move(rotated(phi, [90]), [0.5])  # type: ignore[arg-type]
