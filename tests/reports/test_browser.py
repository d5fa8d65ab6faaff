"""Pages in a browser: policy, accessibility (axe), screens of all sizes, paper, no script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_cases import STATES, cut, point, unfold
from report_cases import NASTY

from epitomes.paper.report import Grid, Report
from epitomes.paper.write import page_of
from epitomes.reports import ReportData

pytestmark = pytest.mark.slow  # they start a browser


def violations(tab: Any) -> list[tuple[str, str, list[str]]]:
    """What axe, the accessibility checker, finds wrong."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python")
    found = axe.Axe().run(tab).response["violations"]
    return [(one["impact"], one["id"], [node["html"][:80] for node in one["nodes"]]) for one in found]


def test_nothing_hostile_runs(opened: Any) -> None:
    tab = opened()
    assert tab.evaluate("window.hacked") is None and tab.title().endswith(NASTY)
    assert tab.evaluate("JSON.parse(document.getElementById('figures').textContent).name") == f"board {NASTY}"


def test_the_policy_of_the_page_stops_other_scripts(browser: Any, address: str) -> None:
    tab = browser.new_page()
    tab.goto(address)
    tab.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.late = 1'}))")
    assert tab.evaluate("window.late") is None
    tab.close()


@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing(state: str, opened: Any, data: ReportData) -> None:
    tab = opened(**STATES[state])
    assert violations(tab) == []
    unfold(tab)
    point(tab, "image", (30.0, 30.0), data.noisy.shape)
    assert violations(tab) == []


@pytest.mark.parametrize("state", STATES)
def test_nothing_is_wider_than_the_screen(state: str, opened: Any) -> None:
    tab = opened(**STATES[state])
    for _ in range(2):
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        unfold(tab)


def test_sections_are_folded_and_open_by_keyboard(opened: Any) -> None:
    tab = opened()
    assert tab.locator("details[open]").count() == 0 and not tab.get_by_text("Variance of the residual at").is_visible()
    tab.locator("#evidence summary").focus()
    tab.keyboard.press("Enter")
    assert tab.get_by_text("Variance of the residual /").first.is_visible()


def test_paper_shows_both_images_and_all_sections(opened: Any) -> None:
    tab = opened()
    tab.emulate_media(media="print")
    assert cut(tab) == "none"
    before, after = (tab.locator(f"#whole .{one}").bounding_box() for one in ("before", "after"))
    assert before["x"] + before["width"] <= after["x"] and before["y"] == after["y"]
    assert before["width"] / before["height"] == pytest.approx(96 / 72, rel=0.02)
    for hidden in ("#whole-cut", "#whole .toolbar", "#image-stage", "#epitome-stage canvas"):
        assert not tab.locator(hidden).is_visible(), hidden
    assert tab.locator("#epitome-stage img").is_visible()
    assert tab.get_by_text("Variance of the residual /").first.is_visible()
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.locator("details:not([open])").count() == 0
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tab.locator("details[open]").count() == 0


def test_without_a_script_both_images_are_shown(opened: Any) -> None:
    tab = opened(java_script_enabled=False)
    for name in ("before", "after"):
        assert tab.locator(f"#whole .{name}").is_visible()
    for hidden in ("#whole-cut", "#whole .toolbar", "#whole .divider"):
        assert not tab.locator(hidden).is_visible()
    tab.locator("#epitome summary").click()
    assert tab.locator("#epitome-stage img").is_visible() and not tab.locator("#image-stage").is_visible()


@pytest.mark.parametrize("state", STATES)
def test_a_page_of_the_paper(state: str, browser: Any, tmp_path: Path) -> None:
    """The other pages share the base template: what holds for one with a picture, a table and links holds for all."""
    picture = np.random.default_rng(0).integers(0, 256, (200, 500), dtype=np.uint8)
    grid = Grid(title="PSNR in dB", header=("image", "ours", "printed"), lines=[("house", "35.86", "–")])
    content = {"text": "Words.", "picture": picture, "alt": "Noise.", "grids": [grid]}
    parts = [Report(name=name, title=f"Title {name}", **content) for name in ("table1", "fig1")]
    (tmp_path / "paper.html").write_text(page_of(parts), encoding="utf-8")
    context = browser.new_context(**STATES[state])
    tab = context.new_page()
    heard: list[str] = []
    tab.on("console", lambda message: heard.append(message.text))
    tab.goto((tmp_path / "paper.html").as_uri())
    assert violations(tab) == [] and not heard
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()
