"""Turned atoms are turned windows of the same epitome."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from phi_cases import disc

from epitomes.phi import GatherPhi, flat, turned, windows

Floats = NDArray[np.float64]


def turned_windows(E: Floats, patch: tuple[int, ...]) -> set[bytes]:
    """All windows of E in all eight positions that have the shape of the patch, each turned on its own."""
    found = set()
    for height, width in {patch[:2], patch[1::-1]}:
        for window in sliding_window_view(E, (height, width, *patch[2:])).reshape(-1, height, width, *patch[2:]):
            for turns in range(4):
                for image in (np.rot90(window, turns), np.rot90(np.flip(window, 1), turns)):
                    if image.shape == patch:
                        found.add(np.ascontiguousarray(image).tobytes())
    return found


@pytest.mark.parametrize(
    ("shape", "patch"),
    [((9, 9), (4, 4)), ((8, 11), (5, 5)), ((9, 10), (3, 6)), ((7, 8, 3), (4, 4, 3)), ((6, 6), (1, 4))],
)
def test_atoms_are_the_turned_windows(shape: tuple[int, ...], patch: tuple[int, ...]) -> None:
    E = np.random.default_rng(0).standard_normal(shape)
    phi = turned(windows(shape, patch))
    atoms = [row.tobytes() for row in phi(E)]
    assert set(atoms) == turned_windows(E, patch)
    assert len(set(atoms)) == len(atoms)  # no atom twice
    assert phi.epitome_shape == shape


def test_eight_times_the_atoms_of_the_same_pixels() -> None:
    plain = windows((3, 9, 9), (4, 4))
    phi = turned(plain)
    assert phi.n_atoms == 8 * plain.n_atoms
    assert phi.epitome_shape == plain.epitome_shape
    np.testing.assert_array_equal(phi.index[: plain.n_atoms], plain.index)  # the atoms of plain come first
    assert turned(plain, flips=False).n_atoms == 4 * plain.n_atoms
    assert turned(plain, quarter_turns=False).n_atoms == 4 * plain.n_atoms
    assert turned(plain, quarter_turns=False, flips=False).n_atoms == plain.n_atoms


@pytest.mark.parametrize(
    ("plain", "n_pictures"),
    [
        (windows((6, 6), (1, 1)), 1),  # a pixel has no other side
        (windows((6, 7), (1, 4)), 4),  # a row: itself, mirrored, and both standing
        (windows((1, 7), (1, 4)), None),
        (windows((8, 8), (3, 3)), 8),
        (flat(2, (3, 3)), 16),
    ],
    ids=repr,
)
def test_no_picture_twice(plain: GatherPhi, n_pictures: int | None) -> None:
    if n_pictures is None:
        assert len(turned(plain, quarter_turns=False).pictures) == 2
        return
    phi = turned(plain)
    assert len(phi.pictures) == n_pictures
    assert len(np.unique(phi.index, axis=0)) == phi.n_atoms
    assert turned(phi).n_atoms == phi.n_atoms  # the eight positions are a group


def test_turned_torus_has_each_atom_once() -> None:
    phi = turned(windows((7, 7), (4, 4), border="periodic"))
    assert phi.n_atoms == 8 * 49 == len(np.unique(phi.index, axis=0))
    assert turned(phi).n_atoms == phi.n_atoms


def test_a_support_is_kept() -> None:
    phi = turned(windows((9, 9), (5, 5), border="periodic", support=disc(5)))
    assert phi.support is not None
    assert phi.patch_size == 21


def test_what_cannot_be_turned() -> None:
    with pytest.raises(ValueError, match=r"turned needs patches of two axes.*\(4, 6, 6\)"):
        turned(windows((10, 12, 12), (4, 6, 6)))
    with pytest.raises(ValueError, match=r"turned needs patches of two axes.*\(8,\)"):
        turned(windows(20, 8))
    with pytest.raises(ValueError, match=r"hold the patch \(4, 6\) both ways.*quarter_turns=False"):
        turned(flat(3, (4, 6)))
    assert turned(flat(3, (4, 6)), quarter_turns=False).n_atoms == 12
    with pytest.raises(TypeError, match="index-table phi"):
        turned("phi")  # type: ignore[arg-type]
