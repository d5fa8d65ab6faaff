"""`epitomes compare`: a table, a page and JSON; errors before any work."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from epitomes import kernels
from epitomes.baselines import METHODS
from epitomes.formats import write

Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")


def test_a_table_and_a_page(noisy: Path, clean: np.ndarray, tmp_path: Path, run: Run) -> None:
    write(tmp_path / "clean.png", np.rint(clean).astype(np.uint8))
    page = tmp_path / "page.html"
    asked = ("compare", noisy, "--methods", "fast,paper", "--clean", tmp_path / "clean.png", "--sigma", 20, "-o", page)
    code, out, err = run(*asked)
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[1].split() == ["method", "PSNR", "SSIM", "seconds", "MB"]
    assert [line.split()[0] for line in lines[2:5]] == ["noisy", "fast", "paper"] and lines[-1] == f"page in {page}"
    assert len({len(line) for line in lines[1:5]}) == 1  # aligned
    text = page.read_text(encoding="utf-8")
    assert text.count("<figure") == 4 and "What fast removed" in text and f"epitomes compare {noisy}" in text
    assert "http:" not in text and "https:" not in text
    code, _, err = run(*asked)
    assert code == 2 and "--overwrite" in err


def test_a_dash_has_a_reason(tmp_path: Path, run: Run) -> None:
    rng = np.random.default_rng(0)
    levels = np.linspace(40, 200, 64)[:, None] + np.zeros(64)
    write(tmp_path / "counts.png", rng.poisson(levels).clip(0, 255).astype(np.uint8))
    page = tmp_path / "page.html"
    code, out, _ = run("compare", tmp_path / "counts.png", "--methods", "fast", "--sigma", 1.5, "-o", page)
    assert code == 0 and "–" in out.splitlines()[2]  # the level is wrong
    assert "not estimated, because" in out and "--clean FILE" in out
    assert "not estimated, because" in page.read_text(encoding="utf-8")


def test_json(noisy: Path, run: Run) -> None:
    code, out, _ = run("compare", noisy, "--methods", "fast", "--sigma", 20, "--json")
    facts = json.loads(out)
    assert code == 0 and facts["report"] is None and facts["peak"] == 255
    assert facts["methods"][0]["method"] == "fast" and facts["methods"][0]["psnr"] is None
    assert facts["methods"][0]["memory"] >= 0


def test_names(noisy: Path, run: Run) -> None:
    code, out, _ = run("compare", "--list")
    assert code == 0 and out.split() == ["fast", "balanced", "best", "paper", *METHODS]
    code, _, err = run("compare", noisy, "--methods", "fast,mystery")
    assert code == 2 and "no method 'mystery'" in err
    code, _, err = run("compare", noisy, "--methods", ",")
    assert code == 2 and "at least one name" in err


def test_images_that_differ_in_size(noisy: Path, tmp_path: Path, run: Run) -> None:
    write(tmp_path / "other.png", np.zeros((20, 20), np.uint8))
    code, _, err = run("compare", noisy, "--clean", tmp_path / "other.png")
    assert code == 3 and "must have the same size" in err
