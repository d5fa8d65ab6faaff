"""The self-test finds kernels that err, and the tables of packages are those of the project."""

from __future__ import annotations

import doctest
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import epitomes
from epitomes import kernels
from epitomes.testing import installation, run_self_test, self_test

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
NAMES = (
    "orthogonal matching pursuit",
    "orthogonal least squares",
    "lasso",
    "lasso path",
    "patch extraction and aggregation",
    "moments",
    "block matching",
    "group shrinkage",
)


@pytest.mark.slow
def test_examples_run() -> None:
    found = doctest.testmod(self_test)
    assert found.attempted and not found.failed


@pytest.mark.slow
def test_the_kernels_of_this_machine_agree() -> None:
    assert run_self_test() == dict.fromkeys(NAMES, True)


def test_installation() -> None:
    found = installation()
    assert (found.version, found.instruction_set) == (epitomes.__version__, kernels.isa)
    assert all(found.required.values())


def _reversed_atoms(real: Callable[..., Any]) -> Callable[..., Any]:
    def make(unit: Any, *more: Any, **options: Any) -> Any:
        return real(unit[::-1].copy() if options.get("isa") == "reference" else unit, *more, **options)

    return make


def _changed(real: Callable[..., Any], at: int) -> Callable[..., Any]:
    """The kernel, with a thousandth more in one of its results."""

    def call(*arguments: Any) -> Any:
        found = real(*arguments)
        goal = arguments[at] if found is None else found[at]
        goal += abs(goal).max() / 1000
        return found

    return call


ERRORS = {  # kernel -> the argument or result that is wrong, and what must fail
    "gather": (0, {"patch extraction and aggregation"}),
    "scatter": (1, {"patch extraction and aggregation"}),
    "summarise": (3, {"moments"}),
    "multiply": (2, {"moments"}),
    "match": (1, {"block matching"}),
    "shrink_groups": (2, {"group shrinkage"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ERRORS)
def test_small_errors_are_found(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at, expected = ERRORS[kernel]
    monkeypatch.setattr(kernels, kernel, _changed(getattr(kernels, kernel), at))
    assert {name for name, agrees in run_self_test().items() if not agrees} == expected


@pytest.mark.slow
def test_coders_that_err_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "make_engine", _reversed_atoms(kernels.make_engine))
    wrong = {name for name, agrees in run_self_test().items() if not agrees}
    assert wrong == (set() if kernels.isa == "reference" else set(NAMES[:4]))


def test_the_tables_are_those_of_the_project() -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for extra, (package, _) in self_test.EXTRAS.items():
        assert package in {re.split(r"[^\w-]", need)[0] for need in extras[extra]}
    assert set(extras) - {"formats", "test", "bench"} <= set(self_test.EXTRAS)
    assert {re.split(r"[^\w-]", need)[0] for need in project["dependencies"]} == set(self_test.REQUIRED)
