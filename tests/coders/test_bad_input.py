"""Arrays as people have them: a clear error, or what a clean copy gives; and nothing of the caller is changed."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from coder_cases import ONE_OF_EACH
from numpy.typing import NDArray
from scipy.sparse import csr_array

from epitomes.coders import OLS, OMP, Lasso, LassoLARS
from epitomes.dictionary import Dictionary

EVERY = pytest.mark.parametrize("coder", ONE_OF_EACH, ids=lambda coder: type(coder).__name__)
REFUSED = (ValueError, TypeError)
Raw = NDArray[Any]


@pytest.fixture
def rows(rng: np.random.Generator) -> Raw:
    return rng.standard_normal((8, 12))


@pytest.fixture
def atoms(rng: np.random.Generator) -> Raw:
    return rng.standard_normal((20, 12))


@EVERY
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_finite(coder: Any, value: float, rows: Raw, atoms: Raw) -> None:
    for good, at in ((rows, [(2, 3), (2, 7), (5, 0)]), (atoms, [(2, 3), (9, 7), (15, 0)])):
        bad = good.copy()
        for index in at:
            bad[index] = value
        with pytest.raises(ValueError, match=r"3 .*\(2, 3\)"):
            coder.encode(bad if good is rows else rows, Dictionary(bad if good is atoms else atoms))


@EVERY
def test_wrong_rank(coder: Any, rows: Raw, atoms: Raw) -> None:
    for bad in (rows[0], rows[None], np.float64(1.0)):
        with pytest.raises(ValueError, match="2 axes"):
            coder.encode(bad, Dictionary(atoms))
    for bad in (atoms[0], atoms[None]):
        with pytest.raises(ValueError, match="2 axes"):
            coder.encode(rows, Dictionary(bad))


@EVERY
@pytest.mark.parametrize("kind", ["complex128", "bool", "object", "U3", "datetime64[s]"])
def test_wrong_dtype(coder: Any, kind: str, rows: Raw, atoms: Raw) -> None:
    with pytest.raises(TypeError):
        coder.encode(np.zeros(rows.shape, dtype=kind), Dictionary(atoms))
    with pytest.raises(TypeError):
        coder.encode(rows, Dictionary(np.zeros(atoms.shape, dtype=kind)))


@EVERY
def test_sizes_that_do_not_fit(coder: Any, rows: Raw, atoms: Raw) -> None:
    with pytest.raises(ValueError, match=r"10\b.*12\b|12\b.*10\b"):
        coder.encode(rows[:, :10], Dictionary(atoms))
    for empty in (rows[:0], rows[:, :0]):
        with pytest.raises(ValueError, match="empty"):
            coder.encode(empty, Dictionary(atoms))
    for empty in (atoms[:0], atoms[:, :0]):
        with pytest.raises(ValueError, match="empty"):
            coder.encode(rows, Dictionary(empty))


@EVERY
def test_atoms_need_a_dictionary(coder: Any, rows: Raw, atoms: Raw) -> None:
    with pytest.raises(TypeError, match="Dictionary"):
        coder.encode(rows, atoms)


def unaligned(a: Raw) -> Raw:
    room = np.zeros(a.nbytes + 1, np.uint8)
    shifted = room[1:].view(a.dtype).reshape(a.shape)
    shifted[...] = a
    return shifted


def read_only(a: Raw) -> Raw:
    b = a.copy()
    b.flags.writeable = False
    return b


LAYOUTS: dict[str, Callable[[Raw], Raw]] = {
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "read-only": read_only,
    "every second": lambda a: np.repeat(np.repeat(a, 2, axis=0), 3, axis=1)[::2, ::3],
    "negative strides": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "Fortran order": np.asfortranarray,
    "unaligned": unaligned,
    "masked array": np.ma.asarray,
}


@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_layouts_equal_a_clean_copy(
    coder: Any, layout: Callable[[Raw], Raw], dtype: Any, rows: Raw, atoms: Raw
) -> None:
    rows, atoms = rows.astype(dtype), atoms.astype(dtype)
    clean = coder.encode(rows, Dictionary(atoms))
    for codes in (coder.encode(layout(rows), Dictionary(atoms)), coder.encode(rows, Dictionary(layout(atoms)))):
        assert codes.dtype == dtype
        np.testing.assert_array_equal(codes.toarray(), clean.toarray())


@EVERY
def test_zero_strides_and_lists(coder: Any, rows: Raw, atoms: Raw) -> None:
    D = Dictionary(atoms)
    same = np.broadcast_to(rows[1], rows.shape)
    np.testing.assert_array_equal(coder.encode(same, D).toarray(), coder.encode(same.copy(), D).toarray())
    np.testing.assert_array_equal(coder.encode(rows.tolist(), D).toarray(), coder.encode(rows, D).toarray())


@EVERY
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "int64", "float16"])
def test_other_numbers(coder: Any, kind: str, atoms: Raw, rng: np.random.Generator) -> None:
    rows = rng.integers(0, 100, (8, 12)).astype(kind)
    floats = np.float64 if kind in ("int32", "int64") else np.float32
    codes, expected = coder.encode(rows, Dictionary(atoms)), coder.encode(rows.astype(floats), Dictionary(atoms))
    assert codes.dtype == floats
    np.testing.assert_array_equal(codes.toarray(), expected.toarray())


@EVERY
@pytest.mark.parametrize("kinds", [(np.float32, np.float64), (np.float64, np.float32)])
def test_codes_have_the_dtype_of_the_patches(coder: Any, kinds: tuple[Any, Any], rows: Raw, atoms: Raw) -> None:
    codes = coder.encode(rows.astype(kinds[0]), Dictionary(atoms.astype(kinds[1])))
    assert codes.dtype == kinds[0]
    wide = coder.encode(rows, Dictionary(atoms))
    np.testing.assert_allclose((codes @ atoms), (wide @ atoms), atol=1e-3)


@pytest.mark.parametrize("kind", [Lasso, LassoLARS])
@pytest.mark.parametrize("lam", [0.0, -1.0, np.nan, np.inf, "0.1", None, True])
def test_bad_lam(kind: Any, lam: Any, rows: Raw, atoms: Raw) -> None:
    with pytest.raises(REFUSED, match="lam"):
        kind(lam=lam).encode(rows, Dictionary(atoms))


@pytest.mark.parametrize("tol", [-1e-4, np.nan, "fine"])
def test_bad_tol(tol: Any, rows: Raw, atoms: Raw) -> None:
    with pytest.raises(REFUSED, match="tol"):
        Lasso(lam=0.1, tol=tol).encode(rows, Dictionary(atoms))


@pytest.mark.parametrize("kind", [OMP, OLS])
@pytest.mark.parametrize("residual", [-1.0, np.nan, np.inf, "small", None])
def test_bad_residual(kind: Any, residual: Any, rows: Raw, atoms: Raw) -> None:
    with pytest.raises(REFUSED, match="residual"):
        kind(residual=residual).encode(rows, Dictionary(atoms))


@pytest.mark.parametrize("kind", [OMP, OLS])
@pytest.mark.parametrize("n_nonzero", [0, -3, 2.5, True, "3", 13])
def test_bad_n_nonzero(kind: Any, n_nonzero: Any, rows: Raw, atoms: Raw) -> None:
    with pytest.raises(REFUSED, match="n_nonzero"):
        kind(n_nonzero=n_nonzero).encode(rows, Dictionary(atoms))


@pytest.mark.parametrize("kind", [OMP, OLS])
def test_more_atoms_asked_than_there_are(kind: Any, rows: Raw, atoms: Raw) -> None:
    """More than the pixels is a mistake; more than the atoms just means all of them."""
    np.testing.assert_array_equal(
        kind(n_nonzero=12).encode(rows, Dictionary(atoms[:5])).toarray(),
        kind(n_nonzero=5).encode(rows, Dictionary(atoms[:5])).toarray(),
    )


@EVERY
def test_bad_start(coder: Any, rows: Raw, atoms: Raw) -> None:
    D = Dictionary(atoms)
    wrong: list[Any] = [csr_array((8, 19)), csr_array((7, 20)), np.zeros((8, 20)), "warm"]
    for start in wrong:
        with pytest.raises(REFUSED, match="start"):
            coder.encode(rows, D, start)
    poison = csr_array(np.full((8, 20), np.nan))
    with pytest.raises(ValueError, match="start"):
        coder.encode(rows, D, poison)


@pytest.mark.parametrize("coder", [OMP(n_nonzero=3), Lasso(lam=0.2)], ids=repr)
def test_bad_mask(coder: Any, rows: Raw, atoms: Raw) -> None:
    D = Dictionary(atoms)
    for mask in (np.ones((8, 11), bool), np.ones((7, 12), bool), np.ones(12, bool), np.ones((1, 8, 12), bool)):
        with pytest.raises(ValueError, match="mask"):
            coder.encode(rows, D, mask=mask)
    for kind in (np.uint8, np.float64, object):
        with pytest.raises(TypeError, match="mask"):
            coder.encode(rows, D, mask=np.ones(rows.shape, kind))
    mask = np.arange(96).reshape(8, 12) % 3 > 0
    clean = coder.encode(rows, D, mask=mask).toarray()
    for layout in ("read-only", "every second", "negative strides", "Fortran order"):
        np.testing.assert_array_equal(coder.encode(rows, D, mask=LAYOUTS[layout](mask)).toarray(), clean)


@EVERY
@pytest.mark.parametrize("threads", [0, -1, 1.5, "two", True])
def test_bad_threads(coder: Any, threads: Any, rows: Raw, atoms: Raw) -> None:
    with pytest.raises(REFUSED, match="threads"):
        coder.encode(rows, Dictionary(atoms), threads=threads)


@EVERY
def test_inputs_stay(coder: Any, rows: Raw, atoms: Raw) -> None:
    start = coder.encode(rows, Dictionary(atoms))
    mask = np.ones(rows.shape, bool)
    arrays = [rows, atoms, mask, start.data, start.indices, start.indptr]
    before = [zlib.crc32(array.tobytes()) for array in arrays]
    D = Dictionary(atoms)
    coder.encode(rows, D, start)
    coder.encode(rows, D, threads=2)
    if not isinstance(coder, LassoLARS):
        coder.encode(rows, D, start, mask=mask)
    codes = coder.encode(rows, D)
    codes.data[:] = 7.0  # a result that shared memory with anything would carry this there
    assert before == [zlib.crc32(array.tobytes()) for array in arrays]
    np.testing.assert_array_equal(coder.encode(rows, D).toarray(), start.toarray())


@pytest.mark.timeout(60, method="thread")  # a solver that runs in circles must not stop the other tests for long
@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_values_give_finite_codes_or_a_clear_error(coder: Any, dtype: Any, rows: Raw, atoms: Raw) -> None:
    top = np.finfo(dtype).max
    for scale in (1e-30, 1e-18, 1e18, float(top) / 1e4):
        for patches, words in ((scale * rows, atoms), (rows, scale * atoms)):
            try:
                codes = coder.encode(patches.astype(dtype), Dictionary(words.astype(dtype)))
            except (ValueError, ArithmeticError):
                continue
            assert np.isfinite(codes.data).all(), (
                f"patches up to {abs(patches).max():.2g}, atoms {abs(words).max():.2g}"
            )


@EVERY
def test_parameters_are_fixed(coder: Any) -> None:
    with pytest.raises(AttributeError):
        coder.lam = 3.0
    assert replace(coder) == coder
    assert hash(replace(coder)) == hash(coder)
