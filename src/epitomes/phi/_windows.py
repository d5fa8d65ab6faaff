"""The maps of the paper, by name: all are windows of index pictures (paper, section 2).

The difference of rank between epitome and patch says which case it is, in any number of dimensions:
`windows((20, 20), (8, 8))` is one epitome and `windows((5, 12, 12), (8, 8))` is five of them; colour and video have
longer shapes, `windows((16, 16, 3), (6, 6, 3))` and `windows((10, 12, 12), (4, 6, 6))`, and nothing else.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from epitomes.checks import Shape, as_shape, whole
from epitomes.phi.gather import GatherPhi, Index, checked_support, count_windows
from epitomes.phi.protocol import require_table

Border = Literal["valid", "periodic"]


def windows(
    epitome_shape: Shape,
    patch_shape: Shape,
    *,
    border: Border | Sequence[Border] = "valid",
    support: ArrayLike | None = None,
) -> GatherPhi:
    """All windows of `patch_shape` pixels of one epitome, or of several along a leading axis.

    Valid borders, those of the paper, keep the windows inside: a corner pixel is in one atom, a central one in `m`.
    Periodic ones let them run over the edge to the other side: every pixel is in `m` atoms. Channels do not run
    into each other: with `border="periodic"`, a last axis that a patch of three axes or more fills stays valid.
    A border for each axis of the patch, such as `("periodic", "valid")`, says it all explicitly.
    `support` is a mask of the pixels that a patch holds; a single whole number as `patch_shape` stands for every axis.
    """
    shape = as_shape("epitome_shape", epitome_shape)
    alone = isinstance(patch_shape, (int, np.integer))
    patch = as_shape("patch_shape", patch_shape, ndim=len(shape) if alone else None)
    if len(shape) - len(patch) not in (0, 1):
        raise ValueError(
            f"patch_shape {patch} needs as many axes as epitome_shape {shape}, or one fewer when the first axis "
            "counts several epitomes"
        )
    one = shape[len(shape) - len(patch) :]
    _require_fit(shape, patch)
    over = tuple(
        width - 1 if each == "periodic" else 0 for width, each in zip(patch, _borders(border, one, patch), strict=True)
    )
    seen = tuple(n + extra for n, extra in zip(one, over, strict=True))
    n_epitomes = math.prod(shape) // math.prod(one)
    require_table("the index table", n_epitomes * count_windows(seen, patch), math.prod(patch))
    pixels = np.arange(math.prod(shape), dtype=np.intp).reshape(n_epitomes, *one)
    for axis, length in enumerate(seen, start=1):
        pixels = pixels.take(np.arange(length) % pixels.shape[axis], axis=axis)  # the first pixels follow the last
    return GatherPhi(shape, patch, tuple(pixels), checked_support(support, patch))


def flat(n_atoms: int, patch_shape: Shape) -> GatherPhi:
    """A plain dictionary: `n_atoms` epitomes of the size of the patch, so phi copies and nothing is shared."""
    patch = as_shape("patch_shape", patch_shape)
    return windows((whole("n_atoms", n_atoms, least=1), *patch), patch)


def shift_invariant(n_atoms: int, patch_shape: Shape, shift: Shape) -> GatherPhi:
    """A plain dictionary whose patterns may move: `n_atoms` epitomes, `shift` pixels larger than the patch per axis.

    Each pattern gives the product of `shift + 1` over the axes as atoms. Colour patches need a shift for each axis,
    with 0 for the channels: `shift_invariant(50, (8, 8, 3), (2, 2, 0))`.
    """
    patch = as_shape("patch_shape", patch_shape)
    given = tuple(shift) if isinstance(shift, Iterable) else (shift,) * len(patch)
    room = tuple(whole("each length of shift", each, least=0) for each in given)
    if len(room) != len(patch):
        raise ValueError(f"shift needs {len(patch)} lengths, one per axis of the patch {patch}, got {room}")
    one = tuple(width + extra for width, extra in zip(patch, room, strict=True))
    return windows((whole("n_atoms", n_atoms, least=1), *one), patch)


def turned(phi: GatherPhi, *, quarter_turns: bool = True, flips: bool = True) -> GatherPhi:
    """The atoms of `phi`, then their quarter turns and mirror images: more atoms of the same pixels.

    `flips` alone adds the two mirror images and the half turn that both make; with quarter turns there are seven
    more pictures for each. One that shows the windows of a picture already there, in any order, is left out.
    Patches need two axes, or three with channels last.
    """
    if not isinstance(phi, GatherPhi):
        raise TypeError(f"turned needs an index-table phi such as windows(...), got {type(phi).__name__}")
    axes = spatial_axes(phi)
    if axes != 2:
        raise ValueError(
            f"turned needs patches of two axes, or of three with channels last, got patch_shape {phi.patch_shape}"
        )
    patch = phi.patch_shape
    pictures = list(phi.pictures)
    known = {_windows_seen(picture, patch) for picture in pictures}
    for turns in (0, 1, 2, 3) if quarter_turns else (0, 2) if flips else (0,):
        for mirrored in (False, True) if flips else (False,):
            for original in phi.pictures:
                picture = np.rot90(np.flip(original, axis=1) if mirrored else original, turns)
                if picture.shape[0] < patch[0] or picture.shape[1] < patch[1]:
                    raise ValueError(
                        f"quarter turns need pictures that hold the patch {patch} both ways, and one of shape "
                        f"{original.shape} does not: use quarter_turns=False or larger epitomes"
                    )
                seen = _windows_seen(picture, patch)
                if seen not in known:
                    known.add(seen)
                    pictures.append(picture)
    return replace(phi, pictures=tuple(pictures))


def spatial_axes(phi: GatherPhi) -> int:
    """The axes along which a patch of phi can be turned or scaled: all but a last one for channels."""
    return len(phi.patch_shape) - all(_has_channels(picture.shape, phi.patch_shape) for picture in phi.pictures)


def _has_channels(shape: tuple[int, ...], patch: tuple[int, ...]) -> bool:
    # A picture has two axes at least before channels, so that (h, w) is never read as rows of channels.
    return len(patch) >= 3 and shape[-1] == patch[-1]


def _windows_seen(picture: Index, patch: tuple[int, ...]) -> bytes:
    """A digest of the set of windows of a picture: the same for the same windows in another order."""
    rows = sliding_window_view(picture, patch).reshape(-1, math.prod(patch))
    ordered = np.sort(np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1] * rows.itemsize))), axis=0)
    return hashlib.blake2b(ordered.tobytes()).digest()


def _require_fit(shape: tuple[int, ...], patch: tuple[int, ...]) -> None:
    several = len(shape) - len(patch)
    for axis, width in enumerate(patch, start=several):
        if shape[axis] < width:
            leading = f" (axis 0 counts the {shape[0]} epitomes)" if several else ""
            raise ValueError(
                f"patch_shape {patch} does not fit in epitome_shape {shape}{leading}: "
                f"axis {axis} needs at least {width} pixels, got {shape[axis]}"
            )


def _borders(border: Border | Sequence[Border], shape: tuple[int, ...], patch: tuple[int, ...]) -> list[str]:
    words: list[str]
    if isinstance(border, str):
        words = [border] * len(patch)
        if _has_channels(shape, patch):
            words[-1] = "valid"
    elif isinstance(border, Sequence):
        words = list(border)
    else:
        raise TypeError(f'border must be "valid", "periodic" or one of them for each axis, got {border!r}')
    if len(words) != len(patch):
        raise ValueError(f"border needs one word, or one for each axis of the patch {patch}, got {border!r}")
    for word in words:
        if word not in ("valid", "periodic"):
            raise ValueError(f'border must be "valid" or "periodic", got {word!r}')
    return words
