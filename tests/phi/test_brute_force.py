"""phi against a matrix that plain loops write, on many small shapes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from epitomes.phi import GatherPhi, windows

Floats = NDArray[np.float64]


def looped_matrix(
    n_epitomes: int, shape: tuple[int, ...], patch: tuple[int, ...], periodic: bool, support: NDArray[np.bool_]
) -> Floats:
    """R by the definition: which pixel of which epitome is seen at each place of each window."""
    moves = [n if periodic else n - w + 1 for n, w in zip(shape, patch, strict=True)]
    pixels = np.arange(n_epitomes * int(np.prod(shape))).reshape(n_epitomes, *shape)
    held = [place for place in product(*map(range, patch)) if support[place]]
    seen = [
        int(pixels[(number, *((s + o) % n for s, o, n in zip(start, place, shape, strict=True)))])
        for number in range(n_epitomes)
        for start in product(*map(range, moves))
        for place in held
    ]
    R = np.zeros((len(seen), pixels.size))
    R[np.arange(len(seen)), seen] = 1
    return R


@pytest.mark.slow
def test_five_hundred_shapes() -> None:
    rng = np.random.default_rng(0)
    done = 0
    while done < 500:
        rank = int(rng.integers(1, 4))
        n_epitomes = int(rng.integers(1, 5))
        shape = tuple(rng.integers(1, 13 if rank < 3 else 7, rank).tolist())
        patch = tuple(int(rng.integers(1, n + 1)) for n in shape)
        periodic = bool(rng.integers(2))
        if periodic and rank == 3 and shape[-1] == patch[-1]:
            continue  # channels: they have their own test
        support = np.ones(patch, bool)
        if periodic and rng.integers(2):
            support = rng.random(patch) < 0.5
            support.flat[0] = True
        n_rows = n_epitomes * int(np.prod(shape)) * support.sum()
        if n_rows * n_epitomes * np.prod(shape) > 4e5:
            continue
        R = looped_matrix(n_epitomes, shape, patch, periodic, support)
        several = () if n_epitomes == 1 and rng.integers(2) else (n_epitomes,)
        phi = windows((*several, *shape), patch, border="periodic" if periodic else "valid", support=support)
        compare(phi, R, rng)
        done += 1


def compare(phi: GatherPhi, R: Floats, rng: np.random.Generator) -> None:
    E = rng.standard_normal(phi.epitome_shape)
    D = rng.standard_normal((phi.n_atoms, phi.patch_size))
    np.testing.assert_array_equal(phi(E).ravel(), R @ E.ravel())
    np.testing.assert_allclose(phi.adjoint(D).ravel(), R.T @ D.ravel(), atol=1e-12)
    normal = R.T @ R
    counts = np.diag(normal)
    np.testing.assert_array_equal(normal, np.diag(counts))
    np.testing.assert_array_equal(phi.counts.ravel(), counts)
    np.testing.assert_allclose(phi.average(D).ravel(), R.T @ D.ravel() / counts, atol=1e-12)  # (R'R)^-1 R' D
