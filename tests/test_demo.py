"""The demonstration runs, improves the picture by decibels, and writes pictures whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from epitomes import demo, kernels

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for a whole picture")


def test_demo_denoises_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo.main(["--output", str(tmp_path / "new" / "folder")])
    written = sorted(path.name for path in (tmp_path / "new" / "folder").iterdir())
    assert written == ["clean.png", "demo.png", "denoised.png", "epitome.png", "noisy.png"]
    before, after = (
        np.asarray(Image.open(tmp_path / "new/folder" / name), float) for name in ("noisy.png", "denoised.png")
    )
    clean = demo.shipped_picture()
    assert demo.psnr(clean, after) > demo.psnr(clean, before) + 8
    told = capsys.readouterr()
    assert told.out.startswith("PSNR 20.1") and "coded 62001 patches" in told.err


def test_wrong_sigma_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stopped:
        demo.main(["--output", str(tmp_path), "--sigma", "-3"])
    assert stopped.value.code == 2


def test_shipped_epitome_is_what_the_races_use() -> None:
    epitome = demo.shipped_epitome()
    assert epitome.phi.n_atoms == 1225 and epitome.dictionary.engine.structural
    assert np.isfinite(epitome.pixels).all() and (epitome.dictionary.norms > 0).all()


def test_psnr_is_the_definition() -> None:
    clean = np.zeros((3, 4))
    assert demo.psnr(clean, clean + 25.5) == pytest.approx(20.0)
