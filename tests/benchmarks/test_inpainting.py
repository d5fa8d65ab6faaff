"""The benchmark of inpainting on one small image: rows with a peer, with noise and without."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import inpainting, missing_frames
from benchmarks.options import Options
from benchmarks.pictures import Picture
from benchmarks.record import as_json
from benchmarks.sequences import Sequence

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


@pytest.mark.slow
def test_missing_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    t, y, x = np.indices((7, 32, 32))
    clip = Sequence("ramp", (100 + 60 * np.sin((x + 2 * t) / 4) + y).astype(np.float32), "given")
    monkeypatch.setattr(missing_frames, "clips", lambda *_: [clip])
    (row,) = missing_frames.run(Options(quick=True))
    assert "missing-frames" in command.TABLES and row.gain == row.psnr - row.peer_psnr > 3 and as_json(row)
    np.testing.assert_array_equal(np.flatnonzero(missing_frames.every_third(9)), [2, 5])
