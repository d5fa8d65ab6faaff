"""One quick setting of every baseline: add yours here, and `tests/baselines/test_contract.py` does the rest."""

from __future__ import annotations

from epitomes.baselines import METHODS, WNNM, Baseline

QUICK: dict[str, Baseline] = {
    "wnnm": WNNM(rounds=2),
}


def of_all(name: str) -> Baseline:
    return QUICK.get(name) or METHODS[name]()
