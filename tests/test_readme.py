"""The README's lines of Python run as they stand and denoise."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epitomes import demo, kernels

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.slow
@pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for a whole picture")
def test_six_lines_denoise(rng: np.random.Generator) -> None:
    (lines,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    clean, sigma = demo.shipped_picture(), 20.0
    noisy = (clean + sigma * rng.standard_normal(clean.shape)).astype(np.float32)
    names: dict[str, Any] = {"noisy": noisy, "sigma": sigma}
    exec(lines, names)
    for name in ("denoised", "again"):
        assert names[name].dtype == noisy.dtype
        assert demo.psnr(clean, names[name]) > demo.psnr(clean, noisy) + 7


def test_files_named_in_the_readme_exist() -> None:
    text = README.read_text(encoding="utf-8")
    for name in re.findall(r"!\[[^]]*\]\(([^)]+)\)|`([A-Z]+\.md)`", text):
        assert (README.parent / (name[0] or name[1])).exists(), name
