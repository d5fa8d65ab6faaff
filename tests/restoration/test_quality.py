"""Quality guards: PSNR at sigma 25 on pictures that no shipped epitome was learned from, 0.03 dB under that measured.

A change that fails here makes images worse. If the shipped epitomes change, measure the figures again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from restoration_cases import Doubles, psnr, shipped_picture, whole_methods, with_noise

from epitomes import denoise

pytestmark = whole_methods

SIGMA = 25.0
SLACK = 0.03  # dB

MEASURED = {  # dB
    ("camera", "fast"): 27.85,
    ("camera", "balanced"): 28.09,
    ("camera", "best"): 28.07,
    ("camera", "paper"): 27.48,
    ("astronaut", "fast"): 28.49,
    ("astronaut", "balanced"): 29.17,
    ("coffee", "fast"): 31.73,
    ("coffee", "balanced"): 33.96,
    ("coffee", "best"): 34.04,
}


def picture(name: str) -> Doubles:
    """Grey and colour, without noise."""
    if name == "camera":
        return shipped_picture()[64:160, 64:160]
    data = pytest.importorskip("skimage.data")
    top, left = {"astronaut": (20, 180), "coffee": (150, 200)}[name]
    return np.asarray(getattr(data, name)()[top : top + 64, left : left + 64], np.float64)


@pytest.mark.parametrize(("name", "how"), MEASURED)
def test_psnr_is_no_worse(name: str, how: str) -> None:
    clean = picture(name)
    noisy = with_noise(clean, SIGMA).astype(np.float32)
    given: dict[str, Any] = {"method": "paper"} if how == "paper" else {"preset": how}
    found = denoise(noisy, SIGMA, channel_axis=-1 if clean.ndim == 3 else None, **given)
    assert psnr(clean, found) > MEASURED[name, how] - SLACK
