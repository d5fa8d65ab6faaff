"""The gate's fit: a logistic regression that another way of computing agrees with, and pictures in, weights out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from benchmarks import __main__ as command
from benchmarks import fit_gate
from benchmarks.options import Options
from epitomes.formats import write
from epitomes.noise.evidence import WEIGHTS


def test_it_is_registered() -> None:
    assert command.TABLES["fit-gate"] == "benchmarks.fit_gate"


def test_the_regression_is_at_its_minimum(rng: np.random.Generator) -> None:
    rows = rng.normal(2.0, 3.0, (200, 3))
    noisy = rng.random(200) < 1 / (1 + np.exp(-(rows[:, 0] - 2)))
    weight = rng.uniform(0.5, 2.0, 200)
    *slopes, constant = fit_gate.logistic(rows, noisy, weight)
    chance = 1 / (1 + np.exp(-(rows @ slopes + constant)))
    gradient = (weight * (chance - noisy)) @ rows + fit_gate.RIDGE * np.array(slopes) * rows.var(axis=0)
    np.testing.assert_allclose(gradient - rows.mean(axis=0) * (weight @ (chance - noisy)), 0, atol=1e-2)
    assert weight @ (chance - noisy) == pytest.approx(0, abs=1e-2)  # the constant has no ridge


@pytest.mark.slow
def test_pictures_in_weights_out(tmp_path: Path, rng: np.random.Generator) -> None:
    ramp = np.linspace(60, 180, 64)[:, None, None] * np.ones((64, 64, 3))
    for folder in ("photos", "clean"):
        (tmp_path / folder).mkdir()
    for number in range(6):
        noise = gaussian_filter(rng.standard_normal((64, 64, 3)), (1, 1, 0)) * 40
        texture = gaussian_filter(rng.standard_normal((64, 64, 3)), (1, 1, 0)) * np.linspace(0, 120, 64)[:, None]
        write(tmp_path / "photos" / f"{number}_real.png", np.clip(ramp + noise, 0, 255).astype(np.uint8))
        write(tmp_path / "clean" / f"{number}.png", np.clip(ramp + texture, 0, 255).astype(np.uint8))
    gates = list(fit_gate.run(Options(images=tmp_path / "photos", held_out=tmp_path / "clean")))
    assert [gate.gate for gate in gates] == ["colour", "grey"]
    assert gates[0].noisy == 6
    assert all(name in gates[0].weights for name in WEIGHTS)
    with pytest.raises(SystemExit, match="--held-out"):
        list(fit_gate.run(Options()))
