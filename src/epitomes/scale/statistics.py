"""Statistics: what the dictionary step needs to know about the pictures of one shard, one round or one laboratory.

They are the sums of `learn.moments`, with what they are sums of: the epitome and the lambda of the codes, and the kind
of the pictures. Statistics of different pictures can be added. They hold no picture and no patch.
"""

from __future__ import annotations

import hashlib
import math
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from epitomes.described_file import as_json
from epitomes.epitome import Epitome
from epitomes.learn import Moments
from epitomes.learn._identity import identity
from epitomes.scale._collection import Kind

Sums = NDArray[np.float64]

MOST_NAMED = 1000  # pictures that are skipped and named; others are counted


@dataclass(frozen=True)
class Skipped:
    """A picture that could not be used.

    Parameters
    ----------
    name : str
        Name of the picture.
    reason : str
        Why it was skipped, on one line.

    Examples
    --------
    >>> from epitomes.scale import Skipped
    >>> Skipped("scan.tif", "it is cut short").name
    'scan.tif'
    """

    name: str
    reason: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Statistics:
    """Sums over the coded patches of some pictures, and what they were coded with.

    With n patches X of m pixels as rows and codes A on p atoms. `code_shard` computes them, `merge` adds them.

    Parameters
    ----------
    epitome : Epitome
        Epitome that the patches were coded with.
    lam : float
        Regularisation parameter lambda of the codes.
    kind : Kind
        Values and channels of the pictures.
    cross : ndarray of shape (p, m)
        ``A'X``.
    gram : ndarray of shape (p (p + 1) / 2,)
        Upper triangle of ``A'A``, row by row.
    mass : ndarray of shape (p,)
        Column sums of ``|A|``.
    energy : float
        ``|X|^2``, the sum of squares of the patches.
    count : int
        Number of patches n.
    n_nonzero : int
        Number of coefficients that are not zero.
    n_pictures : int
        Number of pictures the patches were taken from.
    n_skipped : int
        Number of pictures that could not be used.
    skipped : tuple of Skipped
        Their names, at most a thousand.
    crc : int, optional
        Checksum of the sums, set by `sealed`.

    See Also
    --------
    merge : Add statistics.
    save_statistics : Save statistics to a file.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.learn import smooth_noise
    >>> from epitomes.phi import windows
    >>> from epitomes.scale import collection, code_shard
    >>> epitome = smooth_noise(windows((8, 8), (4, 4)))
    >>> images = collection(np.random.default_rng(0).normal(0, 9, (6, 20, 20)), n_axes=2)
    >>> statistics = code_shard(epitome, images.shard(0), lam=9.0, sample=50)
    >>> statistics.count, statistics.n_pictures, statistics.gram.shape
    (300, 6, (325,))
    """

    epitome: Epitome
    lam: float
    kind: Kind
    cross: Sums
    gram: Sums
    mass: Sums
    energy: float
    count: int
    n_nonzero: int
    n_pictures: int
    n_skipped: int = 0
    skipped: tuple[Skipped, ...] = ()
    crc: int | None = None

    @cached_property
    def key(self) -> str:
        """Digest of phi, epitome, lambda and kind of pictures: statistics can be added if it is the same."""
        about = {"phi": identity(self.epitome.phi), "lam": float(self.lam).hex(), "kind": str(self.kind)}
        pixels = np.ascontiguousarray(self.epitome.pixels, np.float64)
        return hashlib.sha256(as_json(about).encode() + pixels.tobytes()).hexdigest()

    @property
    def moments(self) -> Moments:
        """The sums in the form that a dictionary step takes."""
        return Moments(unpacked(self.gram), self.cross, self.mass, self.energy, float(self.count))

    def sealed(self) -> Statistics:
        """Return the same statistics with their checksum.

        Returns
        -------
        Statistics
            A copy that `damage` can check.
        """
        return replace(self, crc=self._checksum())

    def damage(self) -> str:
        """Say what is wrong with the sums.

        Returns
        -------
        str
            A few words, empty if every sum is finite and the checksum is right.
        """
        if not math.isfinite(self.energy) or not all(
            math.isfinite(float(sums.sum())) and np.isfinite(sums).all() for sums in (self.cross, self.gram, self.mass)
        ):
            return "its statistics hold NaN or infinite values"
        return "" if self.crc is None or self.crc == self._checksum() else "its statistics have a wrong checksum"

    def _checksum(self) -> int:
        numbers = struct.pack("<dqqqq", self.energy, self.count, self.n_nonzero, self.n_pictures, self.n_skipped)
        crc = zlib.crc32(numbers)
        for sums in (self.cross, self.gram, self.mass):
            crc = zlib.crc32(np.ascontiguousarray(sums).reshape(-1).view(np.uint8).data, crc)
        return crc


def merge(one: Statistics, other: Statistics) -> Statistics:
    """Add the statistics of different pictures.

    Parameters
    ----------
    one, other : Statistics
        Statistics of patches that were coded with the same epitome and the same lambda.

    Returns
    -------
    Statistics
        The statistics of all pictures together.

    Raises
    ------
    ValueError
        If phi, the epitome, lambda or the kind of pictures differ. The message says which.

    See Also
    --------
    pairwise : Add many statistics in a fixed order.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.learn import smooth_noise
    >>> from epitomes.phi import windows
    >>> from epitomes.scale import code_shard, collection, merge
    >>> epitome = smooth_noise(windows((8, 8), (4, 4)))
    >>> images = collection(np.random.default_rng(0).normal(0, 9, (6, 20, 20)), n_axes=2, shard_size=3)
    >>> halves = [code_shard(epitome, images.shard(i), lam=9.0, sample=50) for i in (0, 1)]
    >>> merge(*halves).count
    300
    """
    if one.key != other.key:
        raise ValueError(f"these statistics cannot be added: {_difference(one, other)}")
    merged = replace(
        one,
        cross=one.cross + other.cross,
        gram=one.gram + other.gram,
        mass=one.mass + other.mass,
        energy=one.energy + other.energy,
        count=one.count + other.count,
        n_nonzero=one.n_nonzero + other.n_nonzero,
        n_pictures=one.n_pictures + other.n_pictures,
        n_skipped=one.n_skipped + other.n_skipped,
        skipped=(one.skipped + other.skipped)[:MOST_NAMED],
        crc=None,
    )
    merged.__dict__["key"] = one.key  # known: its digest reads the whole index table of phi
    return merged


def pairwise(parts: Iterable[Statistics | None]) -> Statistics | None:
    """Add statistics by a tree whose form depends on their places alone.

    Parameters
    ----------
    parts : iterable of Statistics or None
        Statistics in the order of their shards. None stands for a shard that failed.

    Returns
    -------
    Statistics or None
        The sum, None if there is nothing to add. At most one result per level of the tree is in memory.

    See Also
    --------
    merge : Add two statistics.

    Notes
    -----
    Shards 0 and 1, 2 and 3, and so on are added first, then pairs of these sums, and so on. Rounding errors grow with
    the logarithm of the number of shards, and the bits of the sum do not depend on which worker was faster.

    Examples
    --------
    >>> from epitomes.scale import pairwise
    >>> pairwise([None, None]) is None
    True
    """
    levels: list[Statistics | None] = []  # as the digits of a binary number: one sum of 2**level shards, or nothing
    filled: list[bool] = []
    for part in parts:
        carry, level = part, 0
        while level < len(levels) and filled[level]:
            carry, levels[level], filled[level] = _plus(levels[level], carry), None, False
            level += 1
        if level == len(levels):
            levels.append(None)
            filled.append(False)
        levels[level], filled[level] = carry, True
    total: Statistics | None = None
    for each in levels:  # the later and smaller sums first
        total = _plus(each, total)
    return total


def packed(gram: Sums) -> Sums:
    """Return the upper triangle of a symmetric matrix, row by row."""
    return np.concatenate([row[number:] for number, row in enumerate(gram)])


def unpacked(triangle: Sums) -> Sums:
    """Return the symmetric matrix of an upper triangle."""
    side = side_of(len(triangle))
    gram = np.empty((side, side))
    first = 0
    for number in range(side):
        row = triangle[first : first + side - number]
        gram[number, number:] = row
        gram[number:, number] = row
        first += side - number
    return gram


def side_of(length: int) -> int:
    """Return the side of the matrix whose upper triangle has that many entries."""
    return (math.isqrt(8 * length + 1) - 1) // 2


def _plus(one: Statistics | None, other: Statistics | None) -> Statistics | None:
    if one is None or other is None:
        return other if one is None else one
    return merge(one, other)


def _difference(one: Statistics, other: Statistics) -> str:
    """Return what differs, and what to do."""
    if identity(one.epitome.phi) != identity(other.epitome.phi):
        return f"their phi differ, {one.epitome.phi!r} and {other.epitome.phi!r}: code with the same epitome file"
    if one.lam != other.lam:
        return f"their lambda differ, {one.lam:g} and {other.lam:g}: code with the same lambda"
    if one.kind != other.kind:
        return f"their pictures differ, {one.kind} and {other.kind}: convert them to the same values and channels"
    return "they were coded with different epitomes of the same shape: code with the same epitome file"
