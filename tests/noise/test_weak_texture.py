"""Weakly textured patches: directions, covariances and the noise of flat patches, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from skimage import data

from epitomes.noise import patch_rows, weak_texture


def noisy(name: str, sigma: float, crop: int) -> np.ndarray:
    clean = np.asarray(getattr(data, name)(), np.float64)[:crop, :crop]
    return clean + sigma * np.random.default_rng(0).standard_normal(clean.shape)


def test_cosines_are_orthonormal() -> None:
    basis, frequency = patch_rows.cosine_basis()
    np.testing.assert_allclose(basis @ basis.T, np.eye(patch_rows.WIDTH**2), atol=1e-12)
    np.testing.assert_allclose(basis[1:].sum(axis=1), 0, atol=1e-12)
    assert frequency[0] == 0 and frequency.max() == 2 * (patch_rows.WIDTH - 1)


def test_principal_directions(rng: np.random.Generator) -> None:
    """Against the definition: orthonormal, without the mean, weak ones of less energy than any strong one."""
    rows = rng.standard_normal((500, patch_rows.WIDTH**2)) @ np.diag(np.linspace(1, 3, patch_rows.WIDTH**2))
    rows -= rows.mean(axis=1)[:, None]
    found = weak_texture.principal_directions(rows.T @ rows / len(rows))
    every = np.concatenate([found.weak, found.strong], axis=1)
    np.testing.assert_allclose(every.T @ every, np.eye(patch_rows.WIDTH**2 - 1), atol=1e-10)
    np.testing.assert_allclose(every.sum(axis=0), 0, atol=1e-10)
    energies = np.mean((rows @ every) ** 2, axis=0)
    np.testing.assert_allclose(energies[weak_texture.N_WEAK :], found.strong_energy, rtol=1e-8)
    assert energies[: weak_texture.N_WEAK].max() <= found.strong_energy.min()


def test_covariance_is_that_of_all_patches(rng: np.random.Generator) -> None:
    image = rng.standard_normal((20, 15))
    rows = np.array([image[i : i + 7, j : j + 7].ravel() for i in range(14) for j in range(9)])
    rows -= rows.mean(axis=1)[:, None]
    patches = weak_texture.PatchSet(image)
    np.testing.assert_allclose(patches.covariance(np.arange(len(rows))), rows.T @ rows / len(rows), atol=1e-12)


def test_usable_patches(rng: np.random.Generator) -> None:
    usable = rng.random((30, 22)) > 0.02
    expected = [usable[i : i + 7, j : j + 7].all() for i in range(24) for j in range(16)]
    np.testing.assert_array_equal(patch_rows.valid_patches(usable, 10**6), expected)
    assert 0 < sum(expected) < len(expected)


def test_the_other_half_teaches() -> None:
    """Directions for a half are those of the flattest tenth of the other one, and of no patch of its own."""
    patches = weak_texture.PatchSet(noisy("camera", 10, 128))
    places = np.arange(len(patches.half))
    first = weak_texture.principal_directions(patches.covariance(places))
    texture = patches.measure([first, first], places).textures[1]
    for half, taught in enumerate(weak_texture._cross_fitted(patches, places)):
        other = places[patches.half != half]
        flattest = other[np.argsort(texture[other])[: round(weak_texture.FLAT_SHARE * len(other))]]
        expected = weak_texture.principal_directions(patches.covariance(flattest))
        overlap = np.linalg.svd(taught.weak.T @ expected.weak)[1]  # all 1: they span the same
        np.testing.assert_allclose(overlap, 1, atol=0.01)


def test_flat_patches_are_not_quiet_ones(rng: np.random.Generator) -> None:
    image = rng.standard_normal((256, 256))
    found = weak_texture.patch_statistics(image, np.ones(image.shape, np.bool_))
    for texture in found.textures:
        flattest = found.energy[np.argsort(texture)[: len(found) // 50]]
        assert flattest.mean() == pytest.approx(1.0, abs=0.06)  # 1250 patches of 4 values: error 0.02 or more
