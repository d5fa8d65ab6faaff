"""Array work needs NumPy and SciPy alone: the packages of the command line, of files and of reports may be absent."""

from __future__ import annotations

import subprocess
import sys

import pytest

OPTIONAL = ("PIL", "tifffile", "imagecodecs", "typer", "rich", "jinja2", "safetensors")

WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in sys.argv[1:]:
            raise ImportError(f"{name} is not installed")

sys.meta_path.insert(0, Absent())
import numpy as np
import epitomes

noisy = 100 + 20 * np.random.default_rng(0).standard_normal((32, 32))
"""

WORK = {
    "denoise": "assert np.asarray(epitomes.denoise(noisy, 20.0)).std() < 0.5 * noisy.std()",
    "learn": "assert len(epitomes.learn_epitome(noisy, sigma=20.0, n_steps=2).history) == 2",
    "estimate_noise": "epitomes.estimate_noise(np.tile(noisy, (4, 4)))",
}


def python(code: str, *absent: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *absent], capture_output=True, text=True, timeout=120)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORK)
def test_arrays_need_numpy_and_scipy_alone(name: str) -> None:
    done = python(WITHOUT + WORK[name], *OPTIONAL)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", OPTIONAL)
def test_the_packages_are_really_absent(name: str) -> None:
    """The test above is worth what this one sees: the packages are installed, and cannot be imported there."""
    assert python(f"import {name}").returncode == 0
    done = python(f"{WITHOUT}\nimport {name}", *OPTIONAL)
    assert done.returncode != 0 and f"{name} is not installed" in done.stderr
