"""Impulses: salt and pepper, dead and hot pixels, found by what they have in common.

An impulse has nothing to do with its surroundings. It is far from their median, in units of their spread. It is alone,
because its neighbours are impulses only by chance. And its neighbours do not follow it, as those of a star or of a
glint do, which have the width of the optics. Pixels that are far, alone and not followed are impulses for one of two
reasons:

- They share one value, mostly the lowest or highest, and hardly any pixel lies just beside it. Noise that is clipped
  thins out towards the limit instead.
- Their number falls more slowly with the distance than the tails of ordinary noise do.

Both are judged for the whole plane before any pixel is marked. All distances are ratios, so units do not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import require_finite, require_real
from epitomes.layout import Layout
from epitomes.noise.planes import Flags, Floats
from epitomes.noise.surroundings import (
    INNER,
    OUTER,
    Level,
    bands,
    median,
    padded_band,
    ranked,
    sample_bands,
    shifted,
    smallest_step,
)

Pixels = NDArray[Any]
Shape = tuple[int, ...]
Ratios = NDArray[np.float32]
Limits = tuple[float, float]  # the values that dark and bright impulses may share

CROSS = ((-1, 0), (1, 0), (0, -1), (0, 1))  # the four nearest pixels
MIN_SIDE = 8  # pixels; in smaller planes nothing is found
AGAIN = (0.0, 0.05)  # share of impulses from which there is a second round, and a third
DIGITS, MOST = 6, 1e6  # decimals and largest values of distances in spreads: equal ones are equal in all units
FAR = 3.5  # spreads from the surroundings: further pixels are suspects

# Whether suspects lie at random
LONELINESS = 0.7  # share of them that are alone, relative to that of pixels drawn at random
TILE, CROWDED = (
    16,
    5.0,
)  # side in pixels, and pairs in one tile for each pair that is expected of pixels drawn at random
FOLLOWED = 0.06  # height of the neighbours, relative to that of an impulse
FOOT = 0.1  # height of the lowest of four neighbours of a star, relative to that of its top
PAIRED = 3.0  # so much less evidence is needed of dark impulses if there are bright ones, and the other way round

# Impulses that share one value
NEAR = 0.5  # spreads: pixels this close to the value, but not at it, show how noise thins out there
UNCLEAR = 1.5  # spreads between the surroundings and the value that noise often bridges
CLEAR = (3.0, 4.0, 5.0, 6.0)  # spreads that noise seldom bridges; the best is taken
MOST_CLEAR = 50.0  # spreads; more make no difference
EXCESS, FEWEST = 6.0, 8  # pixels at the value for each one beside it, and in addition to these
SURPLUS = 3.0  # pixels at the value for each one that noise puts there
CLUSTER = 4  # neighbours of the same value, from which a pixel belongs to a saturated area

# Impulses of any value
TAIL = 2.5  # the number of pixels of ordinary noise falls at least as this power of the distance
SURE, FIRST = 3.0, 0.5  # standard errors, and in addition to these, by which the tail of impulses exceeds that
OUTNUMBER = (1.15, 5.0)  # at `a * sqrt(2 * log(b / share))` spreads, impulses outnumber white noise
VALLEY = 8  # steps of distance in which a gap between noise and impulses is sought
DENSE = 0.005  # share of impulses from which they may well be neighbours

# Words
FEW = 0.001  # share of impulses below which they are counted, and called hot and dead pixels
RARE = 0.02  # share of a kind among all impulses up to which it is not mentioned


@dataclass(frozen=True, eq=False)
class Impulses:
    """Impulse noise of an image: where it is, and of which kind.

    Parameters
    ----------
    mask : ndarray of bool
        True at impulses. It has the shape of the image.
    salt : int
        Number of impulses that are brighter than their surroundings.
    pepper : int
        Number of impulses that are darker than their surroundings.

    See Also
    --------
    find_impulses : Find them.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.noise import Impulses
    >>> mask = np.zeros((100, 100), bool)
    >>> mask[::5, ::5] = True
    >>> print(Impulses(mask, salt=190, pepper=210).describe())
    4 % of the pixels are impulses (salt and pepper)
    """

    mask: Flags
    salt: int
    pepper: int

    @property
    def found(self) -> bool:
        """Whether there are impulses."""
        return self.salt + self.pepper > 0

    @property
    def share(self) -> float:
        """Share of the pixels that are impulses; channels count as pixels of their own."""
        return (self.salt + self.pepper) / self.mask.size

    @property
    def kind(self) -> str:
        """What they are called: salt and pepper if there are many, hot and dead pixels if there are few."""
        names = ("salt", "pepper") if self.share >= FEW else ("hot", "dead")
        least = RARE * (self.salt + self.pepper)
        kinds = [name for name, n in zip(names, (self.salt, self.pepper), strict=True) if n > least]
        return " and ".join(kinds)

    def describe(self) -> str:
        """Say in a few words how many there are, and of which kind.

        Returns
        -------
        str
            Such as "3.1 % of the pixels are impulses (salt and pepper)", "12 hot pixels" or "no impulses".
        """
        if not self.found:
            return "no impulses"
        if self.share >= FEW:
            return f"{100 * self.share:.2g} % of the pixels are impulses ({self.kind})"
        n = self.salt + self.pepper
        return f"{n} {self.kind} pixel{'s' if n > 1 else ''}"


def find_impulses(image: ArrayLike, *, channel_axis: int | None = None, spatial: int | None = None) -> Impulses:
    """Find impulse noise: salt and pepper, dead and hot pixels.

    Each plane and each channel is judged by itself. It has impulses only if the whole of it says so: stars, glints,
    text, saturated areas and the tails of ordinary noise are left alone, and impulses that cannot be told from these
    are missed.

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
    Impulses
        Mask and numbers. In signals, and in planes of less than 8 x 8 pixels, nothing is found.

    Raises
    ------
    ValueError
        If the image is empty or holds values that are not finite.

    See Also
    --------
    Impulses : What is returned.
    epitomes.denoise : Denoise an image; takes the mask, and estimates the pixels below it with ``fill=True``.

    Notes
    -----
    A pixel is suspect if it is more than 3.5 spreads from the median of the 16 pixels around it, or if it has the value
    that most suspects have, mostly the lowest or highest. The spread is that of these 16 pixels, and at least the
    typical one of their brightness. Suspects are impulses if they are alone as often as pixels drawn at random, if the
    pixels around them are no higher than those further away, and if there are too many of them: more than six at one
    value for each one just beside it, or a number that falls more slowly with the distance than its power -2.5.

    Noise that was added after the impulses hides those that it reaches: with a standard deviation of 20 in 255, about
    half of salt and pepper is found.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.noise import find_impulses
    >>> rng = np.random.default_rng(0)
    >>> image = rng.normal(100, 10, (256, 256)).astype(np.uint8)
    >>> print(find_impulses(image).describe())
    no impulses
    >>> image[rng.random(image.shape) < 0.01] = 255
    >>> found = find_impulses(image)
    >>> print(found.describe())
    1.1 % of the pixels are impulses (salt)
    >>> bool(image[found.mask].min() == 255)
    True
    """
    pixels = require_real("image", image)
    require_finite("image", pixels)
    layout = Layout.of(pixels.shape, channel_axis, spatial)
    mask = np.zeros(pixels.shape, np.bool_)
    salt = pepper = 0
    if layout.spatial > 1 and min(layout.picture_shape[: layout.spatial][-2:]) >= MIN_SIDE:
        for plane, here in zip(layout.planes(pixels), layout.planes(mask), strict=True):
            if plane.min() < plane.max():
                found = _find(plane)
                here[found.row, found.column] = True
                salt += int((found.sign > 0).sum())
                pepper += int((found.sign < 0).sum())
    return Impulses(mask, salt, pepper)


def _find(plane: Pixels) -> _Suspects:
    """The impulses of a plane. Each round sees the surroundings without the impulses of the one before."""
    level = Level.of(plane, smallest_step(plane))
    limits = _limits(plane, level)
    settled: set[tuple[Rule, int]] = set()
    found = _round(plane, plane, level, limits, settled)
    for share in AGAIN:
        if len(found) <= share * plane.size:
            break
        clean = plane.astype(np.result_type(plane, np.float32))
        clean[found.row, found.column] = found.centre
        found = _round(plane, clean, Level.of(clean, level.step), limits, settled)
    return found


def _round(plane: Pixels, clean: Pixels, level: Level, limits: Limits, settled: set[tuple[Rule, int]]) -> _Suspects:
    parts = [_suspects(plane, clean, first, level, limits) for first in bands(plane)]
    suspects = _Suspects(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(_Suspects)))
    return suspects.where(_impulses(suspects, plane.shape, settled))


@dataclass(frozen=True, eq=False)
class _Suspects:
    """Pixels that may be impulses, one entry each; distances are in spreads of the surroundings."""

    row: NDArray[np.int32]
    column: NDArray[np.int32]
    sign: NDArray[np.int8]  # 1: brighter than the surroundings, -1: darker
    centre: Floats  # median of the surroundings
    distance: Ratios  # from that median
    clear: Ratios  # between that median and the limit on that side
    beside: Ratios  # to the limit; infinite if that is not near
    height: Ratios  # above the pixels two steps away
    lean: Ratios  # of the neighbours, above the pixels two steps away: they follow
    crowd: Ratios  # of the highest neighbour above the median of the neighbours
    foot: Ratios  # of the lowest of four neighbours, above the pixels two steps away: that of a star is high
    twins: NDArray[np.int8]  # neighbours of the same value

    def __len__(self) -> int:
        return len(self.row)

    def where(self, chosen: Flags) -> _Suspects:
        kept = np.flatnonzero(chosen)
        return _Suspects(*(getattr(self, field.name).take(kept) for field in fields(self)))

    @property
    def alone(self) -> Flags:
        """Whether no neighbour is high, and all of them together are not."""
        steep = (self.crowd <= 0.25 * self.height + 2) & (np.abs(self.lean) <= 0.1 * self.height + 2)
        return steep & ~self.stellar

    @property
    def stellar(self) -> Flags:
        """Whether the pixel is the top of a narrow star: all of its four neighbours stand out."""
        return self.foot > FOOT * self.height


Rule = Callable[[_Suspects, Shape, float], Flags]  # suspects of one sign, shape of the plane and trust to impulses


def _impulses(suspects: _Suspects, shape: Shape, settled: set[tuple[Rule, int]]) -> Flags:
    """Which suspects are impulses, in a plane of this shape. Bright and dark ones are judged apart.

    What a rule has found is `settled`: after that it only says which pixels they are, and for those of the other sign
    it needs less evidence, because salt and pepper come together.
    """
    impulses = np.zeros(len(suspects), np.bool_)
    for rule in (_at_limit, _slow_tail):
        for sign in (1, -1):
            left = ~impulses & (suspects.sign == sign)
            trust = math.inf if (rule, sign) in settled else PAIRED if (rule, -sign) in settled else 1.0
            found = rule(suspects.where(left), shape, trust)
            if found.any():
                settled.add((rule, sign))
            impulses[left] = found
    return impulses


def _at_limit(suspects: _Suspects, shape: Shape, trust: float) -> Flags:
    """Impulses that share one value, a limit: mostly the lowest or highest of the plane.

    White noise that a limit clips at z spreads puts about `1 / (exp(z / 2 + 1 / 8) - 1)` pixels at the limit for each
    one within half a spread beside it: one for z = 1, a quarter for z = 3.
    """
    at, beside, clear = suspects.beside == 0, suspects.beside > 0, suspects.clear.astype(np.float64)
    beside &= np.isfinite(suspects.beside)
    spike = [int((at & (clear >= z)).sum()) - EXCESS / trust * int((beside & (clear >= z)).sum()) for z in CLEAR]
    chosen = suspects.where(at & (clear >= CLEAR[int(np.argmax(spike))]))
    if max(spike) < FEWEST or not _is_random(chosen, chosen.twins == 0, int(at.sum()), shape, trust):
        return np.zeros_like(at)
    at &= clear >= UNCLEAR
    order = np.flatnonzero(at | beside)
    order = order[np.argsort(-clear[order], kind="stable")]
    noise = 1 / np.expm1(NEAR * (np.minimum(clear[order], MOST_CLEAR) + NEAR / 2))
    balance = np.cumsum(np.where(at[order], 1.0, -SURPLUS * noise))
    return np.asarray(at & (clear >= clear[order[np.argmax(balance)]]))


def _slow_tail(suspects: _Suspects, shape: Shape, trust: float) -> Flags:
    """Impulses of any value, where the number of distant pixels falls too slowly with the distance.

    Of n pixels beyond a distance t, the sum of `log(distance / t)` is `n / a` on average if numbers fall as the power
    -a, with a standard deviation of `sqrt(n) / a`.
    """
    alone = suspects.alone & (suspects.distance > FAR)
    distance = np.sort(suspects.distance[alone])[::-1].astype(np.float64)
    if not len(distance):
        return alone
    n = np.arange(1, len(distance) + 1)
    beyond = np.append(distance[1:], FAR)
    excess = np.cumsum(np.log(distance)) - n * np.log(beyond) - (n + SURE * np.sqrt(n)) / TAIL
    best = int(np.argmax(excess))
    chosen = np.asarray((suspects.distance >= distance[best]) & ~suspects.stellar)
    many, size = int(chosen.sum()), shape[0] * shape[1]
    if excess[best] < FIRST / trust or not _is_random(suspects.where(chosen), alone[chosen], many, shape, trust):
        return np.zeros_like(chosen)
    outnumbered = OUTNUMBER[0] * math.sqrt(2 * math.log(OUTNUMBER[1] * size / many))
    if many <= DENSE * size:
        return np.asarray(chosen & alone & (suspects.distance >= outnumbered))
    edges = np.geomspace(FAR, distance[best], VALLEY + 1)
    valley = float(edges[1 + int(np.argmin(np.histogram(distance, edges)[0]))])
    return np.asarray(suspects.distance >= max(valley, outnumbered))


def _is_random(suspects: _Suspects, alone: Flags, many: int, shape: Shape, trust: float) -> bool:
    """Whether suspects lie as `many` pixels drawn at random do, and their neighbours do not follow them."""
    size = shape[0] * shape[1]
    if alone.mean() < LONELINESS * (1 - many / size) ** len(INNER):
        return False
    tile = suspects.row.astype(np.intp) // TILE * shape[1] + suspects.column // TILE
    for group, n_groups in ((tile, size / TILE**2), (suspects.row, shape[0]), (suspects.column, shape[1])):
        counts = np.bincount(group).astype(np.float64)
        if float(counts @ (counts - 1)) > trust * CROWDED * (len(suspects) ** 2 / n_groups + 1):
            return False  # in clusters, rows or columns
    height, lean = (each[alone].astype(np.float64) for each in (suspects.height, suspects.lean))
    energy = float(height @ height)
    return abs(float(height @ lean)) + math.sqrt(energy) < trust * FOLLOWED * energy  # error of a lean: half a spread


def _suspects(plane: Pixels, clean: Pixels, first: int, level: Level, limits: Limits) -> _Suspects:
    """The suspects of a band. Their surroundings are measured in a copy of the plane that may be `clean` already."""
    pixels = np.asarray(plane[first : first + bands(plane).step], np.float64)
    padded = padded_band(clean, first)
    centre, scale = level.measure(padded)
    sign = np.where(pixels > centre, 1, -1).astype(np.int8)
    limit = np.where(sign > 0, limits[1], limits[0])
    distance, clear, beside = _ratios(scale, np.abs(pixels - centre), sign * (limit - centre), np.abs(limit - pixels))
    twins = np.asarray(np.sum([each == pixels for each in shifted(padded, INNER)], axis=0, dtype=np.int8))
    is_near = (clear >= UNCLEAR) & (beside <= np.maximum(NEAR, 2.01 * level.step / scale))
    is_near = np.where(beside == 0, twins < CLUSTER, is_near)
    here = np.nonzero((distance > FAR) | is_near)
    sign = sign[here]
    inner, outer = (ranked([each[here] for each in shifted(padded, offsets)]) for offsets in (INNER, OUTER))
    middle, far = median(inner), median(outer)
    highest = np.where(sign > 0, inner[-1], inner[0])
    beside_it = ranked([each[here] for each in shifted(padded, CROSS)])
    lowest = np.where(sign > 0, beside_it[0], beside_it[-1])
    lengths = (pixels[here] - far, middle - far, highest - middle, lowest - far)
    height, lean, crowd, foot = _ratios(sign * scale[here], *lengths)
    return _Suspects(
        row=(here[0] + first).astype(np.int32),
        column=here[1].astype(np.int32),
        sign=sign,
        centre=centre[here],
        distance=distance[here],
        clear=clear[here],
        beside=np.where(is_near[here], beside[here], np.float32(np.inf)),
        height=height,
        lean=lean,
        crowd=crowd,
        foot=foot,
        twins=twins[here],
    )


def _ratios(unit: Floats, *lengths: Floats) -> tuple[Ratios, ...]:
    return tuple(np.round(np.clip(length / unit, -MOST, MOST), DIGITS).astype(np.float32) for length in lengths)


def _limits(plane: Pixels, level: Level) -> Limits:
    """The values that dark and bright impulses may share: the most frequent far ones, or the extremes of the plane."""
    far: tuple[list[Floats], list[Floats]] = [], []
    for padded in sample_bands(plane):
        pixels = shifted(padded, ((0, 0),))[0]
        centre, scale = level.measure(padded)
        for side, sign in zip(far, (-1, 1), strict=True):
            side.append(pixels[sign * (pixels - centre) > FAR * scale])
    found = [np.unique(np.concatenate(side), return_counts=True) for side in far]
    low, high = (
        float(values[np.argmax(counts)]) if counts.max(initial=0) >= FEWEST else float(extreme)
        for (values, counts), extreme in zip(found, (plane.min(), plane.max()), strict=True)
    )
    return low, high
