"""One quick setting of every baseline: add yours here, and `tests/baselines/test_contract.py` does the rest."""

from __future__ import annotations

from epitomes.baselines import ISD, KSVD, LSSC, METHODS, MOD, ODL, WNNM, Baseline, Jojic, NLBayes, ShiftInvariant

QUICK: dict[str, Baseline] = {
    "isd": ISD(side=20, schedule=((1000, 2),)),
    "jojic": Jojic(side=32, n_steps=4, most_patches=500),
    "ksvd": KSVD(n_atoms=64, schedule=((1000, 3),)),
    "lssc": LSSC(n_atoms=64, stride=4, rounds=1),
    "mod": MOD(n_atoms=64, schedule=((1000, 2),)),
    "nl-bayes": NLBayes(stride=2),
    "odl": ODL(n_atoms=64, n_passes=1.0),
    "shift-invariant": ShiftInvariant(n_patterns=16, shift=1, schedule=((1000, 2),)),
    "wnnm": WNNM(rounds=2, search_radius=10),
}

# In small images they replace many atoms by single patches: one threshold that tips changes which.
CHAOTIC = {"ksvd", "mod"}


def of_all(name: str) -> Baseline:
    return QUICK.get(name) or METHODS[name]()
