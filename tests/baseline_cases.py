"""One quick setting of every baseline: add yours here, and `tests/baselines/test_contract.py` does the rest."""

from __future__ import annotations

from epitomes.baselines import LSSC, METHODS, WNNM, Baseline, NLBayes

QUICK: dict[str, Baseline] = {
    "lssc": LSSC(n_atoms=64, stride=4, rounds=1),
    "nl-bayes": NLBayes(stride=2),
    "wnnm": WNNM(rounds=2, search_radius=10),
}


def of_all(name: str) -> Baseline:
    return QUICK.get(name) or METHODS[name]()
