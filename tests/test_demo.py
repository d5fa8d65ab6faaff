"""The demonstration learns, raises the PSNR, and writes images and a page."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from epitomes import demo, kernels

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for a whole picture")


@pytest.mark.slow
def test_demo_learns_denoises_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "folder"
    assert demo.main(["--output", str(folder)]) == 0
    written = sorted(path.name for path in folder.iterdir())
    assert written == ["clean.png", "demo.png", "denoised.png", "epitome.png", "index.html", "noisy.png"]
    before, after = (np.asarray(Image.open(folder / name), float) for name in ("noisy.png", "denoised.png"))
    clean = demo.shipped_picture()
    assert demo.psnr(clean, after) > demo.psnr(clean, before) + 8
    told = capsys.readouterr()
    assert told.out.startswith("PSNR 20.1") and told.out.count("\n") == 1
    objectives = [float(each) for each in re.findall(r"objective ([\d.]+)", told.err)]
    assert len(objectives) == demo.STEPS and objectives == sorted(objectives, reverse=True)
    page = (folder / "index.html").read_text(encoding="utf-8")
    for number in re.findall(r"[\d.]+(?= dB)", told.out):
        assert number in page
    assert page.count("<img") == 4 and page.count("<svg") == 1 and "python -m epitomes.demo" in page


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
