"""What `from epitomes import *` gives: a promise, so changes here are changes of the interface."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import epitomes
import epitomes.coders
import epitomes.learn
import epitomes.phi
import epitomes.restore
import epitomes.testing


def test_every_public_name_exists_and_says_what_it_is() -> None:
    assert sorted(epitomes.__all__) == sorted(set(epitomes.__all__))
    for name in epitomes.__all__:
        thing = getattr(epitomes, name)
        if name != "Codes":  # an alias of scipy's csr_array
            assert inspect.getdoc(thing), f"{name} has no docstring"


def test_nothing_public_is_missing() -> None:
    inner = {"cost", "gradient"}  # too general as names of the whole library
    for package in (epitomes.phi, epitomes.coders, epitomes.learn, epitomes.restore, epitomes.testing):
        assert set(package.__all__) - inner <= set(epitomes.__all__), package.__name__


def test_type_checkers_see_the_same_names() -> None:
    """Names come when they are used; type checkers read the imports that never run."""
    tree = ast.parse(Path(epitomes.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == set(epitomes.__all__)


def test_importing_the_library_waits_for_nothing() -> None:
    code = "import epitomes, sys; print(*{'numpy', 'scipy', 'PIL'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
