"""Bad input gets a clear error; unusual input gets the result of a clean copy, and is never changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from phi_cases import PHIS, disc

from epitomes.phi import GatherPhi, Phi, flat, shift_invariant, windows


@pytest.mark.parametrize(
    ("shape", "patch", "message"),
    [
        (
            (7, 20),
            (8, 8),
            r"patch_shape \(8, 8\) does not fit in epitome_shape \(7, 20\): axis 0 needs at least 8 pixels, got 7",
        ),
        ((20, 7), (8, 8), "axis 1 needs at least 8 pixels, got 7"),
        ((5, 20, 7), (8, 8), r"axis 0 counts the 5 epitomes\): axis 2 needs at least 8 pixels, got 7"),
        ((20, 20, 3), (8, 8, 4), "axis 2 needs at least 4 pixels, got 3"),
        ((20,), (8, 8), "as many axes"),
        ((2, 3, 20, 20), (8, 8), "one fewer when the first axis counts several epitomes"),
        ((20, 20), (), "at least one length"),
        ((20, 0), (8, 8), "at least 1, got 0"),
        ((20, 20), (8, -8), "at least 1, got -8"),
    ],
)
def test_shapes_that_do_not_fit(shape: tuple[int, ...], patch: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        windows(shape, patch)


def test_types_of_shapes() -> None:
    with pytest.raises(TypeError, match="whole number"):
        windows((20, 20), (8, 8.5))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="whole number"):
        windows((20, True), (8, 8))
    with pytest.raises(TypeError, match="whole number"):
        shift_invariant(3, (8, 8), 0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 0, got -1"):
        shift_invariant(3, (8, 8), -1)
    with pytest.raises(ValueError, match="shift needs 2 lengths"):
        shift_invariant(3, (8, 8), (1, 1, 1))
    with pytest.raises(ValueError, match="n_atoms must be at least 1, got 0"):
        flat(0, (8, 8))
    np.testing.assert_array_equal(windows([np.int64(9), 9], [4, 4]).index, windows((9, 9), 4).index)  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("shape", "patch"),
    [((2**31, 2**31, 8), (1, 1, 8)), ((2**62,), (2,)), ((2**28, 2**28), (2**14, 2**14)), ((10**30, 8), (8, 8))],
)
def test_sizes_that_overflow_are_refused_before_allocation(shape: tuple[int, ...], patch: tuple[int, ...]) -> None:
    with pytest.raises(OverflowError, match="more than any memory can hold"):
        windows(shape, patch)


def test_borders() -> None:
    with pytest.raises(ValueError, match='"valid" or "periodic", got \'wrap\''):
        windows((9, 9), (4, 4), border="wrap")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one for each axis"):
        windows((9, 9), (4, 4), border=("valid",))
    with pytest.raises(TypeError, match="border must be"):
        windows((9, 9), (4, 4), border=None)  # type: ignore[arg-type]


def test_supports() -> None:
    with pytest.raises(ValueError, match=r'4 of the 81 pixels.*the first at index \(0, 0\).*border="periodic"'):
        windows((9, 9), (3, 3), support=np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool))
    with pytest.raises(ValueError, match="in no atom"):
        windows((20, 20), (7, 7), support=disc(7))
    with pytest.raises(ValueError, match="holds no pixel"):
        windows((9, 9), (3, 3), support=np.zeros((3, 3), bool))
    with pytest.raises(ValueError, match=r"support needs shape \(3, 3\), got \(4, 4\)"):
        windows((9, 9), (3, 3), support=np.ones((4, 4), bool))
    with pytest.raises(TypeError, match="bool array"):
        windows((9, 9), (3, 3), support=np.ones((3, 3)))


def test_index_pictures() -> None:
    picture = np.arange(16).reshape(4, 4)
    assert GatherPhi((16,), (2, 2), (picture,)).n_atoms == 9
    with pytest.raises(
        ValueError, match=r"1 of the 17 pixels of the epitome are in no atom, the first at index \(16,\)"
    ):
        GatherPhi((17,), (2, 2), (picture,))
    with pytest.raises(ValueError, match="must point to pixels 0 to 14 of the epitome, got 0 to 15"):
        GatherPhi((15,), (2, 2), (picture,))
    with pytest.raises(ValueError, match="got -1 to 14"):
        GatherPhi((16,), (2, 2), (picture - 1,))
    with pytest.raises(ValueError, match=r"index picture 1 needs 2 axes.*got shape \(16,\)"):
        GatherPhi((16,), (2, 2), (picture, picture.ravel()))
    with pytest.raises(ValueError, match=r"does not fit in index picture 0, shape \(4, 4\): axis 1 needs at least 5"):
        GatherPhi((16,), (2, 5), (picture,))
    with pytest.raises(TypeError, match="whole numbers, got dtype float64"):
        GatherPhi((16,), (2, 2), (picture / 2,))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one index picture"):
        GatherPhi((16,), (2, 2), ())


def test_a_phi_cannot_be_changed() -> None:
    picture, mask = np.arange(16).reshape(4, 4), np.array([[True, True], [True, False]])
    torus = np.pad(picture, (0, 1), mode="wrap")
    phi = GatherPhi((16,), (2, 2), (torus,), mask)
    index = phi.index.copy()
    torus[:], mask[:] = 0, True
    np.testing.assert_array_equal(phi.index, index)
    assert phi.support is not None
    assert phi.support.sum() == 3
    for array in (phi.index, phi.counts, phi.pictures[0], phi.support):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(FrozenInstanceError):
        phi.patch_shape = (3, 3)  # type: ignore[misc]


@pytest.mark.parametrize("phi", PHIS, ids=repr)
def test_wrong_arrays(phi: Phi) -> None:
    E, D = np.ones(phi.epitome_shape), np.ones((phi.n_atoms, phi.patch_size))
    verbs: list[tuple[Callable[[Any], Any], Any]] = [(phi, E), (phi.adjoint, D), (phi.average, D)]
    for verb, right in verbs:
        for wrong in (right[None], right[..., :-1], np.concatenate([right, right]), 3.0):
            with pytest.raises(ValueError, match=r"needs shape|is empty"):
                verb(wrong)
        with pytest.raises(TypeError, match="real numbers"):
            verb(right * 1j)
        with pytest.raises(TypeError, match="real numbers"):
            verb(right > 0)
        for value in (np.nan, np.inf, -np.inf):
            spoiled = right.copy()
            spoiled.flat[-1] = value
            last = tuple(n - 1 for n in right.shape)
            with pytest.raises(ValueError) as error:
                verb(spoiled)
            assert f"1 NaN or infinite values, the first at index {last}" in str(error.value)


@pytest.mark.parametrize("phi", PHIS, ids=repr)
def test_unusual_arrays_are_as_good_as_clean_ones(phi: Phi) -> None:
    rng = np.random.default_rng(0)
    E = rng.integers(-99, 99, phi.epitome_shape).astype(np.float64)
    D = rng.integers(-99, 99, (phi.n_atoms, phi.patch_size)).astype(np.float64)
    verbs: list[tuple[Callable[[Any], Any], Any]] = [(phi, E), (phi.adjoint, D), (phi.average, D)]
    for verb, clean in verbs:
        needed = verb(clean)
        frozen = clean.copy()
        frozen.flags.writeable = False
        strided = np.repeat(clean, 2, axis=-1)[..., ::2]
        for unusual in (frozen, strided, np.asfortranarray(clean), clean.astype(">f8"), clean.astype(np.int64)):
            before = unusual.copy()
            found = verb(unusual)
            assert found.dtype == np.float64
            assert found.flags.c_contiguous
            np.testing.assert_array_equal(found, needed)
            np.testing.assert_array_equal(unusual, before)
        for small in (clean.astype(np.int8), clean.astype(np.int16), clean.astype(np.float16), clean.astype(">f4")):
            found = verb(small)
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, needed, rtol=1e-5, atol=1e-4)
        np.testing.assert_array_equal(verb(clean.tolist()), needed)


def test_float32_sums_are_made_in_float64() -> None:
    phi = windows((400,), (100,), border="periodic")
    D = np.full((400, 100), 0.1, np.float32)
    assert (phi.average(D) == np.float32(0.1)).all()
    assert (phi.adjoint(D) == np.float32(100 * float(np.float32(0.1)))).all()
