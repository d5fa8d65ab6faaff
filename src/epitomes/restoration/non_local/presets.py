"""Presets of the non-local method: which passes it makes.

All settings of the passes are in units of the noise and the same for every noise level: `docs/denoising.md` says how
they were chosen, and on which pictures. The group size, bound and strength of the first pass were found by

    python -m benchmarks fit-presets --images natural-gray --presets balanced

The last pass joins the estimate of the others with that of the one before it, by maps that were learned by
`python -m benchmarks make-regressions`.
"""

from __future__ import annotations

from epitomes.restoration.non_local.correction import RegressionPass, WienerPass
from epitomes.restoration.non_local.passes import AdaptPass, AtomsPass, FeedbackPass, Pass

PRESETS = ("fast", "balanced", "best")

FIRST = AtomsPass(
    patches=(8,),
    group_size=28,
    search_radius=14,
    stride=5,
    threshold=0.8,
    bound=0.92,
    selection_size=20,
    strength=1.9,
    select_on_noisy=True,
    by_rank=True,
)
"""From the pilot to a first estimate by groups; the only pass that chooses atoms on noisy patches."""

BALANCED: tuple[Pass, ...] = (
    FIRST,
    AtomsPass(search_radius=16, stride=5),
    FeedbackPass(search_radius=28),
    WienerPass(),
    RegressionPass(),
)
BEST: tuple[Pass, ...] = (
    FIRST,
    AdaptPass(),
    AtomsPass(search_radius=28, stride=5),
    FeedbackPass(search_radius=28),
    AtomsPass(search_radius=28, stride=5),
    FeedbackPass(patches=(5, 7, 8), search_radius=28),
    AtomsPass(patches=(8, 10), search_radius=28, stride=5, keep=0.75),
    WienerPass(group_size=32, search_radius=16),
    RegressionPass(stride=1),
)


def passes_of(preset: str) -> tuple[Pass, ...]:
    """The passes of a preset; "fast" has none, its pilot is the result."""
    return {"fast": (), "balanced": BALANCED, "best": BEST}[preset]
