"""The report in a browser: Debian's chromium, driven by Playwright; axe judges what assistive technology meets."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_cases import NASTY, Noise, Verdict, story

from epitomes.reports import Story, write_report
from epitomes.reports.usage import Usage, usage

playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser: pip install playwright")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python")

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="the tests of the report need apt-get install chromium")

QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
QUIET += ("--disable-sync", "--no-first-run")
STATES: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True},
}


@pytest.fixture(scope="module")
def told() -> Story:
    """A story in which a name tries to run a script."""
    rng = np.random.default_rng(0)
    warned = Verdict(np.abs(rng.standard_normal((72, 96))), "warn", ("edges were cut", NASTY), ("use a smaller sigma",))
    return story(rng, audit=warned, name=f"board {NASTY}", noise=Noise(reliable=False, reason=NASTY), notes=(NASTY,))


@pytest.fixture(scope="module")
def used(told: Story) -> Usage:
    found = usage(told.before, told.restored.epitome, told.level)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def address(told: Story, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, told)
    return path.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Any]:
    """Opens the page in some state; in the end nothing was said on the console, and nothing was asked for elsewhere."""
    heard: list[str] = []
    contexts = []

    def opened(**state: Any) -> Any:
        contexts.append(browser.new_context(**state))
        tab = contexts[-1].new_page()
        tab.on("console", lambda message: heard.append(f"console: {message.text}"))
        tab.on("pageerror", lambda error: heard.append(f"error: {error}"))
        tab.on("request", lambda request: heard.append(f"request: {request.url[:100]}"))
        tab.goto(address)
        return tab

    yield opened
    for context in contexts:
        context.close()
    asked = [line for line in heard if line != f"request: {address}"[:109] and not line.startswith("request: data:")]
    assert not asked


def cut(tab: Any) -> str:
    clip: str = tab.locator("#whole .before").evaluate("one => getComputedStyle(one).clipPath")
    return clip


def said(tab: Any) -> str:
    words: str = tab.locator("#usage-said").inner_text()
    return words


def point(tab: Any, name: str, place: tuple[float, float], size: tuple[int, ...]) -> None:
    """Move the mouse to a place, row and column, of a picture of that size, wherever it is on the screen."""
    frame = tab.locator(f"#{name}-stage")
    frame.scroll_into_view_if_needed()
    box = frame.bounding_box()
    tab.mouse.move(box["x"] + place[1] / size[1] * box["width"], box["y"] + place[0] / size[0] * box["height"])


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
    box = tab.locator("#whole").bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 30)
    tab.mouse.up()
    assert tab.locator("#whole-cut").input_value() == "80" and "20%" in cut(tab)
    tab.mouse.move(box["x"] + box["width"] * 0.1, box["y"] + 30)  # let go: it stays
    assert tab.locator("#whole-cut").input_value() == "80"
    tab = opened(**STATES["phone"])
    tab.locator("#whole").scroll_into_view_if_needed()
    box = tab.locator("#whole").bounding_box()
    tab.touchscreen.tap(box["x"] + box["width"] / 4, box["y"] + 20)
    assert tab.locator("#whole-cut").input_value() == "25"


@pytest.mark.parametrize("state", STATES)
def test_a_patch_lights_its_windows_up(state: str, opened: Any, told: Story, used: Usage) -> None:
    tab = opened(**STATES[state])
    number = np.argwhere(used.numbers[..., 1] < len(used.windows))[10]  # a patch with two windows or more
    row, column = used.rows[number[0]], used.columns[number[1]]
    point(tab, "image", (row + 3.0, column + 3.0), told.noisy.shape)
    places = [used.windows[one] for one in used.numbers[tuple(number)] if one < len(used.windows)]
    expected = "; ".join(
        f"window {rank} at epitome {tile + 1}, row {top}, column {left}"
        for rank, (tile, top, left, _, _) in enumerate(places, start=1)
    )
    assert said(tab) == f"Patch of 6 x 6 pixels at row {row}, column {column}: coded by {expected}."
    assert veil(tab, "image", (row + 3.0, column + 3.0), told.noisy.shape) == 0
    assert veil(tab, "image", ((row + 36.0) % 72, column + 3.0), told.noisy.shape) > 100
    held = np.zeros(used.sheet.shape, bool)
    for tile, top, left, height, width in np.array(places, int):
        y, x = used.tiles[tile][0] + top, used.tiles[tile][1] + left
        held[y : y + height, x : x + width] = True
        assert veil(tab, "epitome", (y + 4.5, x + 4.5), used.sheet.shape) == 0  # clear of the number in the corner
    dark = np.argwhere(~held)[0]
    assert veil(tab, "epitome", tuple(dark + 0.5), used.sheet.shape) > 100


def test_a_pixel_lights_its_patches_up(opened: Any, told: Story, used: Usage) -> None:
    tab = opened()
    tile, y, x = 1, 6, 5
    held = [t == tile and top <= y < top + h and left <= x < left + w for t, top, left, h, w in used.windows.tolist()]
    users = np.array([*held, False])[used.numbers].any(axis=2)
    spot = used.tiles[tile][:2] + np.array([y + 0.5, x + 0.5])
    point(tab, "epitome", tuple(spot), used.sheet.shape)
    share = f"{100 * users.mean():.1f} %"
    assert said(tab) == f"Pixel at epitome 2, row 6, column 5: used by {users.sum()} of {users.size} patches, {share}."
    lit = np.zeros(told.noisy.shape, bool)
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
    assert said(tab) == "Nothing is chosen."


def test_what_is_chosen_goes_with_the_mouse_and_stays_after_a_click(opened: Any, told: Story) -> None:
    tab = opened()
    point(tab, "image", (30.0, 30.0), told.noisy.shape)
    assert said(tab).startswith("Patch")
    tab.mouse.move(2, 2)
    assert said(tab) == "Nothing is chosen."
    point(tab, "image", (30.0, 30.0), told.noisy.shape)
    tab.mouse.down()
    tab.mouse.up()
    tab.mouse.move(2, 2)
    assert said(tab).startswith("Patch")
    tab.set_viewport_size({"width": 500, "height": 600})
    assert veil(tab, "image", (30.0, 30.0), told.noisy.shape) == 0  # drawn anew, at the new size


@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing(state: str, opened: Any, told: Story) -> None:
    tab = opened(**STATES[state])
    point(tab, "image", (30.0, 30.0), told.noisy.shape)
    found = axe.Axe().run(tab).response["violations"]
    assert [(one["impact"], one["id"], [node["html"][:80] for node in one["nodes"]]) for one in found] == []


@pytest.mark.parametrize("state", STATES)
def test_nothing_is_wider_than_the_screen(state: str, opened: Any) -> None:
    tab = opened(**STATES[state])
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_paper_shows_both_images(opened: Any) -> None:
    tab = opened()
    tab.emulate_media(media="print")
    assert cut(tab) == "none"
    before, after = (tab.locator(f"#whole .{one}").bounding_box() for one in ("before", "after"))
    assert before["x"] + before["width"] <= after["x"] and before["y"] == after["y"]
    for hidden in ("#whole-cut", "#image-stage", "#epitome-stage canvas", "nav"):
        assert not tab.locator(hidden).is_visible(), hidden
    assert tab.locator("#epitome-stage img").is_visible()


def test_without_a_script_both_images_are_shown(opened: Any) -> None:
    tab = opened(java_script_enabled=False)
    for name in ("before", "after"):
        assert tab.locator(f"#whole .{name}").is_visible()
    assert not tab.locator("#whole-cut").is_visible() and not tab.locator("#image-stage").is_visible()


def test_colour_in_16_bits(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    told = story(rng, (220, 240, 3), "uint16", audit=None, error=None)
    write_report(tmp_path / "colour.html", told)
    heard: list[str] = []
    tab = browser.new_page()
    tab.on("console", lambda message: heard.append(message.text))
    tab.on("pageerror", lambda error: heard.append(str(error)))
    tab.goto((tmp_path / "colour.html").as_uri())
    point(tab, "image", (103.0, 120.0), told.noisy.shape)
    assert said(tab).startswith("Patch of 6 x 6 pixels at row 100") and not heard
    tab.close()
