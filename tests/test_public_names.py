"""What `import epitomes` gives: a promise, so changes here are changes of the interface."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import epitomes

ROOMS = [name for name in epitomes.__all__ if inspect.ismodule(getattr(epitomes, name))]
NAMES = [name for name in epitomes.__all__ if name not in ROOMS]


def test_about_fifteen_names_at_the_top() -> None:
    assert 12 <= len(NAMES) <= 20, NAMES


@pytest.mark.parametrize("room", ROOMS)
def test_no_function_shadows_a_module(room: str) -> None:
    """`epitomes.learn.online` is the function, whoever was imported first: its module is `_online`."""
    package = importlib.import_module(f"epitomes.{room}")
    modules = {found.name for found in pkgutil.iter_modules(getattr(package, "__path__", []))}
    assert not modules & set(getattr(package, "__all__", ())), room


def test_importing_the_library_waits_for_nothing() -> None:
    code = "import epitomes, sys; print(*{'numpy', 'scipy', 'PIL'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
