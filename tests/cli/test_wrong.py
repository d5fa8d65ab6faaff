"""Wrong inputs: each command gives the documented exit code and one clear line, and writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import format_cases as cases
import numpy as np
import pytest
from PIL import Image

from epitomes.cli.errors import INPUT, LIMIT
from epitomes.formats import read, write

Run = Callable[..., tuple[int, str, str]]

HOLED = np.where(np.eye(20) > 0, np.inf, 1.0)


def _content(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _cut(path: Path) -> None:
    write(path, np.random.default_rng(0).integers(0, 256, (40, 40), dtype=np.uint8))
    path.write_bytes(path.read_bytes()[:600])


WRONG: dict[str, tuple[str, Callable[[Path], object], int, str]] = {
    "missing": ("none.png", lambda path: None, INPUT, "there is no file"),
    "folder": ("folder", Path.mkdir, INPUT, "directory"),
    "folder with the name of a picture": ("folder.png", Path.mkdir, INPUT, "directory"),
    "unknown suffix": ("a.xyz", lambda path: _content(path, b"x"), INPUT, "suffix '.xyz'"),
    "address": ("http://localhost/a.png", lambda path: None, INPUT, "only local files"),
    "empty": ("a.png", lambda path: _content(path, b""), INPUT, "not a PNG"),
    "no picture": ("a.tif", lambda path: _content(path, b"hello"), INPUT, "not a TIFF"),
    "truncated": ("a.png", _cut, INPUT, "damaged"),
    "L*a*b*": ("a.tif", lambda path: Image.new("LAB", (20, 20)).save(path), INPUT, "L*a*b* colours"),
    "CMYK": ("a.jpg", lambda path: Image.new("CMYK", (20, 20)).save(path), INPUT, "CMYK"),
    "complex": ("a.npy", lambda path: np.save(path, np.zeros((20, 20), complex)), INPUT, "complex128"),
    "objects": ("a.npy", lambda path: np.save(path, np.zeros((20, 20), object)), INPUT, "object"),
    "not finite": (
        "a.npy",
        lambda path: np.save(path, HOLED),
        INPUT,
        "20 of 400 values are not finite",
    ),
    "one axis": ("a.npy", lambda path: np.save(path, np.zeros(20)), INPUT, "2 to 5 axes"),
    "huge header": ("a.npy", lambda path: _content(path, cases.raw_npy((2**20, 2**20))), LIMIT, "--max-pixels"),
    "huge picture": (
        "a.png",
        lambda path: _content(path, cases.raw_png(8, 0, b"", (2**30, 2**30))),
        LIMIT,
        "--max-pixels",
    ),
}
COMMANDS = {
    "denoise": lambda path, goal: ("denoise", path, "-o", goal),
    "noise": lambda path, goal: ("noise", path),
    "info": lambda path, goal: ("info", path),
    "report": lambda path, goal: ("report", path, "other.png", "-o", goal.with_suffix(".html")),
    "learn": lambda path, goal: ("learn", path, "-o", goal, "--lam", 9),
}


CASES = [(case, command) for case in WRONG for command in COMMANDS if (case, command) != ("not finite", "info")]


@pytest.mark.parametrize(("case", "command"), CASES)
def test_wrong_pictures(case: str, command: str, tmp_path: Path, run: Run) -> None:
    name, make, code, words = WRONG[case]
    path = tmp_path / name if "://" not in name else Path(name)
    make(path)
    found, out, err = run(*COMMANDS[command](path, tmp_path / "out.png"))
    assert (found, out) == (code, "") and words in err and len(err.splitlines()) == 1 + (code == LIMIT), err
    assert not list(tmp_path.glob("out*")) and not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("command", COMMANDS)
def test_unreadable(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    def denied(self: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    write(tmp_path / "a.png", np.zeros((20, 20), np.uint8))
    monkeypatch.setattr(Path, "open", denied)  # whoever runs the tests may be allowed to read everything
    code, out, err = run(*COMMANDS[command](tmp_path / "a.png", tmp_path / "out.png"))
    assert (code, out) == (INPUT, "") and "Permission denied" in err and len(err.splitlines()) == 1


def noisy_size(path: Path) -> int:
    return read(path).pixels.size


def test_a_limit_that_is_given(noisy: Path, tmp_path: Path, run: Run) -> None:
    for command in COMMANDS.values():
        code, _, err = run(*command(noisy, tmp_path / "out.png"), "--max-pixels", 100)
        assert code == LIMIT and "raise max_pixels with --max-pixels" in err
        assert err.splitlines()[1].startswith("  try: epitomes ") and err.strip().endswith(
            f"--max-pixels {noisy_size(noisy)}"
        )


def test_a_missing_package_names_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, rng: np.random.Generator
) -> None:
    import importlib

    real = importlib.import_module

    def without(name: str, package: str | None = None) -> object:
        if name.startswith("astropy"):
            raise ImportError("no module named astropy")
        return real(name, package)

    (tmp_path / "a.fits").write_bytes(b"SIMPLE  =")
    monkeypatch.setattr(importlib, "import_module", without)
    code, _, err = run("denoise", tmp_path / "a.fits", "-o", tmp_path / "b.fits")
    assert code == INPUT and 'pip install "epitomes[fits]"' in err and len(err.splitlines()) == 1
