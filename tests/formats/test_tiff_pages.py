"""The chain of TIFF pages: sound in every variant of the format, refused where it is broken."""

from __future__ import annotations

import io
import logging
import struct
from pathlib import Path

import format_cases as cases
import numpy as np
import pytest
import tifffile

from epitomes.formats import ImageFileError, read
from epitomes.formats.tiff_pages import require_pages

VARIANTS = [("<", False), (">", False), ("<", True), (">", True)]


def stack(order: str = "<", big: bool = False) -> tuple[bytearray, list[int], list[int]]:
    """A file of four pages, where its pages start, and where the offset of each page is written."""
    content = io.BytesIO()
    with tifffile.TiffWriter(content, byteorder=order, bigtiff=big) as writer:
        for _ in range(4):
            writer.write(np.zeros((5, 4), np.uint8), metadata=None, description="a page " * 9, contiguous=False)
    with tifffile.TiffFile(io.BytesIO(content.getvalue())) as tiff:
        pages = [page.offset for page in tiff.pages]
    raw = bytearray(content.getvalue())
    return raw, pages, [raw.rindex(struct.pack(f"{order}{'Q' if big else 'I'}", page)) for page in pages]


@pytest.mark.parametrize(("order", "big"), VARIANTS)
def test_sound_chains_pass(order: str, big: bool) -> None:
    raw, pages, _ = stack(order, big)
    file = io.BytesIO(raw)
    require_pages(file)
    assert len(pages) == 4 and file.tell() == 0


@pytest.mark.parametrize(("order", "big"), VARIANTS)
def test_broken_chains_are_refused(order: str, big: bool) -> None:
    raw, pages, links = stack(order, big)
    place = f"{order}{'Q' if big else 'I'}"

    def linked(page: int, goal: int) -> bytes:
        content = bytearray(raw)
        content[links[page] : links[page] + struct.calcsize(place)] = struct.pack(place, goal)
        return bytes(content)

    many = bytearray(raw)
    many[pages[2] : pages[2] + 2] = b"\xff\xff"
    broken = {
        "cut before the last page": bytes(raw[: pages[3]]),
        "cut inside a page": bytes(raw[: pages[3] + 30]),
        "out of the file": linked(2, len(raw) + 8),
        "a circle": linked(3, pages[1]),
        "too many tags": bytes(many),
        "no page at all": bytes(raw[:6]),
    }
    for name, content in broken.items():
        with pytest.raises(ImageFileError, match="not all of its pages can be found"):
            require_pages(io.BytesIO(content))
            pytest.fail(name)


def test_a_description_outside_of_the_file_is_refused() -> None:
    """It gives the axes: without it, a volume would become a stack of unknown meaning."""
    raw, pages, _ = stack()
    (n_tags,) = struct.unpack("<H", raw[pages[1] : pages[1] + 2])
    tags = [pages[1] + 2 + 12 * i for i in range(n_tags)]
    (at,) = (tag for tag in tags if struct.unpack("<H", raw[tag : tag + 2]) == (270,))
    for start, change in ((at + 8, struct.pack("<I", len(raw) - 9)), (at + 2, struct.pack("<H", 99))):
        broken = bytearray(raw)
        broken[start : start + len(change)] = change
        with pytest.raises(ImageFileError, match="not all of its pages can be found"):
            require_pages(io.BytesIO(broken))


def test_a_missing_page_is_noticed_whatever_the_logging_settings(tmp_path: Path) -> None:
    raw, pages, _ = stack()
    (tmp_path / "a.tif").write_bytes(raw[: pages[3]])
    logging.disable(logging.CRITICAL)
    try:
        assert len(tifffile.imread(tmp_path / "a.tif")) == 3  # tifffile says nothing
        cases.refused(tmp_path / "a.tif", "not all of its pages can be found")
    finally:
        logging.disable(logging.NOTSET)
    (tmp_path / "a.tif").write_bytes(raw)
    assert read(tmp_path / "a.tif").pixels.shape == (4, 5, 4)
