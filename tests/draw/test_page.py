"""Pages: all is inside, all text is escaped, and the structure is what browsers and screen readers expect."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from page_reader import Reader
from PIL import Image

from epitomes.draw import Command, Figure, Section, Series, Table, Text, page, svg_curve

NASTY = "<script>alert(\"x\")</script> & 'y'"


@pytest.fixture
def pixels(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 256, (6, 9), dtype=np.uint8)


@pytest.fixture
def read(pixels: np.ndarray) -> Reader:
    curve = svg_curve([Series(NASTY, [1, 2], [1.0, 2.0])], title=NASTY, x_label=NASTY, y_label=NASTY)
    parts = [
        Text(NASTY),
        Figure(pixels, NASTY, NASTY, sharp=True),
        Figure(curve, NASTY, NASTY),
        Table(NASTY, (NASTY, "dB"), [(NASTY, 1.5), ("b", "–")]),
        Command(NASTY),
    ]
    return Reader(page(NASTY, [Section(NASTY, parts), Section("two", [Text("words")])], summary=NASTY))


def test_text_is_escaped_everywhere(read: Reader) -> None:
    assert not read.all("script")
    assert read.words.count(NASTY) >= 9


def test_pictures_are_inside_with_words(read: Reader, pixels: np.ndarray) -> None:
    (picture,) = read.all("img")
    assert picture["alt"] == NASTY and picture["class"] == "sharp"
    head, _, data = (picture["src"] or "").partition(",")
    assert head == "data:image/png;base64"
    with Image.open(io.BytesIO(base64.b64decode(data))) as back:
        np.testing.assert_array_equal(np.asarray(back), pixels)
    assert len(read.all("figure")) == len(read.all("figcaption")) == 2
    assert all(svg.get("aria-label") for svg in read.all("svg"))


def test_nothing_comes_from_elsewhere(read: Reader) -> None:
    for _, attributes in read.found:
        for name in ("src", "href"):
            assert (attributes.get(name) or "#").startswith(("data:", "#"))
    (policy,) = [meta["content"] for meta in read.all("meta") if "http-equiv" in meta]
    assert policy is not None and policy.startswith("default-src 'none'")


def test_structure(read: Reader) -> None:
    assert read.all("html")[0]["lang"] == "en"
    assert len(read.all("h1")) == 1 and len(read.all("h2")) == 2 and len(read.all("main")) == 1
    ids = [attributes["id"] for _, attributes in read.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {(a["href"] or "")[1:] for a in read.all("a")} <= set(ids)
    assert len(read.all("caption")) == 1 and {th.get("scope") for th in read.all("th")} == {"row", "col"}
    assert [td.get("class") for td in read.all("td")] == ["number", "number"]


def test_dark_print_and_ragged_tables() -> None:
    text = page("t", [])
    assert "prefers-color-scheme:dark" in text and "@media print" in text
    with pytest.raises(ValueError, match="needs 2 cells, got 1"):
        page("t", [Section("s", [Table("c", ("a", "b"), [("only",)])])])
