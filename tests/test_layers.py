"""Imports point down only (ARCHITECTURE.md). The table below is the architecture; the tests hold the imports to it.

A new module must be given its layer here. If a test fails, move the code, not the table.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = "epitomes"
ROOT = Path(__file__).resolve().parents[1] / "src" / PACKAGE

LAYERS = {
    "kernels": -1,
    "checks": 0,
    "patches": 0,
    "aggregate": 0,
    "dictionary": 0,
    "blocks": 0,
    "files": 0,
    "display": 0,
    "layout": 0,
    "colours": 0,
    "halving": 0,
    "filling": 0,
    "described_file": 0,
    "phi": 1,
    "coders": 1,
    "testing": 1,
    "groups": 1,
    "regression": 1,
    "epitome": 2,
    "model_file": 2,
    "model_info": 2,
    "learn": 3,
    "restoration": 7,
    "noise": 4,
    "validation": 4,
    "baselines": 7,
    "scale": 8,
    "draw": 5,
    "formats": 5,
    "paper": 9,
    "cli": 10,
    "demo": 10,
    "reports": 6,
    "estimators": 10,
    "adaptors": 10,
    "notebook": 10,
    "plot": 10,
    "__main__": 11,
    "__init__": 11,  # the public names: it may import anything, nothing may import it
}

# On one layer, but strangers: phi does not know how patches are coded, coders do not know where atoms come from,
# and neither needs the laws that test it.
STRANGERS = {("phi", "coders"), ("coders", "phi"), ("phi", "testing"), ("coders", "testing")}

# The one door upwards: values below the drawing are shown by it, in notebooks, when somebody asks.
UPWARD = {("display", "notebook")}

# Peers with other licences or heavy run times belong in benchmarks/; pickled files can run code when they are read.
BANNED = {"spams", "bm3d", "bm4d", "numba", "pickle"}

FILES = sorted(ROOT.rglob("*.py"))


def part_of(path: Path) -> str:
    """The name in the table to which a file of the package belongs."""
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Absolute dotted names of all that a file imports; `package` is the package that the file lies in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join(above + ([node.module] if node.module else []))
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in {"import_module", "__import__"} and isinstance(node.args[0].value, str):
                yield node.args[0].value


def imports_of(path: Path) -> set[str]:
    package = ".".join((PACKAGE, *path.relative_to(ROOT).parent.parts))
    return set(imported(ast.parse(path.read_text(encoding="utf-8")), package))


def target_part(name: str) -> str | None:
    """The part of our package that an imported name lies in; None for other people's modules."""
    first, *rest = name.split(".")
    if first != PACKAGE:
        return None
    return rest[0] if rest and rest[0] in LAYERS else "__init__"


def label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_package_was_found() -> None:
    assert FILES, f"no Python files under {ROOT}"


@pytest.mark.parametrize("path", FILES, ids=label)
def test_module_has_a_layer(path: Path) -> None:
    assert part_of(path) in LAYERS, f"{label(path)} has no layer: add '{part_of(path)}' to LAYERS"


@pytest.mark.parametrize("path", FILES, ids=label)
def test_imports_point_down(path: Path) -> None:
    here = part_of(path)
    upward = [
        f"{label(path)} (layer {LAYERS[here]}) imports {name} (layer {LAYERS[there]})"
        for name in sorted(imports_of(path))
        if (there := target_part(name)) is not None and here in LAYERS
        if there != here
        and (here, there) not in UPWARD
        and (LAYERS[there] > LAYERS[here] or (here, there) in STRANGERS)
    ]
    assert not upward, "; ".join(upward)


@pytest.mark.parametrize("path", [path for path in FILES if part_of(path) == "cli"], ids=label)
def test_the_command_line_is_thin(path: Path) -> None:
    """Commands read, call, write and print: how images are cut, coded and put together is the library's business."""
    hidden = [f"{PACKAGE}.{room}" for room in ("coders", "phi", "patches", "kernels", "groups", "formats._planes")]
    found = sorted(name for name in imports_of(path) if any(f"{name}.".startswith(f"{room}.") for room in hidden))
    assert not found, f"{label(path)} imports {', '.join(found)}"


@pytest.mark.parametrize("path", FILES, ids=label)
def test_banned_modules_stay_out(path: Path) -> None:
    found = {name for name in imports_of(path) if name.split(".")[0] in BANNED}
    assert not found, f"{label(path)} imports {sorted(found)}, which the library must not need"


def test_the_reader_of_imports() -> None:
    """The tests above are worth what this reader sees: every form of import, relative ones resolved."""
    text = "import a.b; from . import c; from .. import d; from ..phi.gather import E; import_module('f')"
    expected = {"a.b", "epitomes.coders.c", "epitomes.d", "epitomes.phi.gather.E", "f"}
    assert set(imported(ast.parse(text), "epitomes.coders")) == expected
    assert target_part("epitomes.phi.gather.E") == "phi"
    assert target_part("epitomes.Epitome") == "__init__"
    assert target_part("numpy.linalg") is None
