"""scikit-learn's own checks of estimators, all of them: no exceptions are named.

`EpitomeDenoiser` is checked as a transformer of rows, each a flattened image. Given images as such, it says by its tags
that X is not `(n_samples, n_features)`, and scikit-learn has nothing to check: `test_estimators_denoiser.py` does.
"""

from __future__ import annotations

import doctest
from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from epitomes.coders import OMP
from epitomes.estimators import EpitomeDenoiser, EpitomeLearning, denoiser, learning

ESTIMATORS = [
    EpitomeLearning(),
    EpitomeLearning(
        alpha=0.1,
        transform_coder=OMP(n_nonzero=1),
        max_iter=2,
        tol=0.0,
        batch_size=7,
        forget=1.0,
        sparse_output=True,
        random_state=None,
        n_jobs=1,
    ),
    EpitomeDenoiser(sigma=0.5, image_shape="auto", passes=1.0),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_finds_nothing_to_blame(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.parametrize("module", [denoiser, learning], ids=["denoiser", "learning"])
def test_the_examples_are_true(module: Any) -> None:
    found = doctest.testmod(module)
    assert found.attempted >= 5
    assert found.failed == 0
