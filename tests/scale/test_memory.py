"""Memory: sizes in words, tiles that fit, and refusals that say what would."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epitomes import Noise
from epitomes.layout import Layout
from epitomes.restoration import NonLocal, Plan
from epitomes.restoration.whole_image import Support
from epitomes.scale.memory import MOST_USED, MemoryLimitError, Room, bytes_of, require_tile
from epitomes.scale.tiles import n_tiles, tiles_of
from epitomes.scale.units import evenly, middle


def room(halo: int, workers: int = 1) -> Room:
    plan = Plan(method=NonLocal(preset="fast"), noise=Noise.gaussian(1.0), layout=Layout.of((20_000, 20_000)))
    return Room(plan, (20_000, 20_000), np.dtype(np.uint16), Support((halo, halo), (1, 1)), 2**19, workers)


def test_tiles_are_bounded_without_a_limit_and_larger_beside_a_mask() -> None:
    far = room(2000)  # no tile reads little more than it writes
    side = far.tile(None, True)[0]
    assert 1024 < side < 8192 and far.of_tile((side, side)) <= MOST_USED < far.of_tile((side + 512, side + 512))
    holes = replace(room(150), masked=True)
    assert holes.of_tile((1024, 1024)) > room(150).of_tile((1024, 1024))


@pytest.mark.parametrize(("text", "expected"), [("2G", 2**31), ("500 MiB", 500 * 2**20), ("1.5kb", 1536), (7, 7)])
def test_sizes(text: int | str, expected: int) -> None:
    assert bytes_of(text) == expected


@pytest.mark.parametrize("wrong", ["", "two", "-1G", "0", "2X", True, 1.5])
def test_no_sizes(wrong: object) -> None:
    with pytest.raises((TypeError, ValueError), match="such as '2G'"):
        bytes_of(wrong)  # type: ignore[arg-type]


def test_tiles_fit_in_memory() -> None:
    assert room(8).tile(None, True) == (1024, 1024)
    assert room(150).tile(None, True)[0] > 3000  # much is read around small ones
    sides = [room(150, workers=4).tile(bytes_of(text), False)[0] for text in ("1200M", "2G", "8G")]
    assert sides == sorted(sides) and sides[0] < sides[-1]
    for side, text in zip(sides, ("1200M", "2G", "8G"), strict=True):
        assert room(150, workers=4).total((side, side), False) <= bytes_of(text)


def test_the_size_of_a_refusal_works() -> None:
    with pytest.raises(MemoryLimitError) as refused:
        room(150, workers=4).tile(bytes_of("300M"), False)
    assert room(150, workers=4).tile(bytes_of(refused.value.value), False) == (64, 64)


def test_sides_of_tiles() -> None:
    assert require_tile(100, 2) == (100, 100) and require_tile((3, 512, 1024), 3) == (3, 512, 1024)
    for wrong in (0, 600, (64,), (64, 1.5)):
        with pytest.raises(ValueError, match="tile"):
            require_tile(wrong, 2)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=40)
@given(
    shape=st.tuples(st.integers(1, 60), st.integers(1, 60)),
    tile=st.tuples(st.integers(8, 40), st.integers(8, 40)),
    halo=st.integers(0, 30),
    grid=st.integers(1, 9),
)
def test_tiles_cover_everything_once(shape: tuple[int, int], tile: tuple[int, int], halo: int, grid: int) -> None:
    covered, image = np.zeros(shape, int), np.arange(shape[0] * shape[1]).reshape(shape)
    tiles = list(tiles_of(shape, tile, Support((halo, halo), (grid, grid))))
    assert len(tiles) == n_tiles(shape, tile)
    for each in tiles:
        covered[each.core] += 1
        np.testing.assert_array_equal(image[each.window][each.inner], image[each.core])
        for core, window, n in zip(each.core, each.window, shape, strict=True):
            assert window.start % grid == 0 and window.start <= max(0, core.start - halo)
            assert window.stop == min(n, core.stop + halo)
    assert (covered == 1).all()


@given(n=st.integers(1, 5000), parts=st.integers(1, 5), side=st.integers(1, 600))
def test_samples_lie_within_the_image(n: int, parts: int, side: int) -> None:
    found = evenly(n, parts, side)
    assert all(0 <= each.start < each.stop <= n for each in found)
    assert all(one.stop <= other.start for one, other in pairwise(found))
    (part,) = middle((n,), side / 600)
    assert 0 <= part.start < part.stop <= n
