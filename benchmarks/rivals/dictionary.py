"""Online dictionary learning by SPAMS and scikit-learn: dictionaries of norm one after some work, each in one call.

Neither tells its dictionary on the way, so each run is a call of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals import installed

Rows = NDArray[np.float32]
Learner = Callable[[int], NDArray[np.float64]]  # from a number of batches to atoms as rows

BATCH = 512


def spams_learner(rows: Rows, start: Rows, lam: float, threads: int) -> Learner | None:
    """Return `spams.trainDL` as a function of the number of batches; None if it is not installed."""
    if not installed("spams", "spams-bin"):
        return None
    import spams

    X, D = np.asfortranarray(rows.T), np.asfortranarray(start.T)

    def run(n_batches: int) -> NDArray[np.float64]:
        found = spams.trainDL(
            X, D=D, lambda1=lam, mode=2, batchsize=BATCH, iter=n_batches, numThreads=threads, verbose=False
        )
        return np.ascontiguousarray(found.T, np.float64)

    return run


def sklearn_learner(rows: Rows, start: Rows, lam: float, threads: int) -> Learner | None:
    """Return `MiniBatchDictionaryLearning` as a function of the number of batches; None if it is not installed."""
    if not installed("sklearn", "scikit-learn"):
        return None
    from sklearn.decomposition import MiniBatchDictionaryLearning

    def run(n_batches: int) -> NDArray[np.float64]:
        chosen = np.random.default_rng(0).permutation(len(rows))[: n_batches * BATCH]
        learner = MiniBatchDictionaryLearning(
            n_components=len(start),
            alpha=lam,
            batch_size=BATCH,
            max_iter=1,
            dict_init=start.astype(np.float64),
            fit_algorithm="lars",
            n_jobs=threads,
            random_state=0,
            tol=0.0,
            max_no_improvement=None,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(learner.fit(rows[chosen].astype(np.float64)).components_)

    return run
