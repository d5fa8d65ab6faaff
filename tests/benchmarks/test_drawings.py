"""Drawn pictures, and the tables of presets beside BM3D that are measured on them and with a wrong sigma."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import drawings
from benchmarks.make_regressions import N_DRAWN
from benchmarks.make_regressions import SEED as LEARNED_SEED
from benchmarks.options import Options
from benchmarks.pictures import Picture
from benchmarks.record import Table
from benchmarks.tables import drawn, wrong_sigma


def test_every_kind_is_drawn_and_the_seed_decides() -> None:
    n = len(drawings.KINDS)
    first, again = list(drawings.drawn(n, 5)), list(drawings.drawn(n, 5))
    assert [each.name for each in first] == [f"{kind}-{5 + k}" for k, kind in enumerate(drawings.KINDS)]
    for one, same, other in zip(first, again, drawings.drawn(n, 5 + n), strict=True):
        assert one.pixels.shape == (drawings.SIDE, drawings.SIDE) and one.pixels.dtype == np.float32
        assert one.pixels.min() >= 0 and one.pixels.max() <= 255 and one.pixels.std() > 0.5
        np.testing.assert_array_equal(one.pixels, same.pixels)
        assert not np.array_equal(one.pixels, other.pixels)


def test_none_that_is_measured_was_learned_from() -> None:
    learned = {picture.name for picture in drawings.drawn(N_DRAWN, LEARNED_SEED)}
    assert not learned & {picture.name for picture in drawings.drawn(drawn.N_PICTURES, drawn.FIRST_SEED)}


@pytest.mark.slow
def test_presets_are_measured_on_them(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(drawn.run(Options(quick=True, presets=("fast",))))
    assert {(row.table, row.sigma) for row in rows} == {("drawn", 25)}
    assert {row.row for row in rows} >= {"fast"} and len({row.image for row in rows}) == 2
    assert "sigma" in capsys.readouterr().out


@pytest.mark.slow
def test_a_wrong_sigma_is_told_on_the_same_noise() -> None:
    clean = np.add.outer(np.arange(64.0), np.arange(64.0)).astype(np.float32)
    rows = list(wrong_sigma.measured(Picture("slope", clean, "drawn"), 0, Options(presets=("fast",))))
    values = {row.row: row.psnr for row in rows if row.row.startswith("fast")}
    assert list(values) == ["fast, told 20", "fast, told 25", "fast, told 30"]
    assert len(set(values.values())) == 3 and {row.sigma for row in rows} == {25}


def test_losses_are_compared_with_those_of_bm3d() -> None:
    cells = {("best", 20): 29.0, ("best", 25): 30.0, ("best", 30): 29.9}
    cells |= {("bm3d", 20): 28.5, ("bm3d", 25): 29.0, ("bm3d", 30): 29.0}
    rows = [
        Table(
            table="wrong-sigma",
            row=wrong_sigma.row_name(name, told),
            image="a",
            sigma=25,
            seed=0,
            psnr=value,
            seconds=1,
        )
        for (name, told), value in cells.items()
    ]
    words = wrong_sigma.summary(rows).splitlines()
    assert words[2].split() == ["best,", "told", "20", "-1.00", "-1.00"]
    assert "best, told 20: worst beside bm3d -0.500 (a)" in words
    assert "best, told 30: worst beside bm3d -0.100 (a)" in words
