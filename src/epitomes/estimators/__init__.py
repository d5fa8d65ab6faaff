"""Estimators for scikit-learn: pipelines, grid searches and cross-validation.

They need scikit-learn, which the rest of the library does not: `pip install "epitomes[sklearn]"`.
"""

try:
    from sklearn.utils.validation import validate_data as _since_1_6  # noqa: F401
except ImportError as error:
    raise ImportError(
        "epitomes.estimators needs scikit-learn 1.6 or newer, which is missing or older here: "
        'pip install "epitomes[sklearn]"'
    ) from error

from epitomes.estimators.denoiser import EpitomeDenoiser
from epitomes.estimators.dictionary import OnlineDictionaryLearning
from epitomes.estimators.learning import EpitomeLearning

__all__ = ["EpitomeDenoiser", "EpitomeLearning", "OnlineDictionaryLearning"]
