"""Learning over a collection, measured: the rows of a small run, and the arithmetic of the estimate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import scale_learn
from benchmarks.options import Options
from benchmarks.record import Claim, CollectionRun, Estimate, as_json
from epitomes import kernels
from epitomes.formats import write


@pytest.mark.slow
@pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow to learn with")
def test_a_quick_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command.TABLES["scale-learn"] == "benchmarks.scale_learn"
    random = np.random.default_rng(0)
    for number in range(2):
        pixels = 128 + random.standard_normal((70, 80)).cumsum(axis=0)
        write(tmp_path / f"{number}.png", np.clip(pixels, 0, 255).astype(np.uint8))
    monkeypatch.setattr(scale_learn, "SIDE", 40)
    monkeypatch.setattr(scale_learn, "process_pool", lambda workers: None)  # threads: processes have their own tests
    one, two, same, faster, estimate = scale_learn.run(Options(images=tmp_path, quick=True))
    assert isinstance(one, CollectionRun) and isinstance(two, CollectionRun)
    assert (one.workers, two.workers, one.n_pictures, one.n_patches) == (1, 2, 40, 2 * 40 * 200)
    assert one.objective == two.objective and one.patches_per_second == pytest.approx(one.n_patches / one.seconds)
    assert isinstance(same, Claim) and same.holds and isinstance(faster, Claim)
    assert faster.value == pytest.approx(one.seconds / two.seconds) and faster.holds == (faster.value >= 1.8)
    assert isinstance(estimate, Estimate) and as_json(estimate)
    assert estimate.core_hours_coding == pytest.approx(1e9 * estimate.microseconds_per_patch * 1e-6 / 3600)
    assert estimate.core_hours_reading == pytest.approx(1e6 * 512**2 * estimate.nanoseconds_per_pixel * 1e-9 / 3600)
    assert estimate.statistics_mb == pytest.approx(8e-6 * (1225 * 1226 / 2 + 1225 * 64 + 1225))
    assert estimate.network_gb == pytest.approx(estimate.statistics_mb)  # a thousand shards
