"""The page of a comparison: images in one grey scale, nothing hostile, and in a browser one zoom for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_cases import STATES
from report_cases import NASTY

from epitomes.draw import Table
from epitomes.reports import Exhibit, write_comparison
from epitomes.reports.comparison_page import _panes


def written(path: Path) -> Path:
    rng = np.random.default_rng(0)
    clean = np.add.outer(np.arange(60.0), np.arange(90.0))
    noisy = clean + rng.normal(0, 10, clean.shape)
    exhibits = [
        Exhibit("clean", clean, result=False),
        Exhibit(f"one {NASTY}", clean + 1, "30.1 dB"),
        Exhibit("two", noisy),
    ]
    table = Table("Figures", ("method", "PSNR"), [("one", "30.10"), (NASTY, "–")])
    write_comparison(path, noisy, exhibits, table=table, name=NASTY, noise="white", notes=[NASTY], command=NASTY)
    return path


def test_everything_is_escaped_and_inside(tmp_path: Path) -> None:
    text = written(tmp_path / "a.html").read_text(encoding="utf-8")
    assert NASTY not in text and "http:" not in text
    assert text.count('class="result"') == 4 and text.count('class="removed"') == 2


def test_one_grey_scale(rng: np.random.Generator) -> None:
    noisy = rng.normal(100, 20, (40, 50)).astype(np.float32)
    same, other, coloured = (
        _panes([Exhibit("noisy", image, result=False), Exhibit("x", image)], f)
        for image, f in ((noisy, 1), (noisy, 4), (np.stack([noisy] * 3, axis=-1), 1))
    )
    assert same[0].shown.png == same[1].shown.png and same[1].removed is not None
    assert (other[0].shown.width, other[0].shown.height) == (13, 10)
    assert coloured[0].shown.width == 50


def test_bad_exhibits(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one image"):
        write_comparison(tmp_path / "a.html", np.zeros((4, 4)), [])
    with pytest.raises(ValueError, match="they must agree"):
        write_comparison(tmp_path / "a.html", np.zeros((4, 4)), [Exhibit("x", np.zeros((4, 5)))])


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_in_a_browser(state: str, browser: Any, tmp_path: Path) -> None:
    heard: list[str] = []
    context = browser.new_context(**STATES[state])
    tab = context.new_page()
    tab.on("console", lambda message: heard.append(message.text))
    tab.on("pageerror", lambda error: heard.append(str(error)))
    tab.goto(written(tmp_path / "a.html").as_uri())

    def places() -> list[list[float]]:
        boxes = "const f = one.parentElement.getBoundingClientRect(), b = one.getBoundingClientRect();"
        found: list[list[float]] = tab.locator(".result").evaluate_all(
            f"all => all.map(one => {{ {boxes} return [b.x - f.x, b.y - f.y, b.width]; }})"
        )
        return [[round(value, 1) for value in each] for each in found]

    whole = places()
    assert all(each == whole[0] for each in whole)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    second = tab.locator(".frame").nth(1)
    second.scroll_into_view_if_needed()
    box = second.bounding_box()
    tab.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"])
    if state != "phone":
        tab.mouse.wheel(0, -400)
    else:
        tab.locator("[name=zoom][value='8']").check(force=True)
        second.scroll_into_view_if_needed()
        box = second.bounding_box()
        tab.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"])
    tab.wait_for_function("getComputedStyle(document.querySelector('.panes')).getPropertyValue('--scale') > 2")
    larger = places()
    assert all(each == larger[0] for each in larger) and larger[0][2] > 1.5 * whole[0][2]
    tab.mouse.down()
    tab.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    tab.mouse.up()
    moved = places()
    assert all(each == moved[0] for each in moved) and moved[0][0] > larger[0][0]
    tab.locator("[name=shown][value=removed]").check(force=True)
    assert tab.locator(".removed").first.is_visible() and not tab.locator(".result").nth(2).is_visible()
    context.close()
    assert not heard
