"""`epitomes doctor`: what it says, and that its test can fail."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import epitomes
from epitomes import blocks, kernels
from epitomes.cli import doctor, selftest
from epitomes.kernels import reference_groups

Run = Callable[..., tuple[int, str, str]]

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_a_healthy_installation(run: Run) -> None:
    code, out, err = run("doctor", "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "") and all(facts["self_test"].values()) and len(facts["self_test"]) == 5
    assert (facts["version"], facts["instruction_set"]) == (epitomes.__version__, kernels.isa)
    assert facts["threads"] == blocks.n_threads() and facts["needed"]["numpy"]


def test_words_name_the_extra_that_is_missing(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr(selftest, "checks", lambda: [("nothing", True)])
    real = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda package: None if package == "astropy" else real(package))
    code, out, _ = run("doctor")
    assert code == 0 and 'missing: pip install "epitomes[fits]"' in out and "all as they should be" in out


@pytest.mark.skipif(kernels.isa == "reference", reason="the reference always agrees with itself")
def test_kernels_that_err_are_found(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    def wrong(*arguments: Any) -> None:
        arguments[-1][:], arguments[-2][:] = 1.0, 0

    def turned(unit: Any, *more: Any, **options: Any) -> kernels.Engine:
        return real(unit[::-1].copy() if options.get("isa") == "reference" else unit, *more, **options)

    real = kernels.make_engine
    monkeypatch.setattr(kernels, "make_engine", turned)
    monkeypatch.setattr(reference_groups, "match", wrong)
    code, out, err = run("doctor")
    assert code == 1 and "WRONG: orthogonal matching pursuit" in out and "block matching" in err


def test_the_table_is_that_of_the_project() -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for extra, (package, _) in doctor.EXTRAS.items():
        assert package in {re.split(r"[^\w-]", need)[0] for need in extras[extra]}
    assert set(extras) - {"formats", "test", "bench"} <= set(doctor.EXTRAS)
    assert {re.split(r"[^\w-]", need)[0] for need in project["dependencies"]} == set(doctor.NEEDED)
