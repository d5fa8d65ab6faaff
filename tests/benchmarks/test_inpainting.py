"""The benchmark of inpainting on one small image: rows with a peer, with noise and without."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import inpainting
from benchmarks.options import Options
from benchmarks.pictures import Picture
from benchmarks.record import as_json

SMALL = Picture("house", np.add.outer(np.arange(48.0), np.arange(48.0)).astype(np.float32), "given")


@pytest.mark.slow
def test_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("skimage")
    assert "inpainting" in command.TABLES
    monkeypatch.setattr(inpainting, "to_race", lambda *_: [SMALL])
    rows = list(inpainting.run(Options(quick=True)))
    assert [(row.missing, row.sigma, row.peer) for row in rows] == [
        (0.5, 0.0, "biharmonic"),
        (0.8, 0.0, "biharmonic"),
        *[(share, 15.0, f"{name} then denoise") for share in (0.5, 0.8) for name in ("biharmonic", "inpaint")],
    ]
    assert rows[0].published == 39.16 and rows[0].recalled is None and rows[1].recalled == 30.12
    assert all(row.gain == row.psnr - row.peer_psnr and as_json(row) for row in rows)
