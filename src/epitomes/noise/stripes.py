"""Stripes: an offset of every row or column, as readout lines, scanning microscopes and interlaced cameras have it.

An offset is the same along its whole line. So the differences between neighbouring lines have the same sign far to the
left and far to the right, in nearly all lines; edges and texture of an image agree in a few lines only. The offsets are
what fits the medians of these differences best, among offsets of the size that was found; where parts of a line differ,
a median counts less. An edge or shading along the lines agrees, too, but goes on in one direction; offsets go up and
down. Slow changes over many lines are left in the image: shading looks the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solveh_banded

from epitomes.checks import require_finite, require_real
from epitomes.layout import Layout
from epitomes.noise.planes import Floats

PARTS = 4  # of every line, compared with each other
AGREEMENT = 0.66  # share of the lines in which the parts must agree; chance gives 0.5
# Share of the steps from line to line that go the other way than the last one: 2/3 where offsets are independent, 1/2
# where they drift, less where an edge or shading runs along the lines.
TURNING = 0.42
MIN_SIDE = 64  # pixels: in smaller planes nothing is found
EDGE = 4.0  # differences of lines beyond so many typical ones belong to the image
NORMAL_MEDIAN = 0.6745  # of the absolute value of a standard normal variable
MOST_CERTAIN = 10.0  # typical difference over its error: if it were larger, shading would count as stripes
SHORT = 8  # parts of every line, whose differences show how certain each step is
ORDINARY, DISTRUST = 1.5, 4.0  # spread of the parts that chance explains, in its variance; what counts beyond it
NAMES = ("rows", "columns")


@dataclass(frozen=True, eq=False)
class Stripes:
    """Offsets of the rows and columns of an image.

    Parameters
    ----------
    offsets : ndarray
        What was added to every pixel, in the shape of the image: 0 where no stripes were found.
    rows, columns : float
        Standard deviation of the offsets of rows and of columns, the largest of all planes.

    See Also
    --------
    find_stripes : Find them.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.noise import Stripes
    >>> print(Stripes(np.zeros((64, 64)), rows=2.5, columns=0.0).describe())
    stripes: rows have offsets with a standard deviation of 2.5
    """

    offsets: Floats
    rows: float
    columns: float

    @property
    def found(self) -> bool:
        """Whether there are stripes."""
        return max(self.rows, self.columns) > 0

    def describe(self) -> str:
        """Say in a few words which lines have offsets, and how large they are.

        Returns
        -------
        str
            Such as "stripes: rows have offsets with a standard deviation of 2.5", or "no stripes".
        """
        parts = [
            f"{name} have offsets with a standard deviation of {size:.3g}"
            for name, size in zip(NAMES, (self.rows, self.columns), strict=True)
            if size > 0
        ]
        return f"stripes: {', '.join(parts)}" if parts else "no stripes"


def find_stripes(image: ArrayLike, *, channel_axis: int | None = None, spatial: int | None = None) -> Stripes:
    """Find offsets of rows and columns: stripes, lines of a readout or scan, interlaced fields.

    Each plane and each channel is judged by itself.

    Parameters
    ----------
    image : array_like
        Grey image ``(H, W)``, volume ``(D, H, W)`` or, with `channel_axis`, a multichannel array. Any real dtype and
        scale.
    channel_axis : int, optional
        Axis of colours or channels. If None, no axis holds channels.
    spatial : int, optional
        Number of spatial axes: 2 for images, 3 for volumes. Axes before them count independent pictures. If None, all
        axes but that of the channels are spatial.

    Returns
    -------
    Stripes
        The offsets. In signals, and in planes of less than 64 x 64 pixels, nothing is found.

    Raises
    ------
    ValueError
        If the image holds values that are not finite.

    See Also
    --------
    Stripes : What is returned.
    find_impulses : Find wrong pixels.

    Notes
    -----
    Let ``d[i]`` be the median difference of lines i and i + 1. There are stripes if its sign, taken in four parts of
    the lines, is the same in parts that are not neighbours in at least 66 % of the lines. The offsets o minimise
    ``sum (o[i + 1] - o[i] - d[i])**2 / s**2 + sum o[i]**2 / t**2``, where s is the error of d, by which its parts
    differ, and t the deviation of the offsets, estimated from d. Differences of more than four typical ones are edges
    and do not count. Offsets of less than about three times the noise over the root of the length of a line are missed.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.noise import find_stripes
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(0, 5, (128, 128))
    >>> find_stripes(noise).found
    False
    >>> offsets = rng.normal(0, 5, (128, 1))
    >>> found = find_stripes(noise + offsets)
    >>> bool(np.std(offsets - found.offsets) < 2), found.columns
    (True, 0.0)
    """
    pixels = require_real("image", image)
    require_finite("image", pixels)
    layout = Layout.of(pixels.shape, channel_axis, spatial)
    offsets, sizes = np.zeros(pixels.shape), [0.0, 0.0]
    if layout.spatial > 1 and min(layout.picture_shape[: layout.spatial][-2:]) >= MIN_SIDE:
        for plane, here in zip(layout.planes(pixels), layout.planes(offsets), strict=True):
            values = np.asarray(plane, np.float64)
            for axis in range(2):
                found = _offsets(values if axis == 0 else values.T)
                if found is not None:
                    here += found[:, None] if axis == 0 else found
                    sizes[axis] = max(sizes[axis], float(np.std(found)))
    return Stripes(offsets, rows=sizes[0], columns=sizes[1])


def _turning(steps: Floats) -> float:
    """How often a step goes the other way than the last one, of those that go anywhere."""
    signs = np.sign(steps[steps != 0])
    return float(np.mean(signs[1:] != signs[:-1])) if len(signs) > 1 else 0.0


def _offsets(lines: NDArray[Any]) -> Floats | None:
    """The offset of every line; None if there are no stripes."""
    differences = np.diff(lines, axis=0)
    parts = np.stack([np.median(part, axis=1) for part in np.array_split(differences, PARTS, axis=1)])
    apart = [(one, other) for one in range(PARTS) for other in range(one + 2, PARTS)]
    if min(np.mean(parts[one] * parts[other] > 0) for one, other in apart) < AGREEMENT:
        return None
    steps = np.median(differences, axis=1)
    if _turning(steps) < TURNING:
        return None
    typical = float(np.median(np.abs(steps))) / NORMAL_MEDIAN
    apart_from_all = np.stack([np.median(part, axis=1) for part in np.array_split(differences, SHORT, axis=1)]) - steps
    chance = float(np.median(np.abs(apart_from_all))) / NORMAL_MEDIAN / np.sqrt(SHORT)
    excess = np.maximum(np.square(apart_from_all).mean(axis=0) / SHORT - ORDINARY * chance**2, 0)  # edges of the image
    error = max(chance, typical / MOST_CERTAIN)
    size = np.sqrt(max(typical**2 - error**2, error**2) / 2)
    weight = np.where(np.abs(steps) < EDGE * typical, 1 / (error**2 + DISTRUST * excess), 0.0)
    # The normal equations, a matrix with three diagonals: its upper one and its main one.
    bands = np.zeros((2, len(lines)))
    bands[0, 1:] = -weight
    bands[1] = 1 / size**2
    bands[1, :-1] += weight
    bands[1, 1:] += weight
    pull = np.zeros(len(lines))
    pull[1:] += weight * steps
    pull[:-1] -= weight * steps
    return np.asarray(solveh_banded(bands, pull))
