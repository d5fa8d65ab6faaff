"""The parts of inpainting: the smooth start, regions, the noise level of known pixels, and copies in holes."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes.restoration.inpainting.holes import fill_holes
from epitomes.restoration.inpainting.level import level_of
from epitomes.restoration.inpainting.regions import holes_of
from epitomes.restoration.inpainting.smooth import smooth_fill


class TestSmooth:
    def test_least_bending(self, rng: np.random.Generator) -> None:
        """The solution of the normal equations, from a dense matrix."""
        plane, unknown = rng.random((9, 11)), rng.random((9, 11)) < 0.5
        chain = [np.diff(np.eye(n), axis=0) for n in plane.shape]
        down, across = (-d.T @ d for d in chain)
        laplacian = np.kron(down, np.eye(11)) + np.kron(np.eye(9), across)
        hidden = unknown.ravel()
        known = np.where(hidden, 0, plane.ravel())
        solved = np.linalg.lstsq(laplacian[:, hidden], -laplacian @ known, rcond=None)[0]
        got = smooth_fill(np.where(unknown, 99.0, plane), unknown)
        np.testing.assert_allclose(got[unknown], solved, atol=1e-3)
        np.testing.assert_array_equal(got[~unknown], plane[~unknown])

    def test_far_from_all_known_pixels(self) -> None:
        plane = np.full((40, 40), 7.0)
        unknown = np.ones(plane.shape, np.bool_)
        unknown[0, 0] = False
        np.testing.assert_allclose(smooth_fill(np.where(unknown, 0.0, plane), unknown), 7.0)


class TestRegions:
    @pytest.mark.parametrize("share", [0.1, 0.5, 0.8, 0.95])
    def test_chance_makes_no_holes(self, share: float, rng: np.random.Generator) -> None:
        assert not holes_of(rng.random((128, 128)) < share).any()

    def test_thin_lines_are_no_holes(self) -> None:
        unknown = np.zeros((64, 64), np.bool_)
        unknown[10:18], unknown[:, 30:38] = True, True
        assert not holes_of(unknown).any()

    def test_a_square_is_one(self, rng: np.random.Generator) -> None:
        unknown = np.zeros((96, 96), np.bool_)
        unknown[30:60, 40:70] = True
        np.testing.assert_array_equal(holes_of(unknown), unknown)
        among = unknown | (rng.random(unknown.shape) < 0.3)
        found = holes_of(among)
        assert found[unknown].all() and found.sum() < 1.5 * unknown.sum()


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("sigma", [5.0, 25.0])
def test_level_of_noise(sigma: float, missing: float, rng: np.random.Generator) -> None:
    y, x = np.indices((128, 128))
    clean = 120 + 60 * np.sin(x / 15) * np.cos(y / 11) + 40 * (x > y)
    noisy = clean + rng.normal(0, sigma, clean.shape)
    assert level_of(noisy[..., None], rng.random(clean.shape) < missing) == pytest.approx(sigma, rel=0.12)


class TestHoles:
    @pytest.mark.slow
    def test_pixels_are_copies(self, rng: np.random.Generator) -> None:
        """Nothing is averaged: every value of the hole occurs outside of it."""
        image = rng.integers(0, 40, (60, 60, 1)).astype(np.float64)
        hole = np.zeros((60, 60), np.bool_)
        hole[20:36, 22:40] = True
        got = fill_holes(np.where(hole[..., None], 0.5, image), hole)
        np.testing.assert_array_equal(got[~hole], image[~hole])
        assert np.isin(got[hole], image[~hole]).all()
        np.testing.assert_array_equal(got, fill_holes(np.where(hole[..., None], 0.5, image), hole))

    def test_no_room_around(self) -> None:
        image, hole = np.ones((12, 12, 1)), np.ones((12, 12), np.bool_)
        hole[0] = False
        np.testing.assert_array_equal(fill_holes(image, hole), image)
