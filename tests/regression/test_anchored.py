"""Anchored regression: the specification's corrections, the formula another way, turns, parts, and what is shipped."""

from __future__ import annotations

import numpy as np
import pytest
from group_cases import NATIVE
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from epitomes import kernels
from epitomes.regression import AnchoredRegression, natural_regressions
from epitomes.regression.shipped import packed, unpacked

Floats = NDArray[np.float32]


def made(
    rng: np.random.Generator, *, n: int = 21, side: int = 5, inputs: int = 2, limit: float = np.inf
) -> AnchoredRegression:
    m = side * side
    return AnchoredRegression(
        rng.standard_normal((n, m)).astype(np.float32),
        0.1 * rng.standard_normal((n, inputs * m, m)).astype(np.float32),
        limit,
    )


def images(rng: np.random.Generator, n: int, shape: tuple[int, int] = (23, 31)) -> list[Floats]:
    return [rng.standard_normal(shape).astype(np.float32) for _ in range(n)]


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.parametrize(
    ("side", "inputs", "stride", "n", "limit"),
    [(5, 2, 1, 21, np.inf), (6, 3, 2, 40, 0.9), (3, 1, 3, 1, np.inf), (4, 2, 9, 16, 0.2)],
)
def test_the_specification(
    side: int,
    inputs: int,
    stride: int,
    n: int,
    limit: float,
    isa: str,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    regression, given = made(rng, n=n, side=side, inputs=inputs, limit=limit), images(rng, inputs)
    before = [each.copy() for each in given]
    found = {}
    for by in (isa, "reference"):
        monkeypatch.setattr(kernels, "isa", by)
        found[by] = regression.correct(given[0], given[1:], stride=stride)
    np.testing.assert_allclose(found[isa], found["reference"], atol=1e-5)
    assert np.abs(found[isa] - given[0]).max() > 0.01
    assert all(np.array_equal(one, other) for one, other in zip(given, before, strict=True))


def test_the_formula(rng: np.random.Generator) -> None:
    """One patch that stands upright: its key, x log(1 + 2 c) / c, chooses the map and is multiplied by it."""
    regression, (x, noisy) = made(rng, side=4), images(rng, 2, (4, 4))
    x = np.sort(np.sort(x, axis=0), axis=1)  # rises both ways
    x += 2 * np.arange(4, dtype=np.float32)  # and most to the right
    centred = x - x.mean()
    contrast = centred.std()
    key = centred.ravel() * np.log(1 + 2 * contrast) / contrast
    nearest = int(cdist(key[None], regression.anchors).argmin())
    inputs = np.concatenate([key, (noisy - x).ravel()])
    expected = x + np.einsum("i,ij->j", inputs, regression.maps[nearest]).reshape(4, 4)
    np.testing.assert_allclose(regression.correct(x, [noisy]), expected, atol=1e-5)


def test_large_corrections_are_scaled_down(rng: np.random.Generator) -> None:
    plain, (x, noisy) = made(rng, side=4), images(rng, 2, (4, 4))
    change = plain.correct(x, [noisy]) - x
    size = float(np.sqrt(np.mean(change**2)))
    for limit, share in ((size / 3, 1 / 3), (2 * size, 1.0)):
        held = AnchoredRegression(plain.anchors, plain.maps, limit).correct(x, [noisy]) - x
        np.testing.assert_allclose(held, share * change, atol=1e-5)
    with pytest.raises(ValueError, match="limit must be above 0"):
        AnchoredRegression(plain.anchors, plain.maps, 0.0)


@pytest.mark.parametrize("turn", [np.fliplr, np.flipud, np.transpose, np.rot90], ids=lambda turn: turn.__name__)
def test_turned_images_are_corrected_alike(turn: object, rng: np.random.Generator) -> None:
    regression, given = made(rng), images(rng, 2)
    plain = regression.correct(given[0], given[1:])
    turned = [np.ascontiguousarray(turn(each)) for each in given]  # type: ignore[operator]
    np.testing.assert_allclose(regression.correct(turned[0], turned[1:]), turn(plain), atol=1e-5)  # type: ignore[operator]


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_same_bits_for_threads_and_parts(stride: int, rng: np.random.Generator) -> None:
    regression, given = made(rng), images(rng, 2, (150, 40))
    whole = regression.correct(given[0], given[1:], stride=stride, threads=1)
    assert np.array_equal(whole, regression.correct(given[0], given[1:], stride=stride, threads=3))
    first, reach = 6 * 11, regression.side
    part = [each[first:140] for each in given]
    inside = regression.correct(part[0], part[1:], stride=stride)[reach:-reach]
    assert np.array_equal(inside, whole[first + reach : 140 - reach])


def test_small_images_come_back(rng: np.random.Generator) -> None:
    estimate, noisy = images(rng, 2, (4, 30))
    assert np.array_equal(made(rng).correct(estimate, [noisy]), estimate)


def test_a_constant_patch_has_a_key(rng: np.random.Generator) -> None:
    flat = np.full((8, 8), 3.0, np.float32)
    assert np.array_equal(made(rng).correct(flat, [flat]), flat)


@pytest.mark.parametrize(
    ("anchors", "maps"),
    [
        ((3, 5), (3, 5, 5)),
        ((3, 4), (2, 4, 4)),
        ((3, 4), (3, 6, 4)),
        ((3, 4), (3, 4, 5)),
        ((0, 4), (0, 4, 4)),
        ((4,), (3, 4, 4)),
    ],
)
def test_shapes_that_do_not_agree_are_refused(anchors: tuple[int, ...], maps: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="are needed, got shapes"):
        AnchoredRegression(np.zeros(anchors, np.float32), np.zeros(maps, np.float32))


def test_inputs_that_do_not_agree_are_refused(rng: np.random.Generator) -> None:
    estimate, noisy = images(rng, 2)
    for others in ([], [noisy, noisy], [noisy[:-1]]):
        with pytest.raises(ValueError, match="1 images of shape"):
            made(rng).correct(estimate, others)


def test_packed_maps_are_near(rng: np.random.Generator) -> None:
    regression = made(rng)
    again = unpacked({f"a-{name}": array for name, array in packed(regression).items()}, "a")
    steps = np.abs(regression.maps).max(axis=1, keepdims=True) / 127
    assert np.all(np.abs(again.maps - regression.maps) < 0.6 * steps)
    np.testing.assert_allclose(again.anchors, regression.anchors, rtol=1e-3)


def test_what_is_shipped_takes_three_images() -> None:
    for regression in natural_regressions():
        assert (regression.n_inputs, regression.side) == (3, 6)
        assert np.isfinite(regression.maps).all() and np.abs(regression.maps).max() < 2
