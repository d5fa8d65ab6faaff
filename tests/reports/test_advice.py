"""Every next step can be run as it is: commands on the command line, calls in Python."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import epitomes
from epitomes import kernels
from epitomes.cli.main import main
from epitomes.formats import write
from epitomes.reports import ReportData
from epitomes.reports.advice import LOOK, flattest, next_step
from epitomes.reports.summary import find_doubts

KINDS = (
    "impulses",
    "correlated",
    "brightness",
    "regions",
    "low",
    "high",
    "unremoved",
    "structure",
    "edges",
    "variance",
)
KINDS += ("left", "left fine", "gain", "growth", "no growth", "texture", "clipped", "jpeg", "quantised")
SIGMA = 12.0


def noisy_image(*shape: int) -> np.ndarray:
    rows = np.linspace(60, 180, shape[0]).reshape(-1, *(1,) * (len(shape) - 1))
    return np.clip(np.rint(rows + np.random.default_rng(0).normal(0, SIGMA, shape)), 0, 255).astype(np.uint8)


def data_of(image: np.ndarray, command: str = "") -> ReportData:
    return ReportData(noisy=image, restored=np.full_like(image, 100), sigma=SIGMA, name="a.png", command=command)


@pytest.mark.slow
@pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")
@pytest.mark.parametrize("typed", ["", "--sigma 12", "--sigma=12 --preset fast", "--poisson --time 60"])
def test_commands_can_be_run(typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    image = noisy_image(48, 40)
    write("a.png", image)
    command = f"epitomes denoise a.png -o b.png --report b.html {typed}"
    advice = f"Try this noise level: sigma={1.5 * SIGMA:.3g} in Python."
    steps = {next_step(kind, advice, data_of(image, command)) for kind in KINDS}
    assert len(steps) >= 6
    for step in steps:
        program, *words = shlex.split(step)
        assert program == "epitomes" and main([*words, "--threads", "1"]) == 0, step


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(48, 40), (40, 48, 3)])
def test_calls_can_be_run(shape: tuple[int, ...]) -> None:
    image = noisy_image(*shape)
    names = {"image": image, "epitomes": epitomes}
    for step in {next_step(kind, "sigma=15 in Python", data_of(image)) for kind in KINDS}:
        assert eval(step, names).shape == shape


def test_other_commands_have_no_options_of_denoise() -> None:
    assert next_step("low", "sigma=3", data_of(noisy_image(20, 20), "epitomes report a.png b.png -o c.html")) == LOOK


def test_where_the_image_is_flattest() -> None:
    image = np.random.default_rng(0).normal(0, 20, (96, 128))
    image[32:64, 64:96] /= 10
    image[64:, 96:] = 7.0  # without any noise
    assert flattest(image) == (32, 64, 32, 32)


@dataclass(frozen=True)
class Judged:
    """An audit with many reasons."""

    reasons: tuple[str, ...] = ("One.", "Two.", "Three.", "Four.", "Five.")
    reason_kinds: tuple[str, ...] = ("structure", "edges", "left", "brightness", "correlated")
    advice: tuple[str, ...] = ()
    verdict: str = "warn"
    leak_map: Any = field(default_factory=lambda: np.zeros((20, 20)))

    def as_dict(self) -> dict[str, Any]:
        return {}


def test_three_at_most_and_each_step_once() -> None:
    data = ReportData(noisy=noisy_image(20, 20), restored=np.full((20, 20), 90), sigma=SIGMA, name="a", audit=Judged())
    found = find_doubts(data)
    assert [each.reason for each in found] == ["One.", "Three.", "Four."]
    assert len({each.next_step for each in found}) == 3 and all(each.is_code for each in found)
