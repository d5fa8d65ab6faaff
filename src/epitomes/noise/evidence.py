"""Evidence: is what flat blocks show noise, or the texture of a clean picture?

Noise is the same in all flat blocks; texture differs from one block to the next, and continues to lower frequencies.
Each measure below is a logarithm of a ratio, so that units do not matter.
"""

from __future__ import annotations

import numpy as np

from epitomes.noise.dct_blocks import MIDDLE, ORDER, PARITY, Blocks
from epitomes.noise.flat_blocks import FlatBlocks
from epitomes.noise.planes import Floats

# Logistic regressions, fitted by `python -m benchmarks fit-gate` to real photographs and clean pictures.
CONSTANT = "constant"
COLOUR = 2  # the channel: green against red and blue
WEIGHTS = {
    "flatter": 16.09,
    "typical": -4.3,
    "fast": -5.55,
    "half fine": 3.07,
    "half slow": -3.35,
    "half middle": 3.45,
    "quiet": -3.2,
    "colour": 1.38,
    CONSTANT: 5.66,
}
GREY_WEIGHTS = {
    "flatter": 17.0,
    "typical": -4.61,
    "fast": -4.75,
    "half fine": 3.54,
    "half slow": -3.82,
    "half middle": 3.72,
    "quiet": -4.08,
    CONSTANT: 5.53,
}
# No noise grows faster than this towards low frequencies, unless it falls as fast towards high ones: it was blurred.
MOST = {"half middle": 0.7, "half slow": 0.9, "half fine": 0.2}
BLURRED = -1.1  # of "fast"
# The colour differences of coloured fur and cloth go together, and are weaker than their lightness. Those of noise may
# go together where all else is evident.
ONE_HUE, EVIDENT = 0.25, 0.95
FLATTEST, FLAT, FLATTISH = 0.01, 0.05, 0.2  # shares of the blocks


def evidence(blocks: Blocks, fine: FlatBlocks, small: FlatBlocks) -> dict[str, float]:
    """Measures of the lightness of an image, and of its second colour difference if it has one."""
    middle = _band(fine.power, 3, 4)
    scale = np.square(fine.curve.at(blocks.brightness))
    energy = np.square(blocks.coefficients[:, :, 0]) / scale[:, None]
    low, quiet, typical = (0.5 * np.log(np.percentile(energy[:, MIDDLE].mean(axis=1), share)) for share in (5, 20, 50))
    found = {
        "fast": np.log(_band(fine.power, 5, 7) / middle),
        "finest": np.log(_band(fine.power, 12, 14) / middle),
        "half slow": np.log(_band(small.power, 2, 2) / middle),
        "half middle": np.log(_band(small.power, 3, 4) / middle),
        "half fine": np.log(_band(small.power, 8, 14) / middle),
        "flatter": np.log(_level(energy, fine, FLATTEST) / _level(energy, fine, FLAT)),
        "rougher": np.log(_level(energy, fine, FLATTISH) / _level(energy, fine, FLAT)),
        "quiet": quiet - low,
        "typical": typical - quiet,
    }
    if blocks.n_channels > COLOUR and fine.power[:, COLOUR, COLOUR].any():
        found["colour"] = np.log(_band(fine.power, 1, 2, COLOUR) / _band(fine.power, 1, 2))
        found["one hue"] = _correlation(fine.power[MIDDLE].mean(axis=0), COLOUR - 1, COLOUR)
    return {name: float(np.clip(np.nan_to_num(value, neginf=-3.0), -3.0, 3.0)) for name, value in found.items()}


def probability_of_noise(found: dict[str, float]) -> float:
    """How probable it is that flat blocks with this evidence show noise."""
    if found["fast"] > BLURRED and any(found[name] > most for name, most in MOST.items()):
        return 0.0
    weights = WEIGHTS if WEIGHTS.keys() - {CONSTANT} <= found.keys() else GREY_WEIGHTS
    probability = float(1 / (1 + np.exp(-sum(weight * found.get(name, 1.0) for name, weight in weights.items()))))
    is_cloth = found.get("one hue", 0.0) > ONE_HUE and found["colour"] < 0
    return 0.0 if is_cloth and probability < EVIDENT else probability


def _correlation(covariance: Floats, one: int, other: int) -> float:
    """Of two channels; of texture that has one hue, the colour differences go together."""
    size = np.sqrt(covariance[one, one] * covariance[other, other])
    return float(covariance[one, other] / size) if size > 0 else 0.0


def _band(power: Floats, first: int, last: int, channel: int = 0) -> float:
    """The deviation of the noise at frequencies of these orders."""
    inside = (first <= ORDER) & (last >= ORDER)
    return float(np.sqrt(power[inside, channel, channel].mean()))


def _level(energy: Floats, fine: FlatBlocks, share: float) -> float:
    """The deviation at middle frequencies in the flattest blocks; each parity where the other one is flat."""
    n = max(1, int(share * len(energy)))
    squares = [
        energy[np.argpartition(flatness, n)[:n]][:, MIDDLE & (parity == PARITY)].mean()
        for parity, flatness in enumerate(fine.flatness)
    ]
    return float(np.sqrt(np.mean(squares)))
