"""The road is short: few frames of our own lie between the command line and the kernel."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType

import pytest

import epitomes
from epitomes import kernels
from epitomes.cli.main import main

ROOT = str(Path(epitomes.__file__).parent)
MOST = 12

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")


def ours(frame: FrameType | None) -> list[str]:
    """Functions of the package on a stack, innermost first; from Python 3.12 on comprehensions have no frame."""
    names = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(ROOT) and frame.f_code.co_name != "<listcomp>":
            names.append(f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}")
        frame = frame.f_back
    return names


def test_from_the_command_line_to_the_kernel(noisy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, stacks = kernels.shrink_groups, []
    here = threading.main_thread().ident
    assert here is not None

    def recorded(*given: object) -> None:
        stacks.append([*ours(sys._getframe(1)), *ours(sys._current_frames()[here]), "kernels.shrink_groups"])
        real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(kernels, "shrink_groups", recorded)
    asked = ["denoise", str(noisy), "-o", str(tmp_path / "a.png"), "--sigma", "20", "--preset", "balanced"]
    assert main(asked) == 0
    assert stacks and all("main.main" in stack for stack in stacks)
    longest = max(stacks, key=len)
    assert len(longest) <= MOST, "\n".join(longest)
