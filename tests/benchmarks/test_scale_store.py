"""The benchmark of images larger than memory, on a small one."""

from __future__ import annotations

from pathlib import Path

import pytest
from restoration_cases import whole_methods

from benchmarks import scale_store
from benchmarks.options import Options
from benchmarks.record import Claim, StoreRun


@pytest.mark.slow
@whole_methods
def test_a_small_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale_store, "WINDOWS", 3)
    options = Options(cases=("0.36",), presets=("fast",), output=tmp_path, curve=tmp_path / "curve.png")
    row, *claims = scale_store.run(options)
    assert isinstance(row, StoreRun) and (row.side, row.halo, row.tiles) == (600, 8, 1)
    assert 50 < row.peak_mb < scale_store.MOST_MB and row.cpu_seconds > 0 < row.seconds_per_megapixel_in_memory
    assert [claim.holds for claim in claims if isinstance(claim, Claim)] == [True, True]
    assert (tmp_path / "curve.png").exists()
