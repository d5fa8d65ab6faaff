"""`epitomes doctor`: show what is installed, and test it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from epitomes.cli.common import Json, Result, answer, examples
from epitomes.cli.errors import INTERNAL, CommandError

if TYPE_CHECKING:
    from epitomes.testing import Installation

EXAMPLES = examples("doctor", "doctor --json")


def doctor(json: Json = False) -> None:
    """Check the installation.

    Shows versions, instruction set, threads and optional packages, and compares the kernels with the NumPy reference.
    """
    from epitomes import testing

    found = testing.installation()
    began = time.perf_counter()
    agrees = testing.run_self_test()
    seconds = time.perf_counter() - began
    facts = asdict(found) | {"self_test": agrees, "seconds": seconds}
    answer(Result("\n".join(_lines(found, agrees, seconds)), facts), json)
    if wrong := _wrong(agrees):
        raise CommandError(
            INTERNAL,
            f"the {found.instruction_set} kernels disagree with the reference: {', '.join(wrong)}\n"
            "do not use their results: set EPITOMES_ISA=baseline, or EPITOMES_KERNELS=reference, which is slow",
        )


def _wrong(agrees: Mapping[str, bool]) -> list[str]:
    return [name for name, right in agrees.items() if not right]


def _lines(found: Installation, agrees: Mapping[str, bool], seconds: float) -> list[str]:
    lines = [
        f"epitomes {found.version}, Python {found.python}, {found.platform}",
        f"kernels: {found.instruction_set} (available: {', '.join(found.instruction_sets)}), {found.threads} threads",
        "required packages: " + ", ".join(f"{name} {number or 'MISSING'}" for name, number in found.required.items()),
        "optional packages:",
    ]
    for extra in found.extras:
        missing = f'missing: pip install "epitomes[{extra.name}]"'
        state = missing if extra.version is None else f"{extra.package} {extra.version}"
        lines.append(f"  {extra.name:8} {extra.purpose:20} {state}")
    wrong = _wrong(agrees)
    verdict = f"FAILED: {', '.join(wrong)}" if wrong else "passed"
    lines.append(f"self-test of {len(agrees)} kernels ({seconds:.1f} s): {verdict}")
    return lines
