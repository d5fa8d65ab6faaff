"""Tables 1 and 2: every cell once, beside the right printed number, means of the right pictures, no work twice."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest

from epitomes import Epitome
from epitomes.baselines import METHODS
from epitomes.paper import judge, printed, table1, table2
from epitomes.paper.photos import Photos
from epitomes.paper.report import Setting
from epitomes.paper.rows import Log, Row
from epitomes.restoration import Recipe
from epitomes.restoration.patchwise.recipe import usual_steps
from epitomes.validation import psnr

Calls = list[tuple[float, int, int]]


def perfect(offset: float = 0.0) -> list[Row]:
    """A run that found what is printed, or missed it by `offset`."""
    return [
        Row(
            table="table1",
            row=row,
            image=image,
            sigma=sigma,
            seed=0,
            psnr=cell + offset,
            printed=cell,
            seconds=1.0,
            recipe="abc",
        )
        for (sigma, row), cells in printed.TABLE_1.items()
        for image, cell in zip(printed.PICTURES, cells, strict=True)
    ]


@pytest.mark.slow
def test_every_cell_is_measured_once(six: Photos, calls: Calls) -> None:
    log = Log()
    found = list(table1.rows(Setting(photos=six, seeds=2), log))
    keys = {row.key for row in found}
    assert len(found) == len(keys) == len(calls) == 6 * 5 * 2 * 2
    wanted = itertools.product(["table1"], printed.ROWS, printed.PICTURES, printed.SIGMAS, range(2))
    assert keys == set(wanted)
    assert [row.seed for row in found] == sorted(row.seed for row in found)  # whole tables of fewer draws come first
    assert log.rows == tuple(found)
    for row in found:
        assert row.printed == printed.table1(row.row, row.image, row.sigma)
        assert row.seconds == 0.25
        assert not row.quick


def test_a_row_is_what_it_says(six: Photos, calls: Calls) -> None:
    setting = Setting(photos=six.only(["lena"]), seeds=3, rows=("IE",), sigmas=(15,))
    clean = six.like("lena").pixels
    for row in table1.rows(setting, Log()):
        noisy = judge.add_noise(clean, 15, row.seed)
        assert row.psnr == pytest.approx(psnr(clean, 0.9 * noisy), abs=1e-4)
    recipe = Recipe(lam_per_sigma=4.5, n_passes=8.0)
    assert calls == [(15, recipe.settle(judge.add_noise(clean, 15, seed), 15).n_steps, seed) for seed in range(3)]


def test_recipes_are_those_of_the_paper(six: Photos) -> None:
    for row, shape in (("E", (42, 42)), ("IE", (20, 15, 15))):
        case = table1.Case(row, six.like("lena"), 10.0, 0)
        schedule = case.recipe.settle(case.noisy, case.sigma)
        assert schedule.start.pixels.shape == shape
        assert schedule.lam == 40.0
        assert schedule.n_steps == usual_steps(case.noisy, 10.0, table1.PASSES[row])
        unusual = dataclasses.replace(case, sigma=10.5)
        assert unusual.recipe.settle(case.noisy, 10.5).lam == 4.5 * 10.5  # as `denoise` has it


def test_nothing_is_measured_twice(six: Photos, calls: Calls, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    setting = Setting(photos=six, seeds=1, sigmas=(10, 25))
    measuring = table1.rows(setting, Log(file))
    some = list(itertools.islice(measuring, 7))  # then the run is stopped
    again = list(table1.rows(setting, Log(file, resume=True)))
    assert again[:7] == some
    assert len(calls) == len(again) == 24
    assert list(table1.rows(setting, Log(file, resume=True))) == again
    assert len(calls) == 24


def test_rows_of_another_recipe_or_picture_are_measured_again(
    six: Photos, calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rows.jsonl"
    setting = Setting(photos=six.only(["house"]), seeds=1, rows=("E",), sigmas=(25,))
    (first,) = table1.rows(setting, Log(file))
    with monkeypatch.context() as patch:
        patch.setitem(table1.LAM_PER_SIGMA, 25, 5.1)
        (second,) = table1.rows(setting, Log(file, resume=True))
    house = setting.photos.all[0]
    other = Photos((dataclasses.replace(house, pixels=house.pixels + 1),))
    (third,) = table1.rows(dataclasses.replace(setting, photos=other), Log(file, resume=True))
    assert len({row.recipe for row in (first, second, third)}) == 3
    assert len(calls) == 3
    case = table1.Case("E", house, 25, 0)
    assert case.fingerprint == table1.Case("E", house, 25, 0).fingerprint == first.recipe
    start = case.recipe.settle(case.noisy, 25).start
    moved = dataclasses.replace(case.recipe, start=Epitome(start.pixels + 0.01, start.phi))
    with monkeypatch.context() as patch:
        patch.setattr(table1.Case, "recipe", moved)
        assert table1.Case("E", house, 25, 0).fingerprint != first.recipe


def test_quick_is_small_and_says_so(six: Photos, calls: Calls) -> None:
    report = table1.run(Setting(photos=six, seeds=5, quick=True), log := Log())
    assert 0 < len(calls) <= 4
    assert all(steps <= table1.QUICK_STEPS for _, steps, _ in calls)
    assert all(row.quick for row in log.rows)
    assert any("quick" in note for note in report.notes)
    list(table1.rows(Setting(photos=six, quick=False, seeds=1, sigmas=(25,)), log))
    assert len(calls) > 4 + 2  # quick rows do not serve for the real table


def test_quick_with_other_noise_levels(six: Photos, calls: Calls) -> None:
    found = list(table1.rows(Setting(photos=six, quick=True, sigmas=(10, 50)), Log()))
    assert {row.sigma for row in found} == {10}


def test_other_pictures_have_no_printed_numbers(three: Photos, calls: Calls) -> None:
    setting = Setting(photos=three, seeds=1, sigmas=(25,))
    assert all(row.printed is None for row in table1.rows(setting, Log()))
    report = table1.run(setting, Log())
    assert "These are stand-ins." in report.notes
    assert all(line[3:] == ["–"] * 3 for line in report.grids[0].lines if line[2] != "ours")
    second = table2.run(setting, Log())
    assert second.grids[0].header == ["sigma", "IE", "E", *(kind.label for kind in METHODS.values())]
    unfaithful = Photos(tuple(dataclasses.replace(photo, name="house") for photo in three.all[:1]))
    (row,) = table1.rows(Setting(photos=unfaithful, seeds=1, rows=("E",), sigmas=(25,)), Log())
    assert row.printed is None  # named house, but of another size


def test_cells_show_ours_the_paper_and_the_difference() -> None:
    grid = table1.cells_grid(perfect(0.03))
    assert list(grid.header) == ["sigma", "", "dB", *printed.PICTURES]
    assert len(grid.lines) == 5 * 2 * 3
    assert grid.lines[0][:4] == ["10", "IE", "ours", "36.01"]
    assert grid.lines[1][:4] == ["10", "IE", "paper", "35.98"]
    assert grid.lines[2][:4] == ["10", "IE", "difference", "+0.03"]


def test_summary() -> None:
    found = perfect()
    worse = [
        dataclasses.replace(row, psnr=row.psnr - 0.3) if (row.image, row.sigma, row.row) == ("boat", 20, "E") else row
        for row in found
    ]
    lines = {(line[0], line[1]): line for line in table1.summary_grid(worse).lines}
    assert len(lines) == 10
    mean = np.mean(printed.TABLE_1[20, "E"])
    assert lines["E", "20"][2:6] == [f"{mean - 0.05:.2f}", f"{mean:.2f}", "-0.05", "boat -0.30"]
    assert lines["IE", "50"][4] == "+0.00"
    assert lines["IE", "50"][6:] == ["–", "6 x 1"]  # one draw has no spread


def test_summary_over_draws() -> None:
    draws = [dataclasses.replace(row, seed=1, psnr=row.psnr + 0.2) for row in perfect()]
    line = table1.summary_grid(perfect() + draws).lines[0]
    assert line[4] == "+0.10"
    assert line[6:] == [f"{0.2 / 2**0.5:.3f}", "6 x 2"]


def test_pictures_weigh_the_same_however_often_they_were_measured() -> None:
    more = [dataclasses.replace(row, seed=1) for row in perfect() if row.image == "house"]
    line = table1.summary_grid(perfect() + more).lines[0]
    assert line[2] == line[3]
    assert line[7] == "6 x 1/2"


def test_summary_of_a_part_compares_like_with_like() -> None:
    part = [row for row in perfect() if row.image in ("house", "lena") and row.row == "E"]
    lines = table1.summary_grid(part).lines
    assert [line[4] for line in lines] == ["+0.00"] * 5
    assert lines[0][3] == f"{(35.86 + 35.43) / 2:.2f}"


def test_table_2_is_the_mean_of_five() -> None:
    means = table2.means([row for row in perfect() if row.image != "cameraman"])
    assert len(means) == 10
    for row in means:
        assert row.image == "mean of five"
        assert row.printed == printed.table2(row.row, row.sigma)
        assert row.psnr == pytest.approx(row.printed, abs=0.0101)  # that it is: only with these five
        assert row.seconds == 5.0
    assert {row.printed for row in table2.means(perfect()[:3])} == {None}


@pytest.mark.slow
def test_table_2_takes_the_rows_of_table_1(six: Photos, calls: Calls) -> None:
    setting, log = Setting(photos=six, seeds=2, methods=("bm3d", "wnnm")), Log()
    table1.run(setting, log)
    before = len(calls)
    report = table2.run(setting, log)
    assert len(calls) == before + 2 * 5 * 5 * 2
    ours = [row for row in log.rows if row.table == "table2"]
    assert {row.row for row in ours} == {"IE", "E", "BM3D", "WNNM"}
    assert len([row for row in ours if row.image == "mean of five"]) == 4 * 5 * 2
    assert len([row for row in ours if row.image != "mean of five"]) == 2 * 5 * 5 * 2
    table2.run(setting, log)
    assert len(calls) == before + 2 * 5 * 5 * 2  # nothing is measured twice
    assert "cameraman" not in {row.image for row in ours}
    grid = report.grids[0]
    assert list(grid.header) == ["sigma", "dB", "IE", "E", "ISD", "Jojic", "K-SVD", "BM3D", "LSSC", "WNNM"]
    assert grid.lines[0][:2] == ["10", "ours"]
    assert [grid.lines[0][k] for k in (4, 5, 6, 8)] == ["not measured"] * 4
    assert grid.lines[0][7] == f"{np.mean([row.psnr for row in ours if (row.row, row.sigma) == ('BM3D', 10)]):.2f}"
    assert grid.lines[1] == ["10", "paper", "34.83", "34.67", "34.71", "28.83", "34.76", "35.24", "35.32", "–"]
    assert [grid.lines[2][k] for k in (4, 5, 6, 8, 9)] == ["–"] * 5
    assert grid.lines[-2][:4] == ["mean", "paper", "31.26", "31.14"]


def test_table_2_has_a_row_for_every_method_image_and_level(six: Photos, calls: Calls) -> None:
    found = list(table2.rows(Setting(photos=six, seeds=1, sigmas=(10, 25)), Log()))
    labels = {"IE", "E", *(kind.label for kind in METHODS.values())}
    cells = {(row.row, row.image, row.sigma) for row in found}
    assert cells == set(itertools.product(labels, [*printed.FIVE, "mean of five"], (10, 25)))
    assert len(found) == len(cells) and {row.table for row in found} == {"table2"}
    for row in found:
        if row.image == "mean of five":
            assert row.printed == printed.table2(row.row, row.sigma)
            five = [each.psnr for each in found if (each.row, each.sigma) == (row.row, row.sigma) and each is not row]
            assert row.psnr == pytest.approx(np.mean(five))


def test_table_2_of_other_images_has_no_printed_means(three: Photos, calls: Calls) -> None:
    found = list(table2.rows(Setting(photos=three, quick=True, methods=("bm3d",)), Log()))
    assert {row.printed for row in found} == {None} and "BM3D" in {row.row for row in found}


def test_table_2_differences_are_those_of_its_rows() -> None:
    grid = table2.methods_grid([row for row in perfect(0.5) if row.image != "cameraman"])
    gaps = [line[2:4] for line in grid.lines if line[1] == "difference"]
    assert len(gaps) == 6
    assert all(float(gap) == pytest.approx(0.5, abs=0.011) for pair in gaps for gap in pair)
