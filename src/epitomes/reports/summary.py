"""The opening of a report: a verdict, four figures, and the reasons for doubt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from epitomes.reports.advice import LOOK, next_step
from epitomes.reports.data import ReportData

MOST_DOUBTS = 3  # shown; the folded sections hold the rest


@dataclass(frozen=True)
class Doubt:
    """A reason to distrust the result, and one thing to do about it."""

    reason: str
    next_step: str
    is_code: bool = False  # a command or a call, not a sentence


@dataclass(frozen=True)
class Gain:
    """Estimated gain in dB over the noisy image, with its 90 % interval; infinite if it is too large to measure."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Headline:
    """One of the four figures."""

    label: str
    value: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Summary:
    """The opening."""

    kind: Literal["good", "check", "none"]
    verdict: str
    explanation: str
    headlines: tuple[Headline, ...]
    doubts: tuple[Doubt, ...]


def summarise(data: ReportData) -> Summary:
    """Sum a report up."""
    headlines = (_noise(data), _gain(data), _method(data), _time(data))
    if np.array_equal(data.noisy, data.restored):
        explanation = "No noise was found: the image was returned as it was."
        doubts = () if data.audit is None else _shown(_audit_doubts(data))
        return Summary("none", "Nothing removed", explanation, headlines, doubts)
    doubts = find_doubts(data)
    if doubts:
        many = f"There are {len(doubts)} reasons for doubt." if len(doubts) > 1 else "There is one reason for doubt."
        return Summary("check", "Check this", many, headlines, doubts)
    return Summary("good", "Looks good", "What was removed looks like noise.", headlines, ())


def find_doubts(data: ReportData) -> tuple[Doubt, ...]:
    """List the most important reasons for doubt: those of the audit first, then the gain, then the noise model."""
    found = _audit_doubts(data)
    gain = estimate_gain(data)
    if gain is not None and gain.low <= 0:
        reason = f"The denoised image may be no better than the noisy one (gain from {gain.low:.1f} dB)."
        found.append(Doubt(reason, next_step("gain", "", data)))
    if data.noise is not None:
        kinds = getattr(data.noise, "doubt_kinds", ()) or [""] * len(data.noise.doubts)
        found += [Doubt(text, next_step(kind, "", data)) for kind, text in zip(kinds, data.noise.doubts, strict=True)]
    return _shown(found)


def estimate_gain(data: ReportData) -> Gain | None:
    """Compute the estimated PSNR minus that of the noisy image, `10 log10(peak^2 / mean(sigma^2))`.

    An estimate whose interval has no lower end says nothing, nor one whose lower end is infinite: less was removed than
    the noise that is assumed.
    """
    if data.sure is None or data.level == 0 or not math.isfinite(data.sure.interval[0]):
        return None
    noisy = 20 * math.log10(data.sure.peak / data.level)
    return Gain(*(psnr - noisy for psnr in (data.sure.psnr, *data.sure.interval)))


def number(value: float) -> str:
    """Format a number for people: four digits, large ones with separators."""
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def sentence(words: str) -> str:
    """Begin with a capital and end with a full stop."""
    text = words.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def is_code(words: str) -> bool:
    """Whether these are a command or a call."""
    return words.startswith(("epitomes ", "epitomes."))


def _shown(found: list[Doubt]) -> tuple[Doubt, ...]:
    """The first few doubts with different next steps, in sentences; commands and calls are left as they are."""
    first = {one.next_step: one for one in reversed(found)}
    kept = [one for one in found if first[one.next_step] is one][:MOST_DOUBTS]
    return tuple(
        Doubt(sentence(one.reason), one.next_step, True)
        if is_code(one.next_step)
        else Doubt(sentence(one.reason), sentence(one.next_step))
        for one in kept
    )


def _audit_doubts(data: ReportData) -> list[Doubt]:
    if data.audit is None:
        return [Doubt("The result was not audited.", LOOK)]
    reasons, advice = list(data.audit.reasons), list(data.audit.advice)
    kinds = list(getattr(data.audit, "reason_kinds", ()))
    if not kinds and len(reasons) > len(advice):  # reasons share advice: show one reason for each advice
        reasons = [reasons[0], *reasons[len(reasons) - len(advice) + 1 :]]
    kinds = kinds or [""] * len(reasons)
    advice += [""] * (len(reasons) - len(advice))
    return [
        Doubt(reason, next_step(kind, text, data) if kind else text or LOOK)
        for kind, reason, text in zip(kinds, reasons, advice, strict=False)
    ]


def _noise(data: ReportData) -> Headline:
    if data.noise is None:
        return Headline("Noise level", number(data.level), ("set by the user",))
    confidence = "low confidence" if data.noise.doubts else "high confidence"
    source = confidence if data.noise.estimated else "set by the user"
    return Headline("Noise level", number(data.level), (source, data.noise.describe()))


def _gain(data: ReportData) -> Headline:
    gain = estimate_gain(data)
    if gain is None or data.sure is None:
        contrary = data.sure is not None and data.sure.interval[0] == math.inf
        return Headline("Estimated gain", "–", ("the noise model does not fit" if contrary else "not estimated",))
    if not math.isfinite(gain.value):
        return Headline("Estimated gain", f"> {gain.low:+.1f} dB", ("the error is too small to measure",))
    upper = f"{gain.high:+.1f} dB" if math.isfinite(gain.high) else "unknown"
    details = (f"90 % interval {gain.low:+.1f} to {upper}", f"PSNR {data.sure.psnr:.2f} dB {data.sure.reference}")
    return Headline("Estimated gain", f"{gain.value:+.1f} dB", details)


def _method(data: ReportData) -> Headline:
    method, preset = data.settings.get("method"), data.settings.get("preset")
    if not method:
        return Headline("Method", "–", ("not recorded",))
    return Headline("Method", str(method), (f"preset {preset}",) if preset else ())


def _time(data: ReportData) -> Headline:
    total = sum(data.seconds.values())
    if not data.seconds or not math.isfinite(total):
        return Headline("Time", "–", ("not recorded",))
    parts = tuple(f"{name} {seconds:.1f} s" for name, seconds in data.seconds.items())
    return Headline("Time", f"{total:.1f} s", parts if len(parts) > 1 else ())
