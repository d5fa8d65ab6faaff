"""A told noise level that the image contradicts, and the one that is used instead.

Second differences along both axes leave noise and little else. Their variance in the calmest blocks of an image says
how much noise there is at most: a told level that is larger is lowered. Where noise is strong beside the contrast of
the image, the calmest blocks hold hardly anything but noise: a told level that is smaller is raised. Both leave a
margin and go a limited way, so that a right level stays as it is, and the level used rises with the one told. Noise
never comes again. Where something does, such as the lines of a grating, blocks may be full of it: nothing is raised.

`docs/denoising.md` has the figures.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SIDE, STEP = 16, 8  # of blocks, and from one to the next
ROWS = 256  # that are worked on at once
LEAST_BLOCKS = 36
CALMEST, CALM = 0.1, 0.25  # shares of the blocks
# Standard deviations that these quantiles have in white noise, relative to its own: measured.
OF_CALMEST, OF_CALM = 0.897, 0.938
EMPTY = 0.63  # of the told level: blocks with less are no evidence, but constant, or clean on purpose
LEAST_FILLED = 0.5  # share of the other blocks
# Margins: the level used is at most the one found times the first, and at least the one found over the second. The
# first has a part that falls with the number of blocks, as the spread of what is found in white noise does.
ABOVE, OF_FEW, BELOW = 1.005, 0.35, 1.1
LOWEST, HIGHEST = 0.85, 1.3  # times the told level
TEXTURE = 4.0  # how much the calmest blocks count less where the next calmer ones differ
REACH, NEAR = 32, 2  # pixels: how far the image is compared with itself; differences overlap nearer than the second
LARGEST = 1024  # pixels: of the middle of the image, which is compared
CLIPPED = 3.0  # times the calm level: larger differences are those of single edges
REPEATED, BY_CHANCE = (
    0.1,
    8.0,
)  # correlation that is none of noise: the first, or the second over the root of the pixels
CLEAR, FAINT = 3.5, 6.0  # contrast of the image, in units of the noise, up to and from which noise hides texture or not


def believed(plane: NDArray[np.float32], contrast: float) -> float:
    """How many times the told level is used, for an image in units of it with this contrast."""
    variances = block_variances(plane)
    filled = variances[variances > EMPTY**2]
    if len(filled) < max(LEAST_BLOCKS, LEAST_FILLED * len(variances)):
        return 1.0
    calmest, calm = np.sqrt(np.quantile(filled, [CALMEST, CALM])) / (OF_CALMEST, OF_CALM)
    at_most = float((ABOVE + OF_FEW / np.sqrt(len(filled))) * calm)
    if at_most < 1:
        return max(LOWEST, at_most)
    if calmest > BELOW and repeats(plane, calmest):
        return 1.0
    surely = calmest / (1 + TEXTURE * max(0.0, calm / calmest - 1)) / BELOW
    most = 1 + (HIGHEST - 1) * min(max((FAINT - contrast) / (FAINT - CLEAR), 0.0), 1.0)
    return float(min(max(1.0, surely), most))


def repeats(plane: NDArray[np.float32], calmest: float) -> bool:
    """Whether second differences are like those somewhere else, at one and the same distance in all of the image."""
    middle = tuple(slice(max(0, (size - LARGEST) // 2), (size + LARGEST) // 2) for size in plane.shape)
    across = _second_differences(plane[middle].astype(np.float64)).clip(-CLIPPED * calmest, CLIPPED * calmest)
    alike = np.fft.irfft2(np.square(np.abs(np.fft.rfft2(across))), across.shape)
    far = [min(REACH, (size - 1) // 2) for size in across.shape]
    around = np.roll(alike / alike[0, 0], far, (0, 1))[: 2 * far[0] + 1, : 2 * far[1] + 1]
    around[far[0] - NEAR : far[0] + NEAR + 1, far[1] - NEAR : far[1] + NEAR + 1] = 0
    return bool(around.max() > max(REPEATED, BY_CHANCE / np.sqrt(across.size)))


def block_variances(plane: NDArray[np.float32]) -> NDArray[np.float64]:
    """Mean squares of the second differences, scaled to those of noise, in overlapping blocks."""
    height = plane.shape[0] - 2
    found = []
    for top in range(0, height - SIDE + 1, ROWS):
        rows = plane[top : min(top + ROWS + SIDE - STEP, height) + 2].astype(np.float64)
        sums = np.pad(np.square(_second_differences(rows)), ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
        sums, far = sums[::STEP, ::STEP], SIDE // STEP
        if min(sums.shape) > far:
            boxes = sums[far:, far:] - sums[:-far, far:] - sums[far:, :-far] + sums[:-far, :-far]
            found.append(boxes.ravel() / SIDE**2)
    return np.concatenate(found) if found else np.empty(0)


def _second_differences(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Second differences along both axes, scaled to the variance of noise."""
    down = rows[2:] - 2 * rows[1:-1] + rows[:-2]
    return np.asarray((down[:, 2:] - 2 * down[:, 1:-1] + down[:, :-2]) / 6)


def note_of(factor: float) -> str:
    """What is said of a level that was not used as it was told."""
    than = "more" if factor > 1 else "less"
    return f"the image shows {than} noise than was told or estimated: {factor:.2f} times that level was used"
