"""The search for the numbers of the passes: what it moves, how far, and what it draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import fit_presets
from epitomes.restoration.non_local import AdaptPass, AtomsPass, FeedbackPass, RegressionPass, WienerPass
from epitomes.restoration.non_local.presets import passes_of


@pytest.mark.parametrize("preset", ["balanced", "best"])
def test_the_middle_is_the_preset(preset: str) -> None:
    passes = passes_of(preset)
    knobs = fit_presets.knobs_of(passes)
    assert repr(fit_presets.turned(passes, knobs, [0.0] * len(knobs))) == repr(passes)
    assert not any(isinstance(passes[knob.step], (AdaptPass, WienerPass, RegressionPass)) for knob in knobs)


def test_numbers_move_within_bounds() -> None:
    passes = (AtomsPass(), FeedbackPass())
    knobs = fit_presets.knobs_of(passes)
    atoms, feedback = fit_presets.turned(passes, knobs, [0.1] * len(knobs))
    assert isinstance(atoms, AtomsPass) and isinstance(feedback, FeedbackPass)
    assert (atoms.group_size, atoms.patches) == (88, (8, 6))
    assert feedback.strength == pytest.approx(2.83 * np.exp(0.1))
    far, farther = (fit_presets.turned(passes, knobs, [x] * len(knobs)) for x in (fit_presets.MOST, 9.0))
    assert repr(far) == repr(farther)
    least = fit_presets.turned(passes, knobs, [-9.0] * len(knobs))[0]
    assert isinstance(least, AtomsPass) and (least.stride, least.keep) == (2, 0.0)


def test_slower_candidates_must_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_presets, "measure", lambda passes, cases: ([30.0, 31.0], 4.0))
    found = fit_presets.against(([29.9, 30.9], 2.0), passes_of("balanced"), [], "train", 0)
    assert (found.gain, found.slower) == (pytest.approx(0.1), 2.0)
    assert found.score == pytest.approx(0.1 - fit_presets.PRICE)


def test_the_curve_holds_what_none_beats(tmp_path: Path) -> None:
    points = ((1.0, 0.0), (0.8, 0.1), (1.2, 0.05), (1.5, 0.2))
    found = [fit_presets.Measured("train", 0, gain, slower, slower, gain, "") for slower, gain in points]
    fit_presets.draw(tmp_path / "found.png", "balanced", found)
    assert (tmp_path / "found.png").stat().st_size > 1000
