"""How regressions are learned: patches as the kernel takes them, maps that were planted, a file that can be read."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import make_regressions as tool
from epitomes.regression import AnchoredRegression

M = tool.SIDE**2


def sample(rng: np.random.Generator, shape: tuple[int, int] = (40, 44)) -> tool.Sample:
    clean, noisy, second, estimate = (rng.standard_normal(shape).astype(np.float32) for _ in range(4))
    return tool.Sample(clean, noisy, second, estimate)


def test_patches_are_those_of_the_kernel(rng: np.random.Generator) -> None:
    """With one patch in the image, the kernel's correction is that of the inputs."""
    one = sample(rng, (tool.SIDE, tool.SIDE))
    anchors = rng.standard_normal((9, M)).astype(np.float32)
    maps = rng.standard_normal((9, 3 * M, M)).astype(np.float32)
    inputs, _ = tool.upright(one)
    k = int(tool.nearest_of(inputs[:, :M], anchors)[0])
    change = AnchoredRegression(anchors, maps).correct(one.estimate, one.others) - one.estimate
    # The change is turned back; its values are the same.
    np.testing.assert_allclose(np.sort(change.ravel()), np.sort(inputs[0] @ maps[k]), atol=1e-3)


def test_planted_corrections_are_found(rng: np.random.Generator) -> None:
    """What is missing is a third of the residual."""
    samples = []
    for _ in range(6):
        made = sample(rng)
        samples.append(
            tool.Sample(made.estimate + (made.noisy - made.estimate) / 3, made.noisy, made.second, made.estimate)
        )
    regression = tool.fitted(samples, 4)
    residual = regression.maps[:, 2 * M :]
    np.testing.assert_allclose(residual, np.broadcast_to(np.eye(M) / 3, residual.shape), atol=0.01)
    np.testing.assert_allclose(regression.maps[:, : 2 * M], 0, atol=0.03)
    assert tool.error(tool.corrected(samples[0], regression, 1)) < 1e-4 * tool.error(samples[0])


def test_large_pictures_give_two(rng: np.random.Generator) -> None:
    assert [part.shape for part in tool.parts(np.zeros((321, 481), np.float32))] == [(240, 240), (160, 240)]
    assert [part.shape for part in tool.parts(np.zeros((180, 180), np.float32))] == [(180, 180)]


@pytest.mark.slow
def test_samples_are_in_units_of_the_noise() -> None:
    clean = np.add.outer(np.arange(64.0), 2 * np.arange(64.0)).astype(np.float32)
    found = tool.denoised(tool.Task(clean, 20.0, 3, "balanced"))
    assert np.std(found.noisy - found.clean) == pytest.approx(1, abs=0.05)
    assert tool.error(found) < 0.2 and not np.array_equal(found.second, found.estimate)
