"""The argument checks: what passes, what is refused, and that the message names the argument."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest

from epitomes import checks

LOSSLESS = [
    (np.uint8, np.float32),
    (np.int8, np.float32),
    (np.uint16, np.float32),
    (np.int16, np.float32),
    (np.int32, np.float64),
    (np.uint32, np.float64),
    (np.float16, np.float32),
    (np.float32, np.float32),
    (np.float64, np.float64),
]


@pytest.mark.parametrize(("given", "ours"), LOSSLESS)
def test_floats_keep_every_value(given, ours) -> None:
    limits = np.finfo(given) if np.dtype(given).kind == "f" else np.iinfo(given)
    values = np.array([limits.min, 0, 1, limits.max], given)
    for order in ("<", ">"):
        result = checks.as_floats("x", values.astype(values.dtype.newbyteorder(order)))
        assert result.dtype == ours and result.dtype.isnative
        np.testing.assert_array_equal(result, values.astype(np.float64))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_clean_floats_come_back_as_they_are(dtype) -> None:
    clean = np.arange(12, dtype=dtype).reshape(3, 4)
    assert np.shares_memory(checks.as_floats("x", clean), clean)
    assert np.shares_memory(checks.as_floats("x", clean, ndim=2, dtype=dtype), clean)
    clean.flags.writeable = False
    assert np.shares_memory(checks.as_floats("x", clean), clean)


@pytest.mark.parametrize(
    "layout",
    [np.asfortranarray, lambda a: a[::-1], lambda a: a[:, ::2], lambda a: a.T, lambda a: a.astype(">f8")],
    ids=["fortran", "reversed", "stepped", "transposed", "big-endian"],
)
def test_other_layouts_are_copied_and_kept(layout) -> None:
    given = layout(np.arange(12.0).reshape(3, 4))
    before = given.tobytes()
    result = checks.as_floats("x", given)
    assert result.flags.c_contiguous and result.dtype == np.float64 and result.dtype.isnative
    np.testing.assert_array_equal(result, given)
    result[...] = -1
    assert given.tobytes() == before


def test_floats_keep_the_shape_also_of_numbers() -> None:
    assert checks.as_floats("x", 3).shape == ()
    assert checks.as_floats("x", [[1, 2]]).shape == (1, 2)
    assert checks.as_floats("x", [1, 2], dtype=np.float32).dtype == np.float32


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (np.zeros(3, complex), TypeError, "x must hold real numbers, got dtype complex128"),
        (np.zeros(3, bool), TypeError, "x must hold real numbers, got dtype bool"),
        (["a"], TypeError, "x must hold real numbers"),
        ([None], TypeError, "x must hold real numbers, got dtype object"),
        (None, TypeError, "x must hold real numbers, got dtype object"),
        (np.zeros((0, 4)), ValueError, r"x is empty: its shape is \(0, 4\)"),
        ([[1.0, np.nan], [np.inf, 2]], ValueError, r"x holds 2 NaN or infinite values, the first at index \(0, 1\)"),
        (np.array(np.nan), ValueError, r"x holds 1 NaN or infinite values, the first at index \(\)"),
    ],
)
def test_floats_refused(value, kind, words) -> None:
    with pytest.raises(kind, match=words):
        checks.as_floats("x", value)


@pytest.mark.parametrize("source", [np.float32, np.float64])
@pytest.mark.parametrize("goal", [np.uint8, np.int8, np.uint16, np.int16, np.int32, np.uint32, np.int64, np.uint64])
def test_integers_are_rounded_and_clipped(goal, source) -> None:
    limits = np.iinfo(goal)
    low, high = source(limits.min), source(limits.max)  # a float above the limit where the limit is not a float itself
    given = np.array([low, 0.4, 0.6, 1.5, 2.5, 99.7, high, 1e30, -1e30], source)
    result = checks.as_dtype(given, goal)
    top = int(high) if int(high) <= limits.max else int(np.nextafter(high, source(0)))
    assert result.dtype == goal
    assert result.tolist() == [int(low), 0, 1, 2, 2, 100, top, top, int(low)]


def test_large_arrays_are_converted_in_slabs(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    values = rng.normal(100, 90, (3, 5, 7))
    monkeypatch.setattr(checks, "SLAB", 8)
    for given in (values, np.asfortranarray(values), values[:, ::-1]):
        np.testing.assert_array_equal(checks.as_dtype(given, np.uint8), np.rint(given).clip(0, 255))


def test_floats_are_kept_or_clipped() -> None:
    values = np.array([0.1, -2.5, 1e300])
    assert checks.as_dtype(values, np.float64) is values
    single = values[:2].astype(np.float32)
    np.testing.assert_array_equal(checks.as_dtype(single, np.float64), single)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype in (np.float16, np.float32):
            expected = [dtype(0.1), dtype(-2.5), np.finfo(dtype).max]
            np.testing.assert_array_equal(checks.as_dtype(values, dtype), expected)
    with pytest.raises(TypeError, match="dtype must be a real dtype, got complex128"):
        checks.as_dtype(values, complex)


def test_floats_of_another_rank() -> None:
    with pytest.raises(ValueError, match=r"x needs 2 axes, got shape \(3,\)"):
        checks.as_floats("x", [1, 2, 3], ndim=2)


def test_masks() -> None:
    mask = np.array([[True, False], [False, True]])
    assert np.shares_memory(checks.as_mask("m", mask, (2, 2)), mask)
    assert checks.as_mask("m", mask[:, ::-1], (2, 2)).flags.c_contiguous
    assert checks.as_mask("m", [True, False], (2,)).dtype == np.bool_
    with pytest.raises(TypeError, match=r"m must be a bool array .*, got dtype int64"):
        checks.as_mask("m", mask.astype(np.int64), (2, 2))
    with pytest.raises(ValueError, match=r"m needs shape \(2, 3\), got \(2, 2\)"):
        checks.as_mask("m", mask, (2, 3))


def test_shapes() -> None:
    assert checks.as_shape("s", 4) == (4,)
    assert checks.as_shape("s", 4, ndim=3) == (4, 4, 4)
    assert checks.as_shape("s", np.int32(4), ndim=2) == (4, 4)
    assert checks.as_shape("s", [2, np.uint8(3)]) == (2, 3)
    assert checks.as_shape("s", np.array([2, 3]), ndim=2) == (2, 3)
    assert all(type(length) is int for length in checks.as_shape("s", np.array([2, 3])))


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (0, ValueError, "s must be at least 1, got 0"),
        (-3, ValueError, "s must be at least 1, got -3"),
        ((3, 0), ValueError, "each length of s must be at least 1, got 0"),
        ((3, 2.0), TypeError, "each length of s must be a whole number, got 2.0"),
        ((3, True), TypeError, "each length of s must be a whole number, got True"),
        (True, TypeError, "s must be a whole number, got True"),
        ("88", TypeError, "each length of s must be a whole number, got '8'"),
        ((), ValueError, r"s needs at least one length, got \(\)"),
        ((2**31, 2**31), OverflowError, "more than any memory can hold"),
        (2**200, OverflowError, "more than any memory can hold"),
    ],
)
def test_shapes_refused(value, kind, words) -> None:
    with pytest.raises(kind, match=words):
        checks.as_shape("s", value)


def test_shapes_of_another_rank() -> None:
    with pytest.raises(ValueError, match=r"s needs 2 lengths, got \(1, 2, 3\)"):
        checks.as_shape("s", (1, 2, 3), ndim=2)


def test_whole_numbers() -> None:
    assert checks.whole("k", np.int8(3), least=0) == 3
    assert type(checks.whole("k", np.int8(3), least=0)) is int
    assert checks.whole("k", -2, least=-2) == -2
    for value in (1.0, np.float32(1), "1", None, True, np.bool_(True), [1]):
        with pytest.raises(TypeError, match="k must be a whole number, got"):
            checks.whole("k", value, least=0)
    with pytest.raises(ValueError, match="k must be at least 0, got -1"):
        checks.whole("k", -1, least=0)


def test_positive_numbers() -> None:
    assert checks.positive("lam", np.float32(0.5)) == 0.5
    assert checks.positive("lam", 2) == 2.0
    assert type(checks.positive("lam", np.int64(2))) is float
    assert checks.positive("lam", 0, zero=True) == 0.0
    for value in (0, 0.0, -1, np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match="lam must be a finite number > 0, got"):
            checks.positive("lam", value)
    with pytest.raises(ValueError, match="lam must be a finite number >= 0, got -1"):
        checks.positive("lam", -1, zero=True)
    for value in ("1", None, True, np.bool_(True), 1j, [1.0], Fraction(1, 2)):
        with pytest.raises(TypeError, match="lam must be a number, got"):
            checks.positive("lam", value)


def test_unaligned_arrays_are_copied() -> None:
    """Native code reads floats where it expects them: at addresses that are multiples of their size."""
    room = np.zeros(8 * 6 + 1, np.uint8)
    assert checks.as_floats("x", room[1:].view(np.float64)).flags.aligned


def test_masked_values_are_refused() -> None:
    with pytest.raises(ValueError, match="x"):
        checks.as_floats("x", np.ma.array([1.0, 2.0], mask=[False, True]))


def test_values_that_become_infinite_by_conversion() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"x .*float32"):
            checks.as_floats("x", [1e300], dtype=np.float32)


@pytest.mark.parametrize("value", [None, 2.5, np.array(3)], ids=repr)
def test_shapes_that_cannot_be_read(value) -> None:
    if isinstance(value, np.ndarray):
        assert checks.as_shape("s", value) == (3,)
    else:
        with pytest.raises(TypeError, match="s must be"):
            checks.as_shape("s", value)


def test_positive_names_an_int_beyond_floats() -> None:
    with pytest.raises(ValueError, match="lam must be a finite number"):
        checks.positive("lam", 10**400)


def test_ragged_lists_are_named() -> None:
    with pytest.raises(ValueError, match="x "):
        checks.as_floats("x", [[1, 2], [3]])
