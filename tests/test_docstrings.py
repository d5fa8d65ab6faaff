"""Docstrings: public names are documented as numpydoc asks, and every example in the library gives what it says.

`[tool.numpydoc_validation]` in pyproject.toml chooses the checks and says why some are left out.
"""

from __future__ import annotations

import doctest
import functools
import importlib
import inspect
import pkgutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_origin

import pytest

import epitomes

validate = pytest.importorskip("numpydoc.validate").validate

EXCUSED = {
    "epitomes.coders.Codes": "an alias of a SciPy class, which has its own docstring",
}

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
SETTINGS = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["tool"]["numpydoc_validation"]
IGNORED = frozenset(SETTINGS["checks"]) - {"all"}


def rooms() -> Iterator[tuple[str, Any]]:
    """The modules whose names are public: the top of the library, those that it names, and two more."""
    yield "epitomes", epitomes
    for name in (*epitomes.__all__, "aggregate", "model_file"):
        module = getattr(epitomes, name, None) or importlib.import_module(f"epitomes.{name}")
        if inspect.ismodule(module):
            yield f"epitomes.{name}", module


def is_documented_by_hand(value: Any) -> bool:
    """Whether a docstring can be written for it: not constants, modules and type aliases."""
    return (inspect.isclass(value) or inspect.isroutine(value)) and get_origin(value) is None


def public_objects() -> dict[str, Any]:
    """Public functions and classes by the path of their definition: each once, however many rooms offer it."""
    found = {}
    for room, module in rooms():
        names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
        for name in names:
            value = getattr(module, name)
            home = getattr(value, "__module__", None) or ""
            is_ours = home.startswith("epitomes") if hasattr(module, "__all__") else home == room
            if is_ours and is_documented_by_hand(value) and f"{room}.{name}" not in EXCUSED:
                found[f"{home}.{value.__qualname__}"] = value
    return found


def members(path: str, value: Any) -> Iterator[str]:
    """The public methods and properties that a class defines itself."""
    for name, member in vars(value).items():
        kinds = (classmethod, staticmethod, property, functools.cached_property)
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, kinds)):
            yield f"{path}.{name}"


OBJECTS = public_objects()
MEMBERS = [member for path, value in OBJECTS.items() if inspect.isclass(value) for member in members(path, value)]
MODULES = [
    found.name
    for found in pkgutil.walk_packages(epitomes.__path__, "epitomes.")
    if not found.name.endswith(("__main__", "_native"))
]


def needless(value: Any) -> Iterator[str]:
    """The checks that make no sense for a kind of object."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        yield "EX01"  # the functions that raise an error show it
    if getattr(value, "_is_protocol", False):
        yield "PR01"  # a protocol is not called: typing gives it *args and **kwargs


def complaints(path: str, *excused: str) -> list[str]:
    return [f"{code}: {text}" for code, text in validate(path)["errors"] if code not in IGNORED.union(excused)]


@pytest.mark.parametrize("path", OBJECTS)
def test_public_functions_and_classes_are_documented(path: str) -> None:
    assert complaints(path, *needless(OBJECTS[path])) == []


@pytest.mark.parametrize("path", MEMBERS)
def test_their_methods_are_documented(path: str) -> None:
    assert complaints(path, "EX01") == []  # the class has the example


def test_the_names_are_found() -> None:
    """An empty list would pass every test above."""
    assert {"epitomes.phi._windows.windows", "epitomes.coders.lasso.Lasso", "epitomes.patches.Patches"} <= set(OBJECTS)
    assert {"epitomes.patches.Patches.rows", "epitomes.patches.Patches.positions"} <= set(MEMBERS)
    assert all(value.__doc__ for value in OBJECTS.values())


def test_the_excused_names_exist() -> None:
    for path in EXCUSED:
        room, name = path.rsplit(".", 1)
        assert hasattr(importlib.import_module(room), name)


def examples(name: str) -> list[doctest.DocTest]:
    module = importlib.import_module(name)
    return [test for test in doctest.DocTestFinder().find(module, name) if test.examples]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # examples may write files
    said: list[str] = []
    for test in examples(name):
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert not said, "".join(said)
