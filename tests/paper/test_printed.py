"""The printed numbers were copied by hand. The paper repeats itself, so copies can be checked against each other."""

from __future__ import annotations

import pytest

from epitomes.paper import printed


def test_every_cell_is_there() -> None:
    assert set(printed.TABLE_1) == {(sigma, row) for sigma in printed.SIGMAS for row in printed.ROWS}
    assert all(len(cells) == len(printed.PICTURES) for cells in printed.TABLE_1.values())
    assert set(printed.TABLE_2) == set(printed.SIGMAS)
    assert all(len(cells) == len(printed.METHODS) for cells in printed.TABLE_2.values())


def test_more_noise_is_worse() -> None:
    for row in printed.ROWS:
        for image in printed.PICTURES:
            column = [printed.TABLE_1[sigma, row][printed.PICTURES.index(image)] for sigma in printed.SIGMAS]
            assert column == sorted(column, reverse=True)
    for method in printed.METHODS:
        column = [printed.TABLE_2[sigma][printed.METHODS.index(method)] for sigma in printed.SIGMAS]
        assert (column == sorted(column, reverse=True)) == (method != "Jojic")  # that column rises from 10 to 15


def test_the_last_line_of_table_2_is_its_mean() -> None:
    for index, method in enumerate(printed.METHODS):
        mean = sum(printed.TABLE_2[sigma][index] for sigma in printed.SIGMAS) / len(printed.SIGMAS)
        assert printed.TABLE_2_MEANS[index] == pytest.approx(mean, abs=0.0101), method


def test_looking_up() -> None:
    assert printed.table1("E", "house", 10) == 35.86
    assert printed.table1("IE", "boat", 50.0) == 26.01
    assert printed.table1("E", "camera", 10) is None
    assert printed.table1("E", "house", 10.5) is None
    assert printed.table1("K-SVD", "house", 10) is None
    assert printed.table2("LSSC", 25) == 31.11
    assert printed.table2("LSSC", 30) is None
    assert printed.table1_mean("E", ["house", "boat"], 10) == pytest.approx((35.86 + 33.63) / 2)
    assert printed.table1_mean("E", ["house", "camera"], 10) is None
    assert printed.table1_mean("E", [], 10) is None
