"""Figures: drawn, described, and with the numbers that support or contradict what the paper says of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epitomes.formats import read
from epitomes.paper import MEMBERS, Log, Photos, Report, Setting, fig6, figures, make, registry, table1
from epitomes.paper import write as write_module
from epitomes.paper.write import goals

FIGURES = [name for name in MEMBERS if name.startswith("fig")]


def facts_of(report: Report) -> dict[str, Any]:
    assert report.facts is not None
    return dict(report.facts)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less of everything, so that a figure takes a second."""
    monkeypatch.setattr(figures, "QUICK_STEPS", 1)
    monkeypatch.setattr(figures, "QUICK_SAMPLE", 500)
    monkeypatch.setattr(table1, "QUICK_STEPS", 1)
    monkeypatch.setattr(fig6, "QUICK_STEPS", (1, 1))
    monkeypatch.setattr(fig6, "SHAPE", (2, 20, 20))


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure(name: str, three: Photos, tmp_path: Path, small: None) -> None:
    lines: list[str] = []
    setting = Setting(photos=three, quick=True, tell=lines.append)
    (report,) = make([name], setting, Log(), tmp_path)
    assert report.picture is not None
    assert report.picture.dtype == np.uint8
    assert report.picture.std() > 10  # something is drawn
    assert report.alt
    assert lines
    assert any("quick" in note for note in report.notes)
    assert any("in place of" in note for note in report.notes)
    found = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert found["quick"] is True
    assert found["source"] == "scikit-image"
    np.testing.assert_array_equal(read(tmp_path / f"{name}.png").pixels, report.picture)
    text = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
    assert "data:image/png;base64," in text
    assert report.title in text
    for grid in report.grids:
        assert all(len(line) == len(grid.header) for line in grid.lines)
    check = CHECKS.get(name)
    if check is not None:
        check(found)


def check_flat(found: dict[str, Any]) -> None:
    flat, epitomes = found["learned"]
    assert flat["n_atoms"] * 64 == flat["n_pixels"]  # nothing is shared
    assert epitomes["n_pixels"] < epitomes["n_atoms"] * 64 / 20


def check_fig5(found: dict[str, Any]) -> None:
    assert len({each["label"] for each in found["learned"]}) == 3
    assert len({each["objective"] for each in found["learned"]}) == 3
    assert len(found["likeness"]) == 3
    assert all(0 < value < 1 for value in found["likeness"].values())


def check_fig6(found: dict[str, Any]) -> None:
    assert all(each["epitome_shape"] == list(fig6.SHAPE) for each in found["learned"])
    assert [each["patch_shape"] for each in found["learned"]] == [[width] * 2 for width in fig6.QUICK_WIDTHS]
    fineness = [each["fineness"] for each in found["learned"]]
    assert found["fineness_falls"] == (fineness == sorted(set(fineness), reverse=True))


def check_fig7(found: dict[str, Any]) -> None:
    assert [each["n_atoms"] for each in found["learned"]] == [1225, 1250, 1296, 1280]
    assert all(np.isfinite(each["psnr"]) for each in found["learned"])


def check_fig8(found: dict[str, Any]) -> None:
    assert found["psnr"] > found["psnr_noisy"] + 3
    assert found["printed"] is None


CHECKS = {
    "fig1": check_flat,
    "fig3": check_flat,
    "fig5": check_fig5,
    "fig6": check_fig6,
    "fig7": check_fig7,
    "fig8": check_fig8,
}


def report_of(name: str) -> Report:
    return Report(name=name, title=f"Title of {name} <&>", text="Words.", facts={"a": 1} if "fig" in name else None)


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All members replaced by ones that only tell that they ran."""
    ran: list[str] = []
    for name in MEMBERS:

        def run(setting: Setting, log: Log, name: str = name) -> Report:
            ran.append(name)
            return report_of(name)

        monkeypatch.setitem(MEMBERS, name, run)
    return ran


def test_several_have_a_page_together(three: Photos, tmp_path: Path, fast: list[str]) -> None:
    for report in make(["table1", "fig5"], Setting(photos=three), Log(), tmp_path / "new"):
        together = (tmp_path / "new" / write_module.TOGETHER).read_text(encoding="utf-8")
        assert f"Title of {report.name} &lt;&amp;&gt;" in together  # after each of them, not only at the end
    assert "Title of table1" in together
    assert fast == ["table1", "fig5"]


def test_files_in_the_way_stop_a_run_before_it_measures(three: Photos, tmp_path: Path, fast: list[str]) -> None:
    list(make(["fig5"], Setting(photos=three), Log(), tmp_path))
    for names in (["fig5"], ["table1", "fig5"]):
        with pytest.raises(FileExistsError, match="fig5"):
            make(names, Setting(photos=three), Log(), tmp_path)
    assert fast == ["fig5"]
    list(make(["fig5"], Setting(photos=three), Log(), tmp_path, overwrite=True))
    assert fast == ["fig5", "fig5"]


def test_unknown_names(three: Photos, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no table or figure named fig2: there are table1"):
        make(["fig2"], Setting(photos=three), Log(), tmp_path)


def test_figure_6_is_the_papers() -> None:
    assert fig6.SHAPE == (2, 46, 46)
    assert fig6.WIDTHS == (6, 8, 9, 10, 12)
    assert fig6.N_STEPS == (20, 5)


def test_the_registry_is_complete() -> None:
    names = {path.stem for path in Path(registry.__file__).parent.glob("*.py")}
    assert {name for name in names if name[-1].isdecimal()} == set(MEMBERS)
    assert list(MEMBERS)[:2] == ["table1", "table2"]
    assert {path.name for path in goals(["fig1", "table1"], Path())} == {
        "fig1.html",
        "fig1.png",
        "fig1.json",
        "table1.html",
        "paper.html",
    }
