"""`epitomes doctor`: what it shows, and that its self-test can fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

import epitomes
from epitomes import blocks, kernels, testing

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.slow
def test_a_healthy_installation(run: Run) -> None:
    code, out, err = run("doctor", "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "") and all(facts["self_test"].values()) and len(facts["self_test"]) == 8
    assert (facts["version"], facts["instruction_set"]) == (epitomes.__version__, kernels.isa)
    assert facts["threads"] == blocks.n_threads() and facts["required"]["numpy"]
    assert {extra["name"] for extra in facts["extras"]} >= {"fits", "zarr"}


def test_missing_packages_come_with_the_command_that_installs_them(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    found = testing.installation()
    extras = tuple(replace(extra, version=None) if extra.name == "fits" else extra for extra in found.extras)
    monkeypatch.setattr(testing, "run_self_test", lambda: {"nothing": True})
    monkeypatch.setattr(testing, "installation", lambda: replace(found, extras=extras, required={"numpy": None}))
    code, out, _ = run("doctor")
    assert code == 0 and 'missing: pip install "epitomes[fits]"' in out and "numpy MISSING" in out
    assert "self-test of 1 kernels" in out and "passed" in out


def test_kernels_that_disagree_are_an_error(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr(testing, "run_self_test", lambda: {"lasso": True, "block matching": False})
    code, out, err = run("doctor")
    assert code == 1 and "FAILED: block matching" in out
    assert "disagree with the reference: block matching" in err and "EPITOMES_ISA=baseline" in err
