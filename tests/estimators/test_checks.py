"""All of scikit-learn's own checks of estimators, without exceptions.

`EpitomeDenoiser` is checked as a transformer of rows, each a flattened image. For images, its tags say that X is not
`(n_samples, n_features)`, and scikit-learn has no checks: `test_denoiser.py` tests that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from epitomes.coders import OMP
from epitomes.estimators import EpitomeDenoiser, EpitomeLearning, OnlineDictionaryLearning

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
    EpitomeDenoiser(sigma=0.5, image_shape="auto"),
    OnlineDictionaryLearning(n_components=5, max_iter=2),
]


@parametrize_with_checks(ESTIMATORS)
def test_check(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
