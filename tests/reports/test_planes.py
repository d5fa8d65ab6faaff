"""Planes in a report: frames or three cuts, few enough and small enough, before and after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_cases import STATES
from page_reader import Reader

from epitomes import Noise, kernels, restore
from epitomes.formats import Picture
from epitomes.reports import read_figures, report_html, write_report
from epitomes.reports.data import Volume
from epitomes.reports.planes import MOST_CUTS, MOST_FRAMES, views
from epitomes.restoration.diagnosis import report_pair


def volume(shape: tuple[int, ...], clip: bool = False) -> Volume:
    noisy = np.random.default_rng(0).normal(100, 10, shape)
    return Volume(noisy, np.full(shape, 100.0), clip)


def test_three_cuts_through_a_volume() -> None:
    found = views(volume((30, 24, 18)), 0, 255, 10**6)
    assert [(view.name, view.total, len(view.places)) for view in found] == [
        ("planes", 30, MOST_CUTS),
        ("rows", 24, MOST_CUTS),
        ("columns", 18, 18),
    ]
    assert found[0].places[0] == 0 and found[0].places[-1] == 29
    assert [(one.after[0].height, one.after[0].width) for one in found] == [(24, 18), (30, 18), (30, 24)]


def test_neighbouring_frames_of_a_clip() -> None:
    (frames,) = views(volume((100, 16, 20, 3), clip=True), 0, 255, 10**6)
    assert frames.places == list(range(34, 34 + MOST_FRAMES)) and frames.total == 100


@pytest.mark.parametrize("most", [100_000, 400_000])
def test_bounded_size(most: int) -> None:
    found = views(volume((24, 200, 500)), 0, 255, most)
    assert sum(view.size for view in found) <= most and found[0].factor > 1


def test_wrong_shapes() -> None:
    with pytest.raises(ValueError, match="a volume needs"):
        volume((4, 4))
    with pytest.raises(ValueError, match="they must be equal"):
        Volume(np.zeros((2, 4, 4)), np.zeros((3, 4, 4)))


@pytest.mark.parametrize("axes", ["TYX", "ZYX"])
def test_the_page(axes: str) -> None:
    noisy = np.random.default_rng(0).normal(100, 10, (5, 32, 32))
    data = report_pair(Picture(noisy, axes), np.full(noisy.shape, 100.0), Noise.gaussian(10), name="scan")
    text = report_html(data)
    page = Reader(text)
    clip = axes == "TYX"
    sources = json.loads(text.partition('id="planes-data">')[2].partition("</script>")[0])
    assert [view["label"] for view in sources] == (["Frame"] if clip else ["Plane", "Row", "Column"])
    assert len(sources[0]["before"]) == len(sources[0]["after"]) == 5
    assert [each["class"] for each in page.all("input") if each.get("class") == "plane-slider"] == ["plane-slider"] * (
        1 if clip else 3
    )
    assert ("Play" in page.words) == clip and "Flicker 0 in still areas" in page.words


@pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole volumes")
def test_the_road(tmp_path: Path) -> None:
    noisy = np.random.default_rng(0).normal(100, 10, (4, 24, 24))
    restored = restore(noisy, 10.0, preset="fast")
    data = restored.report(tmp_path / "a.html", clip=True)
    found = read_figures(tmp_path / "a.html")
    assert found["volume"] == {"shape": [4, 24, 24], "clip": True}
    assert found["flicker"]["share"] < 0.5 and data.flicker is not None
    assert str(restored.flicker()) == str(data.flicker) and str(restored.flicker()) in str(restored.audit()).lower()


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES, ids=str)
def test_sliders_and_frames_that_play(state: str, browser: Any, tmp_path: Path) -> None:
    clean = np.broadcast_to(np.linspace(50.0, 200.0, 48), (6, 40, 48))
    noisy = clean + np.random.default_rng(0).normal(0, 10, clean.shape)
    for axes in ("TYX", "ZYX"):
        data = report_pair(Picture(noisy, axes), clean, Noise.gaussian(10), name="scan")
        write_report(tmp_path / f"{axes}.html", data)
        context = browser.new_context(**STATES[state])
        tab, errors = context.new_page(), list[Any]()
        tab.on("pageerror", lambda error, errors=errors: errors.append(error))
        tab.goto((tmp_path / f"{axes}.html").as_uri())
        view = tab.locator(".planes").first
        slider, said = view.locator(".plane-slider"), view.locator("output")
        before = view.locator(".before-plane").get_attribute("src")
        slider.fill("0")
        assert said.inner_text() == f"{'Frame' if axes == 'TYX' else 'Plane'} 0 of 6"
        assert view.locator(".before-plane").get_attribute("src") != before
        if axes == "TYX":
            view.locator(".play").click()
            said.filter(has_not_text="Frame 0 of 6").wait_for()
            view.locator(".play").click()
            assert view.locator(".play").inner_text() == "Play"
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert tab.evaluate(
            "new Set([...document.querySelectorAll('[id]')].map((one) => one.id)).size"
        ) == tab.evaluate("document.querySelectorAll('[id]').length")
        context.close()
        assert not errors
