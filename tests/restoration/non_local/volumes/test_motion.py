"""Motion between planes: found where there is any, none where there is not, and boxes that follow it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from epitomes.groups._bands import Box
from epitomes.groups.matching import Reference
from epitomes.restoration.non_local.volumes.motion import (
    BLOCK,
    ON_PILOTS,
    Motion,
    Squares,
    find_motion,
    follow,
)


@pytest.fixture
def scene(rng: np.random.Generator) -> np.ndarray:
    """A texture with contrast of several times the noise, whose level is 1."""
    return (40 * gaussian_filter(rng.standard_normal((120, 130)), 2)).astype(np.float32)


@pytest.mark.parametrize("shift", [(0, 0), (1, 0), (-3, 2), (5, -7), (11, 13)])
def test_a_shift_is_found(scene: np.ndarray, shift: tuple[int, int], rng: np.random.Generator) -> None:
    height, width = 80, 88
    plane = scene[20 : 20 + height, 20 : 20 + width]
    other = scene[20 - shift[0] : 20 - shift[0] + height, 20 - shift[1] : 20 - shift[1] + width]
    noise = 0.3 * rng.standard_normal((2, height, width)).astype(np.float32)
    found = find_motion(plane + noise[0], other + noise[1], ON_PILOTS).shift
    inner = found[:, 2:-2, 2:-2]  # at the borders things leave the plane
    assert found.shape == (2, height // BLOCK, width // BLOCK)
    assert np.mean((inner[0] == shift[0]) & (inner[1] == shift[1])) > 0.95


def test_noise_does_not_move(rng: np.random.Generator) -> None:
    flat = 0.2 * rng.standard_normal((2, 64, 64)).astype(np.float32)
    assert np.mean(find_motion(*flat, ON_PILOTS).shift == 0) > 0.9


def test_blocks_without_texture_move_like_their_neighbours(scene: np.ndarray, rng: np.random.Generator) -> None:
    scene[50:66, 48:72] = scene[50:66, 48:72].mean()
    plane, other = scene[20:100, 20:108], scene[16:96, 15:103]
    noise = 0.3 * rng.standard_normal((2, *plane.shape)).astype(np.float32)
    alone, together = (
        find_motion(plane + noise[0], other + noise[1], Squares(8, 0.003, unlike)).shift[:, 4:6, 4:6]
        for unlike in (0.0, 0.1)
    )
    right = [np.mean((found[0] == 4) & (found[1] == 5)) for found in (alone, together)]
    assert right[0] <= 0.5 and right[1] == 1


def test_planes_smaller_than_a_block(rng: np.random.Generator) -> None:
    small = rng.standard_normal((2, 5, 6)).astype(np.float32)
    assert find_motion(*small, ON_PILOTS).shift.shape == (2, 1, 1)


def constant(down: int, across: int) -> Motion:
    return Motion(np.broadcast_to(np.array([down, across])[:, None, None], (2, 8, 8)).copy())


def test_boxes_follow_motion_from_plane_to_plane() -> None:
    reference = Reference(2, np.array([24, 28]), np.array([24, 28]))
    box = Box(0, slice(20, 38), slice(20, 38), ((0, 0),) * 5)
    motions = [(constant(-1, 2), constant(3, 0))] * 5
    assert follow(box, motions, reference, (64, 64)).shifts == ((-2, 4), (-1, 2), (0, 0), (3, 0), (6, 0))


def test_boxes_stay_inside() -> None:
    reference = Reference(1, np.array([4]), np.array([50]))
    box = Box(0, slice(0, 14), slice(46, 60), ((0, 0),) * 3)
    motions = [(constant(-5, 9), constant(-5, 9))] * 3
    found = follow(box, motions, reference, (64, 64))
    assert found.shifts == ((0, 4), (0, 0), (0, 4))
    planes = [np.zeros((1, 64, 64), np.float32)] * 3
    assert found.cut(planes).shape == (1, 3, 14, 14)


def test_nothing_moves_without_motion() -> None:
    reference = Reference(1, np.array([4]), np.array([4]))
    box = Box(0, slice(0, 14), slice(0, 14), ((0, 0),) * 3)
    assert follow(box, [(None, None)] * 3, reference, (64, 64)).shifts == box.shifts
