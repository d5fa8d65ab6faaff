"""Argument checks. Their messages say which argument is wrong, what was expected, what was given and what to do.

Public functions check their arguments before any work. Checked arrays are native-endian, C-contiguous floats. An array
that already is, is returned as it is: nothing is copied twice, and arrays of the caller are never changed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

Array = NDArray[np.floating[Any]]  # float32 or float64
Shape = int | Sequence[int] | NDArray[np.integer[Any]]
RNG = np.random.Generator | int | None  # type of `rng`; `as_seed` converts it to an int

Pixels = TypeVar("Pixels", bound=NDArray[Any])

_MOST_VALUES = 2**44  # of eight bytes: the address space of a process
SLAB = 2**20  # values that are converted at once


def as_floats(name: str, value: ArrayLike, *, ndim: int | None = None, dtype: DTypeLike | None = None) -> Array:
    """Convert `value` to a finite, native, aligned, C-contiguous float32 or float64 array.

    Integers of 8 and 16 bits become float32. Wider integers and floats become float64, unless `dtype` is given.
    """
    array = require_real(name, value)
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{name} needs {ndim} axes, got shape {array.shape}")
    fits_single = array.dtype.itemsize <= (4 if array.dtype.kind == "f" else 2)
    goal = np.dtype((np.float32 if fits_single else np.float64) if dtype is None else dtype)
    require_finite(name, array)
    with np.errstate(over="ignore"):
        floats = np.require(array, dtype=goal, requirements=["C", "A"])
    if floats is not array and not np.isfinite(floats).all():
        raise ValueError(f"{name} holds values too large for {goal}: the largest is {np.abs(array).max():.3g}")
    return floats


def as_dtype(values: Array, dtype: DTypeLike) -> NDArray[Any]:
    """Convert finite floats to the dtype of an image: rounded for integers, clipped to what the dtype can hold."""
    goal = np.dtype(dtype)
    if goal == values.dtype:
        return values
    if goal.kind not in "fiu":
        raise TypeError(f"dtype must be a real dtype, got {goal}")
    limits = np.iinfo(goal) if goal.kind in "iu" else np.finfo(goal)
    if goal.kind == "f" and np.can_cast(values.dtype, goal):
        return values.astype(goal)
    low, high = values.dtype.type(limits.min), values.dtype.type(limits.max)
    if goal.kind in "iu" and int(high) > limits.max:  # float64 rounds 2**63 - 1 up to 2**63, which does not fit
        high = np.nextafter(high, values.dtype.type(0))
    result = np.empty(values.shape, goal)
    lines, slabs = values.reshape(-1), result.reshape(-1)
    for first in range(0, lines.size, SLAB):  # a copy of a whole volume would double its memory
        part = lines[first : first + SLAB]
        slabs[first : first + SLAB] = np.clip(np.rint(part) if goal.kind in "iu" else part, low, high).astype(goal)
    return result


def require_real(name: str, value: ArrayLike) -> NDArray[Any]:
    """`value` as an array of real numbers, not empty, in its own dtype; values need not be finite."""
    array = _as_array(name, value)
    if array.dtype.kind not in "fiu":
        raise TypeError(
            f"{name} must hold real numbers, got dtype {array.dtype}: convert it with .astype(float) if intended"
        )
    if array.size == 0:
        raise ValueError(f"{name} is empty: its shape is {array.shape}")
    return array


def _as_array(name: str, value: ArrayLike) -> NDArray[Any]:
    if isinstance(value, np.ma.MaskedArray) and (hidden := int(np.ma.getmaskarray(value).sum())):
        raise ValueError(
            f"{name} has {hidden} masked values, which would be used as they are: fill them first, "
            "for example with .filled(), or pass a mask"
        )
    try:
        return np.asarray(value)
    except ValueError as error:  # the message of NumPy does not name the argument
        raise ValueError(f"{name} is not an array of equal rows: {error}") from None


def require_finite(name: str, array: NDArray[Any]) -> None:
    """Refuse NaN and infinite values, and report their number and the index of the first one."""
    if array.dtype.kind != "f" or (array.size and np.isfinite(array.max()) and np.isfinite(array.min())):
        return  # finite extremes imply finite values: no mask of the size of the image is needed
    bad = ~np.isfinite(array)
    first = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), array.shape))
    raise ValueError(
        f"{name} holds {int(bad.sum())} NaN or infinite values, the first at index {first}: replace or mask them first"
    )


def read_only(array: Pixels) -> Pixels:
    """Return a read-only view; the array itself, which may belong to the caller, stays writeable."""
    view: Pixels = array.view()
    view.flags.writeable = False
    return view


def as_mask(name: str, value: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Convert `value` to a C-contiguous bool array of exactly this shape."""
    mask = np.asarray(value)
    if mask.dtype != np.bool_:
        raise TypeError(f"{name} must be a bool array (True = keep), got dtype {mask.dtype}")
    if mask.shape != shape:
        raise ValueError(f"{name} needs shape {shape}, got {mask.shape}")
    return np.ascontiguousarray(mask)


def as_shape(name: str, value: Shape, *, ndim: int | None = None) -> tuple[int, ...]:
    """Convert `value` to a tuple of positive ints; a single int applies to all `ndim` axes."""
    if isinstance(value, (int, np.integer)) or (isinstance(value, np.ndarray) and value.ndim == 0):
        lengths = (whole(name, value, least=1),) * (1 if ndim is None else ndim)
    else:
        try:
            items = tuple(value)
        except TypeError:
            raise TypeError(f"{name} must be a whole number or a sequence of them, got {value!r}") from None
        lengths = tuple(whole(f"each length of {name}", length, least=1) for length in items)
    if ndim is not None and len(lengths) != ndim:
        raise ValueError(f"{name} needs {ndim} lengths, got {lengths}")
    if not lengths:
        raise ValueError(f"{name} needs at least one length, got ()")
    require_indexable(name, lengths)
    return lengths


def require_indexable(name: str, lengths: tuple[int, ...]) -> None:
    """Refuse sizes that no memory can hold, before anything is allocated."""
    if math.prod(lengths) > _MOST_VALUES:
        raise OverflowError(f"{name} {lengths} holds {math.prod(lengths)} values, more than any memory can hold")


def whole(name: str, value: SupportsIndex, *, least: int) -> int:
    """Convert `value` to an int of at least `least`; bools and floats are refused."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    return number


def positive(name: str, value: float, *, zero: bool = False) -> float:
    """Convert `value` to a finite positive float; zero is accepted if `zero` is True."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise ValueError(f"{name} must be a finite number {'>= 0' if zero else '> 0'}, got {number}")
    return number


def as_seed(rng: RNG) -> int:
    """Convert `rng` to a seed (SPEC 7): an int itself, a draw from a generator, or a random seed for None."""
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if rng is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(rng, (bool, np.bool_)) or not isinstance(rng, (int, np.integer)):
        raise TypeError(f"rng must be a numpy.random.Generator, an integer seed or None, got {rng!r}")
    return whole("rng", rng, least=0)


def one_of(name: str, value: str, allowed: Sequence[str]) -> str:
    """Return `value` if it is one of the allowed words."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value
