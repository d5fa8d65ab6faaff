"""Small problems to learn from: the tests of learning and restoring share them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.sparse import csr_array

from epitomes import Epitome, Patches
from epitomes.coders import Codes, Lasso
from epitomes.learn import Moments, Progress, Step, alternate, multiscale, online, run, scales, smooth_noise
from epitomes.phi import GatherPhi, Phi, windows

Doubles = NDArray[np.float64]


def texture(shape: tuple[int, ...], seed: int = 0, *, noise: float = 5.0) -> Doubles:
    """A picture with soft blobs, an edge and noise, values about 0 to 255."""
    rng = np.random.default_rng(seed)
    soft = gaussian_filter(rng.standard_normal(shape), 1.5)
    edge = np.indices(shape).sum(axis=0) > sum(shape) / 2
    return 110 + 40 * soft / soft.std() + 50 * edge + noise * rng.standard_normal(shape)


def sparse_codes(n: int, p: int, rng: np.random.Generator, share: float = 0.2) -> Codes:
    """Random codes; the first patch uses nothing."""
    A = rng.standard_normal((n, p)) * (rng.random((n, p)) < share)
    A[0] = 0
    return csr_array(A)


def coded(phi: Phi, n: int, rng: np.random.Generator, share: float = 0.2) -> tuple[Doubles, Codes, Moments]:
    """Patches that are sparse sums of the atoms of some epitome under noise, codes near those, and their moments."""
    A = sparse_codes(n, phi.n_atoms, rng, share)
    X = A @ phi(rng.standard_normal(phi.epitome_shape)) + 0.3 * rng.standard_normal((n, phi.patch_size))
    nearby = csr_array((A.data + 0.1 * rng.standard_normal(A.nnz), A.indices, A.indptr), shape=A.shape)
    return X, nearby, Moments.of(X, nearby)


def residual_cost(X: Doubles, A: Codes, D: Doubles, lam: float) -> float:
    """Eq. 4 as it is printed: `1/2 |X - A D|^2 + lam sum_j |d_j| |a_j|_1`, no moments involved."""
    dense = A.toarray().astype(np.float64)
    return float(
        0.5 * np.linalg.norm(X - dense @ D) ** 2 + lam * np.linalg.norm(D, axis=1) @ np.linalg.norm(dense, 1, axis=0)
    )


def same_bits(one: Epitome, other: Epitome) -> bool:
    return one.pixels.dtype == other.pixels.dtype and one.pixels.tobytes() == other.pixels.tobytes()


def numbers(progress: Progress) -> tuple[float, ...]:
    """All of a step's numbers but the seconds, which differ from run to run."""
    return (progress.index, progress.scale, progress.objective, progress.sparsity, progress.n_unused)


def same_steps(one: Step, other: Step) -> bool:
    """Equal bit for bit in all that a learner decides."""
    return same_bits(one.epitome, other.epitome) and numbers(one.progress) == numbers(other.progress)


LEARNERS = ("alternate", "alternate with samples", "online", "multiscale")
N_STEPS = 9
_PLAN = scales((12, 12), (5, 5), lam=20.0, n_steps=(4, 3, 2))


def learner(kind: str, after: Step | None = None) -> Iterator[Step]:
    """One of the ways to learn, on a small picture: the same steps in every process."""
    image, coder = texture((36, 36)).astype(np.float32), Lasso(lam=20.0)
    if kind == "multiscale":
        return multiscale(image, smooth_noise(phi_at(kind, 0)), scales=_PLAN, after=after)
    patches, start = Patches(image, (5, 5)), smooth_noise(phi_at(kind, 0))
    if kind == "online":
        return online(patches, start, coder=coder, batch=150, after=after)
    return alternate(patches, start, coder=coder, sample=None if kind == "alternate" else 300, after=after)


def phi_at(kind: str, scale: int) -> GatherPhi:
    """The phi that a checkpoint of this learner needs."""
    if kind == "multiscale":
        return windows(_PLAN[scale].epitome_shape, _PLAN[scale].patch_shape)
    return windows((12, 12), (5, 5))


def learn_until_killed(folder: Path) -> None:
    """For a process of its own: all learners at once, each says its steps and goes no further than the sixth."""

    def learn(kind: str) -> None:
        def tell(step: Step) -> None:
            os.write(1, f"{step.progress.index} {kind}\n".encode())  # whole lines, whoever else writes
            time.sleep(0.02 if step.progress.index < 6 else 60)

        run(learner(kind), max_steps=N_STEPS, checkpoint=folder / kind, callback=tell)

    with ThreadPoolExecutor(len(LEARNERS)) as pool:
        list(pool.map(learn, LEARNERS))
