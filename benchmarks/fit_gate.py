"""Fit the gate between correlated noise and texture: the weights of `epitomes.noise.evidence`.

    python -m benchmarks fit-gate --images real-photos --held-out natural-color

`--images` is a folder of real photographs in subfolders, `NAME_real.*` noisy and `NAME_mean.*` averaged; `--held-out`
is a folder of clean colour pictures. Averages and clean pictures count the more, the stronger the noise is that they
seem to have: a wrong belief costs what it removes. One picture in eight is left out in turn to count the errors.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.options import Options
from epitomes.formats import read
from epitomes.noise.correlated import COLOURED, LEAST_ALIVE, Measured, measure_correlated
from epitomes.noise.evidence import CONSTANT, GREY_WEIGHTS, WEIGHTS

Floats = NDArray[np.float64]

FOLDS = 8
RIDGE = 1.0  # half of it times the squared weights of standardised measures is added to the cost
HARMLESS, HARMFUL = 1.0, 3.0  # level of a clean picture's "noise" from which it counts, and with which it counts fully
MOST = 3.0  # weight of a clean picture


@dataclass(frozen=True)
class Gate:
    """One fit and its errors in the pictures left out."""

    gate: str
    pictures: int
    noisy: int
    refused: int  # noisy pictures that are not believed
    deceived: int  # clean pictures that are, though harm would be done
    weights: str


@dataclass(frozen=True, eq=False)
class Case:
    """What a picture shows, and what it is."""

    measured: Measured
    noisy: bool

    @property
    def weight(self) -> float:
        if self.noisy:
            return 1.0
        level = float(np.mean(self.measured.spectrum.sigma))
        return float(np.clip((level - HARMLESS) / (HARMFUL - HARMLESS), 0.05, MOST))


def run(options: Options) -> Iterator[Gate]:
    """Yield the gates for colour and for grey pictures."""
    if options.images is None or options.held_out is None:
        raise SystemExit("fit-gate needs --images, real photographs, and --held-out, clean pictures")
    cases = [case for case in _cases(options.images, options.held_out, options.quick) if _is_judged(case)]
    for name, weights in (("colour", WEIGHTS), ("grey", GREY_WEIGHTS)):
        yield fitted(name, cases, [key for key in weights if key != CONSTANT])


def fitted(name: str, cases: Sequence[Case], keys: Sequence[str]) -> Gate:
    """Fit to all cases, and count the errors when each was left out."""
    rows = np.array([[case.measured.evidence.get(key, 0.0) for key in keys] for case in cases])
    noisy = np.array([case.noisy for case in cases])
    weight = np.array([case.weight for case in cases])
    weight[noisy] *= weight[~noisy].sum() / weight[noisy].sum()
    believed = np.zeros(len(cases), np.bool_)
    for fold in range(FOLDS):
        out = np.arange(len(cases)) % FOLDS == fold
        *slopes, constant = logistic(rows[~out], noisy[~out], weight[~out])
        believed[out] = rows[out] @ slopes + constant > 0
    found = dict(zip([*keys, CONSTANT], logistic(rows, noisy, weight).round(2).tolist(), strict=True))
    harmful = ~noisy & (weight > 0.5)
    return Gate(
        gate=name,
        pictures=len(cases),
        noisy=int(noisy.sum()),
        refused=int((noisy & ~believed).sum()),
        deceived=int((harmful & believed).sum()),
        weights=str(found),
    )


def logistic(rows: Floats, noisy: NDArray[np.bool_], weight: Floats) -> Floats:
    """Slopes and constant of a logistic regression with a ridge, in the units of the measures."""
    mean, spread = rows.mean(axis=0), rows.std(axis=0)
    design = np.column_stack([(rows - mean) / spread, np.ones(len(rows))])
    sign = np.where(noisy, -1.0, 1.0)

    def cost(x: Floats) -> tuple[float, Floats]:
        score = sign * (design @ x)
        slope = weight * sign / (1 + np.exp(-score))
        ridge = RIDGE * np.append(x[:-1], 0.0)
        return float(weight @ np.logaddexp(0, score) + ridge @ x / 2), design.T @ slope + ridge

    found = minimize(cost, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B").x
    slopes = found[:-1] / spread
    return np.append(slopes, found[-1] - slopes @ mean)


def _is_judged(case: Case) -> bool:
    """Whether the gate is asked at all: not where blocks are empty, nor where the noise looks white."""
    return case.measured.alive >= LEAST_ALIVE and (case.noisy or case.measured.evidence["finest"] < COLOURED + 0.2)


def _cases(photos: Path, clean: Path, quick: bool) -> Iterator[Case]:
    files = [
        (path, "_real" in path.stem) for path in sorted(photos.rglob("*_real.*")) + sorted(photos.rglob("*_mean.*"))
    ]
    files += [(path, False) for path in sorted(clean.iterdir()) if path.suffix.lower() in (".png", ".jpg", ".jpeg")]
    for path, noisy in files[:: 8 if quick else 1]:
        measured = measure_correlated(np.asarray(read(path).pixels, np.float64))
        if measured is not None:
            yield Case(measured, noisy)
        else:
            print(f"# fit-gate: {path.name} is too small and left out", file=sys.stderr)
