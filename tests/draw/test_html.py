"""HTML from templates: everything is inside the page, all text is escaped, and the structure suits screen readers."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from importlib.resources import files

import numpy as np
import pytest
from page_reader import Reader
from PIL import Image

from epitomes.draw import Series, Table, embed, page, render, svg_curve
from epitomes.draw.html import is_numeric

NASTY = "<script>alert(\"x\")</script> & 'y'"
TEMPLATES = files("epitomes") / "templates"


@pytest.fixture
def pixels(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 256, (6, 9), dtype=np.uint8)


@pytest.fixture
def read(pixels: np.ndarray) -> Reader:
    """A page of the paper in which all words are hostile."""
    table = Table(NASTY, (NASTY, "dB"), [(NASTY, 1.5), ("b", "–")])
    one = {"text": NASTY, "picture": embed(pixels, zoom=2, sharp=True), "alt": NASTY, "tables": [(table, NASTY)]}
    reports = [{**one, "name": name, "title": NASTY, "notes": [NASTY]} for name in ("table1", "fig1")]
    return Reader(page("paper.html", {"title": NASTY, "reports": reports}))


def test_text_is_escaped_everywhere(read: Reader) -> None:
    assert not read.all("script")
    assert read.words.count(NASTY) >= 18


def test_pictures_are_inside_with_descriptions(read: Reader, pixels: np.ndarray) -> None:
    for picture in read.all("img"):
        assert picture["alt"] == NASTY and picture["class"] == "sharp"
        assert (picture["width"], picture["height"]) == ("18", "12")
        head, _, data = (picture["src"] or "").partition(",")
        assert head == "data:image/png;base64"
        with Image.open(io.BytesIO(base64.b64decode(data))) as back:
            np.testing.assert_array_equal(np.asarray(back), pixels)
    assert len(read.all("img")) == len(read.all("figure")) == len(read.all("figcaption")) == 2


def test_charts_go_into_pages_as_they_are() -> None:
    curve = svg_curve([Series(NASTY, [1, 2], [1.0, 2.0])], title=NASTY, x_label=NASTY, y_label=NASTY)
    read = Reader(render("card.html", {"title": curve, "pictures": [], "facts": []}))
    assert len(read.all("svg")) == 1 and not read.all("script") and NASTY in (read.all("svg")[0]["aria-label"] or "")


def test_nothing_comes_from_elsewhere(read: Reader) -> None:
    for _, attributes in read.found:
        for name in ("src", "href"):
            assert (attributes.get(name) or "#").startswith(("data:", "#"))
    (policy,) = [meta["content"] for meta in read.all("meta") if "http-equiv" in meta]
    assert policy is not None and policy.startswith("default-src 'none'")
    assert "unsafe" not in policy and "script-src" not in policy


def test_the_policy_names_the_style() -> None:
    text = page("paper.html", {"title": "t", "reports": []})
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = [meta["content"] for meta in Reader(text).all("meta") if "http-equiv" in meta]
    assert f"style-src 'sha256-{digest}';" in (policy or "")
    assert "prefers-color-scheme: dark" in style and "@media print" in style


def test_structure(read: Reader) -> None:
    assert read.all("html")[0]["lang"] == "en"
    assert len(read.all("h1")) == 1 and len(read.all("h2")) == 2 and len(read.all("main")) == 1
    ids = [attributes["id"] for _, attributes in read.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {(a["href"] or "")[1:] for a in read.all("a")} <= set(ids)
    assert len(read.all("caption")) == 2 and {th.get("scope") for th in read.all("th")} == {"row", "col"}
    assert [td.get("class") for td in read.all("td")] == ["number"] * 4
    assert [th.get("class") for th in read.all("th")[:2]] == [None, "number"]


def test_numeric_cells() -> None:
    assert all(map(is_numeric, (1, 2.5, "3.1", "-4", "–", "+0.12")))
    assert not any(map(is_numeric, ("a", "", "1 to 2")))


def test_ragged_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="needs 2 cells in each row, got 1"):
        Table("c", ("a", "b"), [("only",)])


def test_missing_values_are_refused() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError):
        render("card.html", {"title": "t"})


@pytest.mark.parametrize("name", sorted(one.name for one in TEMPLATES.iterdir()))
def test_templates_escape_everything_but_styles_and_scripts(name: str) -> None:
    """`safe` switches escaping off: only the two files of the package in base.html need it."""
    text = (TEMPLATES / name).read_text(encoding="utf-8")
    allowed = {"base.html": ["style|safe", "script|safe"]}.get(name, [])
    assert re.findall(r"\w+\|\s*safe", text) == allowed and "autoescape" not in text
    if name.endswith((".css", ".js")):
        assert "</" not in text  # it would end its element
