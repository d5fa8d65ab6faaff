"""K-SVD denoising made of `spams.omp` and NumPy, as one would write it: all patches, ten iterations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from benchmarks.rivals import installed

Image = NDArray[np.float32]

SIDE, ATOMS, STEPS, FACTOR = 8, 256, 10, 1.15
TWINS, FEW = 0.99, 3


def denoiser(noisy: Image, sigma: float, threads: int, *, exact: bool) -> Callable[[], Image] | None:
    """Return a function that denoises the image, with exact or approximate updates; None if SPAMS is not installed."""
    if not installed("spams", "spams-bin"):
        return None
    import spams

    bound, most = SIDE**2 * (FACTOR * sigma) ** 2, SIDE**2

    def codes_of(X: Image, D: Image):  # type: ignore[no-untyped-def]
        return spams.omp(X, np.asfortranarray(D), eps=bound, L=most, numThreads=threads).tocsr()  # (p, n)

    def run() -> Image:
        grid = sliding_window_view(noisy, (SIDE, SIDE))
        X = np.asfortranarray(grid.reshape(-1, SIDE**2).T)  # a patch per column
        means = X.mean(axis=0)
        X = np.asfortranarray(X - means)
        D = cosines()
        for _ in range(STEPS):
            A = codes_of(X, D)
            R = np.ascontiguousarray((X - A.T.dot(D.T).T).T)  # a patch per row
            for j in range(ATOMS):
                users = A.indices[A.indptr[j] : A.indptr[j + 1]]
                if not len(users):
                    continue
                a = A.data[A.indptr[j] : A.indptr[j + 1]]
                E = R[users] + np.outer(a, D[:, j])
                if exact:
                    _, _, right = np.linalg.svd(E, full_matrices=False)
                    d = right[0]
                else:
                    d = a @ E
                    d /= np.linalg.norm(d)
                a = E @ d
                D[:, j] = d
                R[users] = E - np.outer(a, d)
            D = cleared(D, A, X, R)
        A = codes_of(X, D)
        estimates = A.T.dot(D.T) + means[:, None]
        total, weight = np.zeros(noisy.shape), np.zeros(noisy.shape)
        rows = estimates.reshape(grid.shape)
        for y in range(SIDE):
            for x in range(SIDE):
                part = (slice(y, y + grid.shape[0]), slice(x, x + grid.shape[1]))
                total[part] += rows[:, :, y, x]
                weight[part] += 1
        blend = 30 / sigma
        return ((blend * noisy + total) / (blend + weight)).astype(np.float32)

    return run


def cleared(D: Image, A, X: Image, R: Image) -> Image:  # type: ignore[no-untyped-def]
    """Replace atoms that are hardly used or nearly equal another one by the patches that are coded worst."""
    energy = np.einsum("ij,ij->i", R, R)
    likeness = np.triu(np.abs(D.T @ D), 1)
    for j in range(ATOMS):
        if A.indptr[j + 1] - A.indptr[j] <= FEW or likeness[j].max() > TWINS:
            worst = int(np.argmax(energy))
            energy[worst] = 0
            D[:, j] = X[:, worst] / np.linalg.norm(X[:, worst])
    return D


def cosines() -> Image:
    """The overcomplete DCT."""
    side = round(np.sqrt(ATOMS))
    line = np.cos(np.outer(np.arange(SIDE), np.arange(side)) * np.pi / side)
    line[:, 1:] -= line[:, 1:].mean(axis=0)
    D = np.kron(line, line)
    return np.asfortranarray(D / np.linalg.norm(D, axis=0), np.float32)
