"""The opening of the report: verdict, gain and reasons for doubt."""

from __future__ import annotations

import math

import numpy as np
import pytest
from report_cases import SIGMA, Audit, Noise, Risk, report_data

from epitomes.reports.summary import MOST_DOUBTS, estimate_gain, find_doubts, sentence, summarise

MAP = np.zeros((72, 96))


def test_a_good_result(rng: np.random.Generator) -> None:
    found = summarise(report_data(rng))
    assert (found.kind, found.verdict, found.doubts) == ("good", "Looks good", ())
    values = {one.label: (one.value, *one.details) for one in found.headlines}
    assert list(values) == ["Noise level", "Estimated gain", "Method", "Time"]
    assert values["Noise level"] == ("20", "high confidence", Noise().describe())
    assert values["Method"] == ("paper",) and values["Time"] == ("1.2 s", "learning 1.0 s", "coding 0.2 s")


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (None, "set by the user"),
        (Noise(estimated=False), "set by the user"),
        (Noise(doubts=("tiny",)), "low confidence"),
        (Noise(), "high confidence"),
    ],
)
def test_confidence_in_the_noise_level(noise: Noise | None, words: str, rng: np.random.Generator) -> None:
    assert summarise(report_data(rng, noise=noise)).headlines[0].details[0] == words


def test_nothing_removed(rng: np.random.Generator) -> None:
    """Said first; noise that the audit sees all the same is a doubt."""
    image = report_data(rng).restored
    found = summarise(report_data(rng, noisy=image, restored=image))
    assert (found.kind, found.verdict, found.doubts) == ("none", "Nothing removed", ())
    assert found.explanation == "No noise was found: the image was returned as it was."
    seen = Audit(MAP, ("noise can be seen",), ("set sigma",))
    (doubt,) = summarise(report_data(rng, noisy=image, restored=image, audit=seen)).doubts
    assert (doubt.reason, doubt.next_step) == ("Noise can be seen.", "Set sigma.")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"audit": None}, "not audited"),
        ({"audit": Audit(MAP, ("edges were cut",), ("use a smaller sigma",))}, "Edges were cut."),
        ({"noise": Noise(doubts=("texture is everywhere",))}, "Texture is everywhere."),
        ({"sure": Risk(20.0, (19.0, 21.0))}, "no better"),
    ],
)
def test_every_doubt_has_a_next_step(changes: dict, words: str, rng: np.random.Generator) -> None:
    found = summarise(report_data(rng, **changes))
    assert found.kind == "check" and found.verdict == "Check this"
    (doubt,) = found.doubts
    assert words in doubt.reason
    assert doubt.is_code or (doubt.next_step.endswith(".") and doubt.next_step[0].isupper())


def test_at_most_three_doubts_and_the_audit_comes_first(rng: np.random.Generator) -> None:
    noise = Noise(doubts=("one", "two", "three"))
    audit = Audit(MAP, ("edges", "corners"), ("smaller", "larger"))
    found = find_doubts(report_data(rng, audit=audit, noise=noise))
    assert len(found) == MOST_DOUBTS and [each.reason for each in found] == ["Edges.", "Corners.", "One."]


@pytest.mark.parametrize(
    ("reasons", "advice", "expected"),
    [
        (("a", "b"), ("x", "y"), [("A.", "X."), ("B.", "Y.")]),
        (("a", "b", "c"), ("x",), [("A.", "X.")]),  # one advice for all
        (("a", "b", "c"), ("x", "y"), [("A.", "X."), ("C.", "Y.")]),  # over-smoothed first, under-smoothed last
    ],
)
def test_reasons_meet_their_advice(
    reasons: tuple[str, ...], advice: tuple[str, ...], expected: list, rng: np.random.Generator
) -> None:
    found = find_doubts(report_data(rng, audit=Audit(MAP, reasons, advice)))
    assert [(one.reason, one.next_step) for one in found] == expected


def test_a_reason_without_advice(rng: np.random.Generator) -> None:
    (found,) = find_doubts(report_data(rng, audit=Audit(MAP, ("a", "b"))))
    assert found.reason == "A." and "What was removed" in found.next_step


@pytest.mark.parametrize("sigma", [SIGMA, np.array([10.0, 20.0, 30.0])])
def test_the_gain_is_the_ratio_of_mean_squares(sigma: float | np.ndarray, rng: np.random.Generator) -> None:
    """By the definition: the mean squared error of the noisy image over that of the denoised one, in dB."""
    mse = 37.0
    psnr = 10 * math.log10(255.0**2 / mse)
    gain = estimate_gain(report_data(rng, (40, 48, 3), sigma=sigma, sure=Risk(psnr, (psnr - 1, psnr + 2))))
    assert gain is not None
    expected = 10 * math.log10(np.mean(np.square(sigma)) / mse)
    assert (gain.value, gain.low, gain.high) == pytest.approx((expected, expected - 1, expected + 2))


def test_gains_that_cannot_be_told(rng: np.random.Generator) -> None:
    assert estimate_gain(report_data(rng, sure=None)) is None
    assert estimate_gain(report_data(rng, sigma=0.0)) is None
    assert estimate_gain(report_data(rng, sure=Risk(30.0, (-math.inf, math.inf)))) is None
    assert estimate_gain(report_data(rng, sure=Risk(math.inf, (math.inf, math.inf)))) is None
    found = summarise(report_data(rng, sure=Risk(math.inf, (math.inf, math.inf)))).headlines[1]
    assert "inf" not in found.value and "noise model does not fit" in " ".join(found.details)
    found = summarise(report_data(rng, sure=Risk(math.inf, (31.0, math.inf)))).headlines[1]
    assert found.value == "> +8.9 dB" and "too small to measure" in found.details[0]
    assert summarise(report_data(rng, seconds={}, settings={})).headlines[3].details == ("not recorded",)


def test_sentences() -> None:
    assert sentence("edges were cut") == "Edges were cut." and sentence(" Really? ") == "Really?"
