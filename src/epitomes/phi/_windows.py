"""The maps of the paper (section 2): their atoms are windows of index pictures, in any number of dimensions.

An epitome shape with as many axes as the patch means one epitome, `windows((20, 20), (8, 8))`. With one axis more, the
first axis counts several epitomes, `windows((5, 12, 12), (8, 8))`. Colour images and videos only have longer shapes:
`windows((16, 16, 3), (6, 6, 3))`, `windows((10, 12, 12), (4, 6, 6))`.
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
    """Create the map whose atoms are all overlapping patches of one or several epitomes.

    Parameters
    ----------
    epitome_shape : int or sequence of int
        Shape of the epitome. With one axis more than `patch_shape`, the first axis counts several epitomes.
    patch_shape : int or sequence of int
        Shape of a patch. A single number applies to every axis.
    border : {"valid", "periodic"} or sequence of these, optional
        With "valid" (default, used in the paper), windows lie inside the epitome. With "periodic", they continue on the
        opposite side. A sequence gives one word per axis of the patch. With a single "periodic", channels stay "valid":
        the last axis of a patch with at least three axes, if it is as long as that of the epitome.
    support : array_like of bool, optional
        Mask of shape `patch_shape`: the pixels of the patch that an atom contains. By default, all of them.

    Returns
    -------
    GatherPhi
        Map with one atom per window, in row order, one epitome after another.

    Raises
    ------
    ValueError
        If the patch does not fit in the epitome, or if a pixel is in no atom because of `support`.

    See Also
    --------
    flat : Plain dictionary.
    shift_invariant : Plain dictionary with shifted copies of each atom.
    turned : Add mirror images and quarter turns of the atoms.
    union : Combine maps of different kinds.

    Notes
    -----
    With valid borders, a corner pixel of the epitome is in one atom and a central pixel is in `m` atoms. With periodic
    borders, each pixel is in `m` atoms.

    References
    ----------
    .. [1] L. Benoît, J. Mairal, F. Bach, J. Ponce, "Sparse image representation with epitomes", CVPR 2011, section 2.

    Examples
    --------
    >>> from epitomes.phi import windows
    >>> windows((20, 20), (8, 8)).n_atoms
    169
    >>> windows((20, 20), (8, 8), border="periodic").n_atoms
    400
    >>> windows((5, 12, 12), (8, 8)).n_atoms  # five epitomes of 25 atoms each
    125
    >>> windows((16, 16, 3), (6, 6, 3)).n_atoms  # colour
    121
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
        pixels = pixels.take(
            np.arange(length) % pixels.shape[axis], axis=axis
        )  # periodic: the first pixels follow the last
    return GatherPhi(shape, patch, tuple(pixels), checked_support(support, patch))


def flat(n_atoms: int, patch_shape: Shape) -> GatherPhi:
    """Create the map of a plain dictionary, whose atoms share no pixels.

    Parameters
    ----------
    n_atoms : int
        Number of atoms.
    patch_shape : int or sequence of int
        Shape of a patch.

    Returns
    -------
    GatherPhi
        Map from `n_atoms` epitomes, each of the shape of a patch, to `n_atoms` atoms.

    See Also
    --------
    windows : Overlapping atoms.

    Examples
    --------
    >>> from epitomes.phi import flat
    >>> phi = flat(256, (8, 8))
    >>> phi.epitome_shape, phi.n_atoms
    ((256, 8, 8), 256)
    """
    patch = as_shape("patch_shape", patch_shape)
    return windows((whole("n_atoms", n_atoms, least=1), *patch), patch)


def shift_invariant(n_atoms: int, patch_shape: Shape, shift: Shape) -> GatherPhi:
    """Create the map of a shift-invariant dictionary: small epitomes, slightly larger than a patch.

    Parameters
    ----------
    n_atoms : int
        Number of epitomes.
    patch_shape : int or sequence of int
        Shape of a patch.
    shift : int or sequence of int
        How many pixels an epitome is larger than a patch, along each axis. Use 0 for channels.

    Returns
    -------
    GatherPhi
        Map in which each epitome gives the product of ``shift + 1`` over the axes as atoms.

    See Also
    --------
    windows : Overlapping atoms in general.

    Examples
    --------
    >>> from epitomes.phi import shift_invariant
    >>> phi = shift_invariant(50, (8, 8), 2)
    >>> phi.epitome_shape, phi.n_atoms
    ((50, 10, 10), 450)
    >>> shift_invariant(50, (8, 8, 3), (2, 2, 0)).epitome_shape  # colour
    (50, 10, 10, 3)
    """
    patch = as_shape("patch_shape", patch_shape)
    given = tuple(shift) if isinstance(shift, Iterable) else (shift,) * len(patch)
    room = tuple(whole("each length of shift", each, least=0) for each in given)
    if len(room) != len(patch):
        raise ValueError(f"shift needs {len(patch)} lengths, one per axis of the patch {patch}, got {room}")
    one = tuple(width + extra for width, extra in zip(patch, room, strict=True))
    return windows((whole("n_atoms", n_atoms, least=1), *one), patch)


def turned(phi: GatherPhi, *, quarter_turns: bool = True, flips: bool = True) -> GatherPhi:
    """Add the quarter turns and mirror images of all atoms, as further atoms of the same pixels.

    Parameters
    ----------
    phi : GatherPhi
        Map to extend. Its patches need two axes, or three with channels last.
    quarter_turns : bool, optional
        Whether to add rotations by multiples of 90 degrees.
    flips : bool, optional
        Whether to add mirror images. Without quarter turns, these are the two mirror images and the half turn.

    Returns
    -------
    GatherPhi
        Map whose first atoms are those of `phi`. With both options there are eight versions of each index picture;
        versions with the same windows as an earlier one are omitted.

    Raises
    ------
    ValueError
        If the patches have another number of axes, or if a patch does not fit in a turned picture.

    See Also
    --------
    rotated : Rotations by any angle, with interpolation.

    Examples
    --------
    >>> from epitomes.phi import turned, windows
    >>> phi = windows((20, 20), (8, 8))
    >>> phi.n_atoms, turned(phi).n_atoms, turned(phi, quarter_turns=False).n_atoms
    (169, 1352, 676)
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
    """Count the axes along which a patch of phi can be turned or scaled: all but a last one for channels."""
    return len(phi.patch_shape) - all(_has_channels(picture.shape, phi.patch_shape) for picture in phi.pictures)


def _has_channels(shape: tuple[int, ...], patch: tuple[int, ...]) -> bool:
    # Channels come after at least two axes, so that (height, width) is never read as (height, channels).
    return len(patch) >= 3 and shape[-1] == patch[-1]


def _windows_seen(picture: Index, patch: tuple[int, ...]) -> bytes:
    """Compute a digest of the set of windows of a picture, independent of their order."""
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
