"""Whether a format can hold a large picture is found out with two strips of it, not with all of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from epitomes.formats import ImageFileError, Picture, require_format, writing


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[Picture]:
    """Every picture that is encoded from now on."""
    found: list[Picture] = []
    real = writing._encoded

    def noted(kind: object, picture: Picture) -> bytes:
        found.append(picture)
        return real(kind, picture)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "_encoded", noted)
    return found


@pytest.mark.parametrize("axes", ["YX", "YXC", "CYX"])
def test_a_large_picture_is_encoded_in_strips(encoded: list[Picture], axes: str) -> None:
    lengths = {"Y": 1100, "X": 1300, "C": 3}
    pixels = np.zeros([lengths[letter] for letter in axes], np.uint8)
    require_format("a.tif", Picture(pixels, axes))
    shapes = [dict(zip(axes, each.pixels.shape, strict=True)) for each in encoded]
    assert [(shape["Y"], shape["X"]) for shape in shapes] == [(1100, 16), (16, 1300)]
    assert all(shape.get("C", 3) == 3 for shape in shapes)


def test_alpha_is_cut_with_the_pixels(encoded: list[Picture]) -> None:
    pixels = np.zeros((1100, 1300, 3), np.uint8)
    require_format("a.png", replace(Picture(pixels, "YXC"), alpha=pixels[..., 0]))
    assert [each.alpha.shape for each in encoded if each.alpha is not None] == [(1100, 16), (16, 1300)]


@pytest.mark.parametrize("shape", [(70_000, 20), (20, 70_000)])
def test_a_side_that_is_too_long_is_found_in_a_strip(shape: tuple[int, int], encoded: list[Picture]) -> None:
    with pytest.raises(ImageFileError, match="65"):
        require_format("a.jpg", Picture(np.zeros(shape, np.uint8), "YX"))
    require_format("a.png", Picture(np.zeros(shape, np.uint8), "YX"))
    assert max(each.pixels.size for each in encoded) <= 16 * 70_000


def test_small_pictures_are_encoded_whole(encoded: list[Picture]) -> None:
    require_format("a.png", Picture(np.zeros((30, 40), np.uint8), "YX"))
    assert [each.pixels.shape for each in encoded] == [(30, 40)]
