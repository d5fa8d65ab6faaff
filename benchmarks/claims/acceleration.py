"""Section 4.1: "FISTA was significantly faster to converge than the projected gradient descent algorithm".

One dictionary update with fixed codes, by three algorithms from the same start. The distance of the cost from its
optimum is measured after the same number of steps. Preconditioned FISTA is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.claims.common import LAM, PATCH, chosen, drawn
from benchmarks.options import Options
from benchmarks.pictures import Picture
from benchmarks.record import Claim
from epitomes import Patches
from epitomes.coders import Lasso
from epitomes.draw import Series, png_curve
from epitomes.learn import Fista, Moments, PreconditionedFista, ProjectedGradient, Update, cost, smooth_noise
from epitomes.phi import windows

STEPS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)
UPDATES: dict[str, Any] = {
    "projected gradient": ProjectedGradient,
    "FISTA": Fista,
    "preconditioned FISTA": PreconditionedFista,
}


def run(pictures: list[Picture], options: Options) -> Iterator[Claim]:
    name, image = chosen(pictures, "house", options, crop=96)
    steps = STEPS[:-2] if options.quick else STEPS
    phi = windows((20, 20) if options.quick else (42, 42), PATCH)
    patches, start = Patches(image, PATCH), smooth_noise(phi)
    codes = Lasso(lam=LAM).encode(patches, start.dictionary, threads=options.threads)
    moments = Moments.of(patches, codes, threads=options.threads)

    def reached(update: Update) -> float:
        found = update.step(start, moments, LAM, threads=options.threads).epitome
        return cost(found.dictionary.atoms, moments, LAM)

    best = reached(PreconditionedFista(n_steps=10 * steps[-1], tol=0.0))
    whole = cost(start.dictionary.atoms, moments, LAM) - best
    shares = {
        label: [(reached(kind(n_steps=n, tol=0.0)) - best) / whole for n in steps] for label, kind in UPDATES.items()
    }
    figure = drawn(
        options,
        "claim-acceleration",
        png_curve(
            [Series(label, steps, [max(share, 1e-12) for share in found]) for label, found in shares.items()],
            title="One dictionary update: distance from the optimum",
            x_label="steps",
            y_label="share of the initial distance",
            log_x=True,
            log_y=True,
        ),
    )
    for fast, slow in (("FISTA", "projected gradient"), ("preconditioned FISTA", "FISTA")):
        yield Claim(
            claim=f"{fast} converges faster than {slow}",
            image=name,
            value=shares[fast][-1],
            against=shares[slow][-1],
            holds=shares[fast][-1] < shares[slow][-1],
            note=f"distance of the cost from its optimum after {steps[-1]} steps, as a share of the initial one",
            figure=figure,
        )
