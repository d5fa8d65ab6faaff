"""The registry: all baselines by the name that commands and benchmarks use. A new method is one line here."""

from __future__ import annotations

from epitomes.baselines.baseline import Baseline
from epitomes.baselines.wnnm import WNNM

METHODS: dict[str, type[Baseline]] = {
    "wnnm": WNNM,
}
