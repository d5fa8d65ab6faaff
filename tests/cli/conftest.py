"""Small pictures, and a command line whose words and exit code can be looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from epitomes import demo
from epitomes.cli.main import main
from epitomes.formats import write

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command line: exit code, stdout, stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main([str(each) for each in arguments])
        out, err = capfd.readouterr()
        return code, out, err

    return call


@pytest.fixture
def clean() -> np.ndarray:
    """A piece of the shipped photograph with edges in it, 48 x 48."""
    return demo.shipped_picture()[40:88, 80:128]


@pytest.fixture
def noisy(tmp_path: Path, clean: np.ndarray, rng: np.random.Generator) -> Path:
    """The same with noise of sigma 20, as an 8-bit PNG."""
    pixels = clean + 20 * rng.standard_normal(clean.shape)
    write(tmp_path / "noisy.png", np.clip(np.rint(pixels), 0, 255).astype(np.uint8))
    return tmp_path / "noisy.png"
