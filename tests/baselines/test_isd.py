"""ISD: one signature for several patch sizes, both updates, sizes that do not fit."""

from __future__ import annotations

import numpy as np
import pytest
from restoration_cases import psnr, shipped_picture, whole_methods, with_noise

from epitomes import denoise, restore
from epitomes.baselines import ISD, ShiftInvariant

pytestmark = whole_methods


def test_one_signature_codes_patches_of_several_sizes() -> None:
    clean = shipped_picture()[96:144, 80:132]
    noisy = with_noise(clean, 25.0)
    settings = {"side": 20, "schedule": ((2000, 3),)}
    one, other, both = (restore(noisy, 25.0, method=ISD(sizes=sizes, **settings)) for sizes in ((8,), (8, 5), (8, 8)))
    assert one.epitome is not None and other.epitome is not None
    assert one.epitome.pixels.tobytes() == other.epitome.pixels.tobytes()  # learned from the first size
    assert one.epitome.pixels.shape == (20, 20) and one.epitome.phi.n_atoms == 400
    np.testing.assert_allclose(one.image, both.image, rtol=1e-5)  # the mean over sizes
    assert psnr(clean, other.image) > psnr(clean, noisy) + 4


def test_stochastic_steps() -> None:
    clean = shipped_picture()[96:144, 80:132]
    noisy = with_noise(clean, 25.0)
    found = restore(noisy, 25.0, method=ISD(side=20, schedule=((2000, 2),), stochastic=True))
    assert found.fit is not None and len(found.fit.history) == 4  # two batches in a pass
    assert psnr(clean, found.image) > psnr(clean, noisy) + 4


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="do not fit in an epitome of side 6"):
        ISD(side=6)
    with pytest.raises(TypeError, match="sizes must be a tuple"):
        ISD(sizes=())
    with pytest.raises(ValueError, match="patches of 12 pixels do not fit in an image"):
        denoise(np.zeros((10, 40)), 1.0, method=ISD(sizes=(8, 12)))
    with pytest.raises(ValueError, match="shift"):
        ShiftInvariant(shift=-1)
