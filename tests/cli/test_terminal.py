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


@pytest.mark.slow
@pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")
def test_the_bar_moves_every_second(tmp_path: Path) -> None:
    write(tmp_path / "a.png", np.clip(np.rint(with_noise(grey("camera", 200), 20.0)), 0, 255).astype(np.uint8))
    drawn, end, code = on_a_terminal(
        "denoise", tmp_path / "a.png", "-o", tmp_path / "b.png", "--sigma", 20, "--preset", "best"
    )
    assert code == 0 and len(drawn) > 5
    fractions = [fraction for _, fraction, _ in drawn]
    assert fractions == sorted(fractions)
    gaps = np.diff([when for when, _, _ in drawn])
    assert gaps.max() < 2.5  # a second, on a machine with nothing else to do
    began = drawn[0][0]
    middle = [each for each in drawn if 0.4 < (each[0] - began) / (end - began) < 0.7]
    assert middle
    ratios = sorted(left / (end - when) for when, _, left in middle if end - when > 1)
    assert not ratios or 0.3 < ratios[len(ratios) // 2] < 3  # of two, likewise


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
    assert [_clock(each) for each in (None, 0.4, 61.0, 3725.0)] == ["-:--:--", "0:00:00", "0:01:01", "1:02:05"]
