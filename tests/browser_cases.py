"""What the tests of pages do in a browser."""

from __future__ import annotations

from typing import Any

STATES: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True},
}


def cut(tab: Any) -> str:
    """Where the noisy image is cut off."""
    clip: str = tab.locator("#whole .before").evaluate("one => getComputedStyle(one).clipPath")
    return clip


def unfold(tab: Any) -> None:
    """Open all folded sections."""
    folded = tab.locator("details:not([open]) > summary")
    while folded.count():
        folded.first.click()


def said(tab: Any) -> str:
    """What the page says about the selection."""
    words: str = tab.locator("#usage-said").inner_text()
    return words


def point(tab: Any, name: str, place: tuple[float, float], size: tuple[int, ...]) -> None:
    """Move the mouse to a place, row and column, of a picture of that size, wherever it is on the screen."""
    frame = tab.locator(f"#{name}-stage")
    frame.scroll_into_view_if_needed()
    box = frame.bounding_box()
    tab.mouse.move(box["x"] + place[1] / size[1] * box["width"], box["y"] + place[0] / size[0] * box["height"])
