"""Steadied planes: errors that change from plane to plane are averaged along motion, what changes itself is left."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from epitomes.restoration.non_local.volumes.motion import BLOCK, Motion
from epitomes.restoration.non_local.volumes.steady import steadied
from epitomes.restoration.non_local.volumes.stream import Plane

CONTRAST = 5.0
STEP = 3  # pixels that the camera moves to the right, from plane to plane
N, SIDE = 4, 64

Planes = NDArray[np.float32]  # (planes, height, width)


def texture(rng: np.random.Generator, width: int = SIDE) -> NDArray[np.float64]:
    return np.asarray(10 * gaussian_filter(rng.standard_normal((SIDE, width)), 2, mode="wrap") * 7)


def moving_by(across: int) -> Motion:
    blocks = SIDE // BLOCK
    return Motion(np.broadcast_to(np.array([0, across])[:, None, None], (2, blocks, blocks)).copy())


def result(images: Planes, step: int = STEP) -> Planes:
    planes = (
        Plane(image[None], image[None], moving_by(step) if k else None, moving_by(-step) if k + 1 < N else None)
        for k, image in enumerate(images)
    )
    return np.stack([plane.current[0] for plane in steadied(planes, CONTRAST)])


def test_errors_are_averaged_along_motion(rng: np.random.Generator) -> None:
    scene = texture(rng, SIDE + N * STEP)
    clean = np.stack([scene[:, k * STEP : k * STEP + SIDE] for k in range(N)])
    error = 0.1 * rng.standard_normal(clean.shape)
    inner = (slice(None), slice(None), slice(2 * STEP, -2 * STEP))
    found = result((clean + error).astype(np.float32))[inner] - clean[inner]
    assert found.std() < 0.75 * error.std()
    change, before = (
        np.mean([np.square(each[k + 1][:, :-STEP] - each[k][:, STEP:]).mean() for k in range(N - 1)])
        for each in (found, error[inner])
    )
    assert change < 0.3 * before


def test_what_changes_is_left(rng: np.random.Generator) -> None:
    unlike = np.stack([texture(rng) for _ in range(N)]).astype(np.float32)
    near = np.mean(np.square(result(unlike) - unlike)) / np.mean(np.square(unlike))
    assert near < 1e-3


def test_without_motion_nothing_is_changed(rng: np.random.Generator) -> None:
    images = rng.standard_normal((N, 1, SIDE, SIDE)).astype(np.float32)
    for image, plane in zip(images, steadied((Plane(each, each) for each in images), CONTRAST), strict=True):
        np.testing.assert_array_equal(plane.current, image)
    alone = list(steadied(iter([Plane(images[0], images[0])]), CONTRAST))
    np.testing.assert_array_equal([plane.current for plane in alone], images[:1])
