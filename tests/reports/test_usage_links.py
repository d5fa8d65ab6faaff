"""The image beside its epitome, in a browser: pointing at one lights up the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_cases import STATES, point, said, unfold
from report_cases import report_data

from epitomes.reports import ReportData, write_report
from epitomes.reports.usage import Usage

pytestmark = pytest.mark.slow  # they start a browser


def veil(tab: Any, name: str, place: tuple[float, float], size: tuple[int, ...]) -> int:
    """How dark the canvas lies on a place of the picture: 0 where it is lit."""
    alpha: int = tab.locator(f"#{name}-stage canvas").evaluate(
        """(canvas, [y, x]) => {
            const pen = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
            pen.drawImage(canvas, -Math.floor(x * canvas.width), -Math.floor(y * canvas.height));
            return pen.getImageData(0, 0, 1, 1).data[3];
        }""",
        [place[0] / size[0], place[1] / size[1]],
    )
    return alpha


@pytest.mark.parametrize("state", STATES)
def test_a_patch_lights_its_windows_up(state: str, opened: Any, data: ReportData, used: Usage) -> None:
    tab = opened(**STATES[state])
    unfold(tab)
    number = np.argwhere(used.numbers[..., 1] < len(used.windows))[10]  # a patch with two windows or more
    row, column = used.rows[number[0]], used.columns[number[1]]
    point(tab, "image", (row + 3.0, column + 3.0), data.noisy.shape)
    places = [used.windows[one] for one in used.numbers[tuple(number)] if one < len(used.windows)]
    expected = "; ".join(
        f"window {rank} at epitome {tile + 1}, row {top}, column {left}"
        for rank, (tile, top, left, _, _) in enumerate(places, start=1)
    )
    assert said(tab) == f"Patch of 6 x 6 pixels at row {row}, column {column}: coded by {expected}."
    assert veil(tab, "image", (row + 3.0, column + 3.0), data.noisy.shape) == 0
    assert veil(tab, "image", ((row + 36.0) % 72, column + 3.0), data.noisy.shape) > 100
    held = np.zeros(used.sheet.shape, bool)
    for tile, top, left, height, width in np.array(places, int):
        y, x = used.tiles[tile][0] + top, used.tiles[tile][1] + left
        held[y : y + height, x : x + width] = True
        assert veil(tab, "epitome", (y + 4.5, x + 4.5), used.sheet.shape) == 0  # clear of the number in the corner
    dark = np.argwhere(~held)[0]
    assert veil(tab, "epitome", tuple(dark + 0.5), used.sheet.shape) > 100


def test_a_pixel_lights_its_patches_up(opened: Any, data: ReportData, used: Usage) -> None:
    tab = opened()
    unfold(tab)
    tile, y, x = 1, 6, 5
    held = [t == tile and top <= y < top + h and left <= x < left + w for t, top, left, h, w in used.windows.tolist()]
    users = np.array([*held, False])[used.numbers].any(axis=2)
    spot = used.tiles[tile][:2] + np.array([y + 0.5, x + 0.5])
    point(tab, "epitome", tuple(spot), used.sheet.shape)
    share = f"{100 * users.mean():.1f} %"
    assert said(tab) == f"Pixel at epitome 2, row 6, column 5: used by {users.sum()} of {users.size} patches, {share}."
    lit = np.zeros(data.noisy.shape, bool)
    for row, column in np.argwhere(users):
        lit[used.rows[row] : used.rows[row] + 6, used.columns[column] : used.columns[column] + 6] = True
    assert lit.any() and not lit.all()
    inner = next(
        place for place in np.argwhere(lit) if lit[place[0] - 1 : place[0] + 2, place[1] - 1 : place[1] + 2].all()
    )
    assert veil(tab, "image", tuple(inner + 0.5), lit.shape) in (0, 255)  # lit, or the outline of a patch
    dark = next(p for p in np.argwhere(~lit) if not lit[max(0, p[0] - 2) : p[0] + 3, max(0, p[1] - 2) : p[1] + 3].any())
    assert 100 < veil(tab, "image", tuple(dark + 0.5), lit.shape) < 200


def test_both_ways_by_keyboard(opened: Any, used: Usage) -> None:
    tab = opened()
    unfold(tab)
    tab.locator("#whole-cut").focus()
    tab.keyboard.press("Tab")
    while tab.evaluate("document.activeElement.id") != "image-stage":
        tab.keyboard.press("Tab")
    row, column = len(used.rows) // 2, len(used.columns) // 2
    assert f"at row {used.rows[row]}, column {used.columns[column]}:" in said(tab)  # it begins in the middle
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Shift+ArrowLeft")
    assert f"at row {used.rows[row + 1]}, column {used.columns[column - 7]}:" in said(tab)
    outline = tab.locator("#image-stage").evaluate("one => getComputedStyle(one).outlineStyle")
    assert outline == "solid"  # the focus is seen
    tab.keyboard.press("Tab")
    assert said(tab).startswith("Pixel at epitome 1, row 6, column 6:")
    for _ in range(6):
        tab.keyboard.press("ArrowRight")
    assert said(tab).startswith("Pixel at epitome 2, row 6, column 0:")  # over the gap between two epitomes
    for _ in range(40):
        tab.keyboard.press("ArrowUp")
    assert said(tab).startswith("Pixel at epitome 2, row 0, column 0:")
    tab.keyboard.press("Escape")
    assert said(tab) == "Nothing is selected."


def test_what_is_chosen_goes_with_the_mouse_and_stays_after_a_click(opened: Any, data: ReportData) -> None:
    tab = opened()
    unfold(tab)
    point(tab, "image", (30.0, 30.0), data.noisy.shape)
    assert said(tab).startswith("Patch")
    tab.mouse.move(2, 2)
    assert said(tab) == "Nothing is selected."
    point(tab, "image", (30.0, 30.0), data.noisy.shape)
    tab.mouse.down()
    tab.mouse.up()
    tab.mouse.move(2, 2)
    assert said(tab).startswith("Patch")
    tab.set_viewport_size({"width": 500, "height": 600})
    assert veil(tab, "image", (30.0, 30.0), data.noisy.shape) == 0  # drawn anew, at the new size


def test_colour_in_16_bits(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    data = report_data(rng, (220, 240, 3), "uint16", audit=None, error=None)
    write_report(tmp_path / "colour.html", data)
    heard: list[str] = []
    tab = browser.new_page()
    tab.on("console", lambda message: heard.append(message.text))
    tab.on("pageerror", lambda error: heard.append(str(error)))
    tab.goto((tmp_path / "colour.html").as_uri())
    unfold(tab)
    point(tab, "image", (103.0, 120.0), data.noisy.shape)
    assert said(tab).startswith("Patch of 6 x 6 pixels at row 100") and not heard
    tab.close()
