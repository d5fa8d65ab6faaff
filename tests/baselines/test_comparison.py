"""compare: every kind of name, quality measured or estimated, memory, and errors before any work."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from restoration_cases import Doubles, Progress, psnr, shipped_picture, whole_methods, with_noise

from epitomes import denoise
from epitomes.baselines import KSVD, METHODS, compare, method_named
from epitomes.baselines.peak_memory import peak_memory
from epitomes.noise import Noise
from epitomes.validation import ssim

pytestmark = whole_methods


@pytest.fixture(scope="module")
def clean() -> Doubles:
    return shipped_picture()[96:144, 80:132]


def test_measured_against_a_clean_image(clean: Doubles) -> None:
    noisy, told = with_noise(clean, 25.0), Progress()
    method = KSVD(n_atoms=64, schedule=((1000, 2),), peak=255.0)
    found = compare(noisy, ["fast", method], 25.0, clean=clean, callback=told)
    fast, ksvd = found.contenders
    assert (fast.name, ksvd.name, ksvd.label) == ("fast", "K-SVD", "K-SVD")
    np.testing.assert_array_equal(ksvd.image, denoise(noisy, 25.0, method=method))
    assert fast.psnr == pytest.approx(psnr(clean, fast.image)) and fast.ssim == ssim(clean, fast.image)
    assert fast.estimate is None and fast.seconds > 0 and fast.memory is not None
    assert found.columns[1:3] == ("PSNR", "SSIM") and [row[0] for row in found.rows] == ["noisy", "fast", "K-SVD"]
    assert told.fractions == sorted(told.fractions) and told.fractions[-1] == 1.0
    assert any("K-SVD" in stage for stage in told.stages)
    json.dumps([each.as_dict() for each in found.contenders], allow_nan=False)


def test_estimated_without_one(clean: Doubles) -> None:
    noisy = with_noise(np.tile(clean, (2, 2)), 25.0)
    found = compare(noisy, ["fast"], 25.0)
    one = found.contenders[0]
    assert one.psnr is None and one.estimate is not None
    assert abs(one.estimate.psnr - psnr(np.tile(clean, (2, 2)), one.image)) < 1.5
    assert found.columns[1] == "estimated PSNR" and " to " in found.rows[0][2]


def test_an_uncertain_noise_level_widens_the_interval(clean: Doubles) -> None:
    truth = np.tile(clean, (2, 2))
    noisy, wrong = with_noise(truth, 25.0), Noise.gaussian(26.5)
    sure, unsure = (
        compare(noisy, ["fast"], noise=noise).contenders[0] for noise in (wrong, replace(wrong, interval=(24.0, 27.5)))
    )
    assert sure.estimate is not None and unsure.estimate is not None
    assert sure.estimate.psnr == unsure.estimate.psnr
    true = psnr(truth, sure.image)
    assert sure.estimate.interval[0] > true  # a level that is taken for certain, and is not right
    assert unsure.estimate.interval[0] < true < unsure.estimate.interval[1]


def test_colours_and_names(clean: Doubles) -> None:
    colours = np.stack([clean, clean[::-1], clean[:, ::-1]])
    noisy = np.clip(np.rint(with_noise(colours, 20.0)), 0, 255).astype(np.uint8)
    found = compare(noisy, ["fast"], 20.0, clean=colours, channel_axis=0)
    assert found.contenders[0].image.shape == noisy.shape and found.peak == 255
    assert {method_named(name).label for name in ("fast", "paper", *METHODS)} >= {"fast", "paper", "K-SVD", "ISD"}
    assert compare((noisy[0] / 255).astype(np.float32), ["fast"], 20 / 255, clean=clean / 255).peak == 1.0


def test_errors_come_first(clean: Doubles) -> None:
    for wrong, words in (
        ({"methods": ["best", "nonsense"]}, "no method 'nonsense'.*ksvd"),
        ({"methods": []}, "at least one method"),
        ({"methods": "fast"}, "in a list"),
        ({"methods": ["fast"], "clean": clean[1:]}, "clean needs the shape"),
        ({"methods": ["jojic"], "image": np.zeros((5, 40))}, "at least 12 x 12 pixels"),
        ({"methods": ["fast"], "image": np.zeros((3, 20, 20))}, "one image"),
    ):
        with pytest.raises(ValueError, match=words):
            compare(**({"image": clean, "sigma": 1.0} | wrong))


def test_memory_is_that_of_the_work() -> None:
    with peak_memory() as found:
        block = np.ones(4 * 2**20)
        block += 1
    assert found.bytes is not None and 2**25 * 0.9 < found.bytes < 2**27
