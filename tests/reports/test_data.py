"""ReportData: what is refused, and the noise level as one number."""

from __future__ import annotations

import math

import numpy as np
import pytest
from report_cases import Audit, Errors, report_data

from epitomes.reports import ReportData


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"noisy": np.zeros((4, 40, 50))}, "one plane"),
        ({"noisy": np.zeros(50)}, "one plane"),
        ({"noisy": np.zeros((50, 50))}, "they must be equal"),
        ({"sigma": -1.0}, "0 or above"),
        ({"sigma": float("nan")}, "0 or above"),
        ({"sigma": np.zeros(0)}, "0 or above"),
        ({"error": Errors(np.zeros((9, 9)))}, "error.std has shape"),
        ({"audit": Audit(np.zeros((9, 9)))}, "audit.leak_map has shape"),
    ],
)
def test_data_that_do_not_fit_are_refused(changes: dict, words: str, rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match=words):
        report_data(rng, **changes)


def test_the_level_is_the_root_mean_square() -> None:
    image = np.zeros((4, 5, 3))
    sigma = np.array([3.0, 4.0, 12.0])
    assert ReportData(noisy=image, restored=image, sigma=sigma).level == pytest.approx(math.sqrt((9 + 16 + 144) / 3))
    assert ReportData(noisy=image, restored=image, sigma=2.5).level == 2.5


def test_images_are_floats_without_a_single_channel() -> None:
    image = np.arange(20, dtype=np.uint8).reshape(4, 5, 1)
    data = ReportData(noisy=image, restored=image, sigma=1.0)
    assert data.before.shape == data.after.shape == (4, 5) and data.before.dtype.kind == "f"
