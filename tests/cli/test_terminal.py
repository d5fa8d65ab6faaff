"""On a terminal: the bar moves every second, and the time left is right within a factor of two."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from restoration_cases import grey, with_noise

from epitomes import kernels
from epitomes.cli.progress import Pace, _clock
from epitomes.formats import write

BAR = re.compile(r"(?:(\d+)%|(\d+)/(\d+))\s.*?(\d):(\d\d):(\d\d)\s+(\d):(\d\d):(\d\d) left")
COLOURS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def on_a_terminal(*words: object) -> tuple[list[tuple[float, float, float]], float, int]:
    """Run a command with stderr on a terminal: when the bar was drawn, its fraction and the seconds left; the end."""
    ours, theirs = pty.openpty()
    setting = os.environ | {"TERM": "xterm", "COLUMNS": "160", "EPITOMES_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "epitomes", *map(str, words)]
    running = subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL, env=setting)
    os.close(theirs)
    drawn, text = [], ""
    while True:
        ready, _, _ = select.select([ours], [], [], 0.1)
        try:
            text += os.read(ours, 65536).decode("utf-8", "replace") if ready else ""
        except OSError:  # the other end is closed
            break
        now = time.monotonic()
        for found in BAR.finditer(COLOURS.sub("", text)):
            percent, done, total, *_, hours, minutes, seconds = found.groups()
            fraction = int(percent) / 100 if percent else int(done) / int(total)
            drawn.append((now, fraction, 3600.0 * int(hours) + 60 * int(minutes) + int(seconds)))
        text = text[text.rfind("left") + 4 :] if "left" in text else text
        if not ready and running.poll() is not None:
            break
    os.close(ours)
    return drawn, time.monotonic(), running.wait()


def grey_file(folder: Path) -> Path:
    return _written(folder / "a.png", with_noise(grey("camera", 220), 20.0))


def clip_file(folder: Path) -> Path:
    frames = np.stack([np.roll(grey("camera", 112), shift, axis=1) for shift in range(10)])
    return _written(folder / "a.tif", with_noise(frames, 20.0))


def _written(path: Path, noisy: np.ndarray) -> Path:
    write(path, np.clip(np.rint(noisy), 0, 255).astype(np.uint8))
    return path


COMMANDS = {
    "best": (grey_file, "denoise", "-o", "out.png", "--sigma", "20", "--preset", "best"),
    "report": (grey_file, "denoise", "-o", "out.png", "--sigma", "20", "--preset", "balanced", "--report", "out.html"),
    "paper": (grey_file, "denoise", "-o", "out.png", "--sigma", "20", "--method", "paper"),
    "clip": (clip_file, "denoise", "-o", "out.tif", "--axes", "TYX", "--sigma", "20", "--preset", "best"),
    "noise": (clip_file, "noise", "--axes", "TYX"),
    "learn": (grey_file, "learn", "-o", "out.epitome", "--sigma", "20", "--steps", "40"),
    "inpaint": (grey_file, "inpaint", "-o", "out.png", "--mask", "mask.png"),
}


def faults(drawn: list[tuple[float, float, float]], end: float) -> list[str]:
    """What is wrong with a bar: it stands still for a second, goes back, or the time left is off by a factor of two."""
    whens = [when for when, _, _ in drawn]
    fractions = [fraction for _, fraction, _ in drawn]
    moved = [when for when, here, last in zip(whens, fractions, [-1.0, *fractions], strict=False) if here > last]
    third = whens[0] + (end - whens[0]) / 3
    late = [(end - when, left) for when, _, left in drawn if third < when < end - 0.5]
    wrong = [(real, left) for real, left in late if not real / 2 - 1 <= left <= 2 * real + 1]  # shown in seconds
    return [
        *(["not drawn for a second"] if np.diff([*whens, end]).max() >= 1.0 else []),
        *(["the same for long"] if np.diff([*moved, end]).max() >= max(1.5, 0.2 * (end - whens[0])) else []),
        *(["going back"] if fractions != sorted(fractions) else []),
        *[f"{left:.0f} s left, in truth {real:.1f}" for real, left in wrong],
    ]


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")
@pytest.mark.parametrize("name", COMMANDS)
def test_the_bar_moves_every_second(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the time left is right within a factor of two, from a third of the way on."""
    monkeypatch.chdir(tmp_path)
    made, command, *words = COMMANDS[name]
    _written(tmp_path / "mask.png", 255.0 * (np.random.default_rng(0).random((220, 220)) < 0.6))
    file, found = made(tmp_path), list[str]()
    for _ in range(5):  # other programs may disturb a run, but hardly five
        for old in tmp_path.glob("out.*"):
            old.unlink()
        drawn, end, code = on_a_terminal(command, file, *words)
        assert code == 0 and drawn
        found = faults(drawn, end)
        if not found:
            break
    if found and os.getloadavg()[0] > 2 * (os.cpu_count() or 1):
        pytest.skip(f"other programs keep this machine busy, and then the bar is {found[0]}")
    assert not found


def test_the_pace_between_two_words() -> None:
    pace = Pace(0.0)
    assert pace.fraction(5.0) == 0 and pace.left(5.0) is None
    for second in range(1, 5):
        pace.tell(float(second), second / 10)
    assert pace.left(4.0) == pytest.approx(6.0) and pace.fraction(4.5) == pytest.approx(0.45)
    assert pace.left(4.5) == pytest.approx(5.5)  # it counts down
    assert 0.45 < pace.fraction(50.0) < 0.5  # no farther than the next word
    pace.tell(51.0, 0.47)
    assert pace.fraction(51.0) == pace.fraction(50.0)  # and never back
    pace.tell(52.0, 1.0)
    assert pace.fraction(52.1) == 1.0


def test_clocks() -> None:
    assert [_clock(each) for each in (None, 0.0, 0.4)] == ["-:--:--", "0:00:00", "0:00:01"]
    assert [_clock(each) for each in (61.0, 3724.2)] == ["0:01:01", "1:02:05"]
