"""The image before and after, in a browser: divider, zoom, brightness and contrast."""

from __future__ import annotations

from typing import Any

import pytest
from browser_cases import STATES, cut

pytestmark = pytest.mark.slow  # they start a browser


def test_the_slider_moves_by_keyboard(opened: Any) -> None:
    tab = opened()
    assert "50%" in cut(tab)
    tab.locator("#whole-cut").focus()
    tab.keyboard.press("ArrowRight")
    assert "49%" in cut(tab) and "51 % noisy" in tab.locator("#whole-cut").get_attribute("aria-valuetext")
    tab.keyboard.press("Home")
    assert "100%" in cut(tab)
    tab.keyboard.press("End")
    assert "100%" not in cut(tab) and "100 % noisy" in tab.locator("#whole-cut").get_attribute("aria-valuetext")


def test_the_slider_moves_by_mouse_and_by_touch(opened: Any) -> None:
    tab = opened()
    box = tab.locator("#whole .compare").bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 30)
    tab.mouse.up()
    assert tab.locator("#whole-cut").input_value() == "80" and "20%" in cut(tab)
    tab.mouse.move(box["x"] + box["width"] * 0.1, box["y"] + 30)  # let go: it stays
    assert tab.locator("#whole-cut").input_value() == "80"
    tab = opened(**STATES["phone"])
    tab.locator("#whole .compare").scroll_into_view_if_needed()
    box = tab.locator("#whole .compare").bounding_box()
    tab.touchscreen.tap(box["x"] + box["width"] / 4, box["y"] + 20)
    assert tab.locator("#whole-cut").input_value() == "25"


def pane(tab: Any) -> dict[str, float]:
    state: dict[str, float] = tab.evaluate(
        """() => {
            const pane = document.querySelector("#whole .pane"), box = document.querySelector("#whole .compare");
            return {left: pane.scrollLeft, top: pane.scrollTop, wide: box.offsetWidth, tall: box.offsetHeight,
                    room: pane.clientWidth, high: pane.clientHeight};
        }"""
    )
    return state


def test_zoom_shows_pixels_and_keeps_the_middle(opened: Any) -> None:
    tab = opened(viewport={"width": 600, "height": 500})
    fitted = pane(tab)
    assert fitted["wide"] <= fitted["room"] and fitted["tall"] <= 400 and fitted["wide"] > fitted["room"] * 0.9
    tab.locator("#whole [type=radio]").first.focus()
    for wide in (96, 192, 384, 768):  # the image has 72 x 96 pixels; arrow keys choose 1, 2, 4 and 8
        tab.keyboard.press("ArrowRight")
        assert (pane(tab)["wide"], pane(tab)["tall"]) == (wide, wide * 3 / 4)
    zoomed = pane(tab)
    assert zoomed["left"] == pytest.approx((zoomed["wide"] - zoomed["room"]) / 2, abs=1)
    assert zoomed["top"] == pytest.approx((zoomed["tall"] - zoomed["high"]) / 2, abs=1)
    assert tab.locator("#whole .after").evaluate("one => getComputedStyle(one).imageRendering") == "pixelated"


def test_a_zoomed_image_is_panned_by_mouse_and_keyboard_and_keeps_its_divider(opened: Any) -> None:
    tab = opened(viewport={"width": 600, "height": 500})
    tab.locator("#whole [value='8']").check(force=True)
    tab.locator("#whole .pane").evaluate("one => one.scrollIntoView({block: 'center'})")
    frame, before = tab.locator("#whole .pane").bounding_box(), pane(tab)
    x, y = frame["x"] + 0.8 * frame["width"], frame["y"] + 60
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x - 30, y + 20)
    tab.mouse.up()
    after = pane(tab)
    assert (after["left"] - before["left"], after["top"] - before["top"]) == pytest.approx((30, -20), abs=1)
    assert tab.locator("#whole-cut").input_value() == "50"
    tab.locator("#whole .pane").focus()
    tab.keyboard.press("ArrowLeft")
    tab.wait_for_function("left => document.querySelector('#whole .pane').scrollLeft < left", arg=after["left"])
    tab.wait_for_timeout(300)  # smooth scrolling comes to its end
    divider = tab.locator("#whole .divider").bounding_box()
    middle = divider["x"] + divider["width"] / 2
    assert middle == pytest.approx(frame["x"] + pane(tab)["room"] / 2, abs=1.5)  # half of what is visible
    tab.mouse.move(middle, y)
    tab.mouse.down()
    tab.mouse.move(frame["x"] + pane(tab)["room"] * 0.25, y)
    tab.mouse.up()
    assert tab.locator("#whole-cut").input_value() == "25"  # dragged by its handle


def test_brightness_contrast_and_reset(opened: Any) -> None:
    tab = opened()
    shown = tab.locator("#whole .before")

    def tones() -> str:
        found: str = shown.evaluate("one => getComputedStyle(one).filter")
        return found

    assert tones() == "brightness(1) contrast(1)"
    tab.locator("#whole .brightness").fill("1")
    tab.locator("#whole .contrast").fill("2")
    tab.locator("#whole [value='4']").check(force=True)
    assert tones() == "brightness(2) contrast(4)" and pane(tab)["wide"] == 384
    tab.locator("#whole .reset").click()
    assert tones() == "brightness(1) contrast(1)" and tab.locator("#whole [value=fit]").is_checked()


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_the_first_screen_holds_verdict_figures_and_picture(size: tuple[int, int], opened: Any) -> None:
    tab = opened(viewport={"width": size[0], "height": size[1]})
    for name in (".verdict", ".headlines", "#whole .compare"):
        box = tab.locator(name).bounding_box()
        assert box is not None and box["y"] >= 0 and box["y"] + min(box["height"], 200) <= size[1], name
    assert tab.evaluate("scrollY") == 0


def test_a_double_click_chooses_a_region(opened: Any) -> None:
    tab = opened(viewport={"width": 300, "height": 900})
    box = tab.locator("#whole .compare").bounding_box()
    tab.mouse.dblclick(box["x"] + 0.9 * box["width"], box["y"] + 0.5 * box["height"])
    zoomed = pane(tab)
    assert zoomed["wide"] == 4 * 96 and tab.locator("#whole [value='4']").is_checked()
    assert zoomed["left"] == pytest.approx(zoomed["wide"] - zoomed["room"], abs=2)  # the right end
    box = tab.locator("#whole .pane").bounding_box()
    tab.mouse.dblclick(box["x"] + 0.8 * box["width"], box["y"] + 0.5 * box["height"])
    assert tab.locator("#whole [value=fit]").is_checked()
