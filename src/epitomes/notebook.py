"""HTML for notebooks: epitomes, fits and restored images as small pictures with their main numbers.

Notebooks ask a value for `_repr_html_`, which comes from `epitomes.display.repr_html` and calls `html`. The HTML holds
its pictures as data URIs and has no script, so it works offline and survives export.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from epitomes.draw import EmbeddedImage, Series, embed, epitome_picture, png_curve, render
from epitomes.draw.tones import Bytes, grey_levels, robust_range
from epitomes.epitome import Epitome
from epitomes.learn import Fit
from epitomes.restoration import Restored

LARGEST = 420  # CSS pixels of a picture in a cell, in either direction

Fact = tuple[str, str]  # name, value
Described = tuple[EmbeddedImage, str]  # a picture, and its description for screen readers


@singledispatch
def html(value: object) -> str:
    """Show a value as HTML for a notebook.

    Parameters
    ----------
    value : Epitome, Fit or Restored
        The value to show.

    Returns
    -------
    str
        An HTML fragment with pictures and a table of facts.

    Raises
    ------
    TypeError
        If the value is of another type.

    Examples
    --------
    >>> from epitomes.learn import cosines
    >>> from epitomes.notebook import html
    >>> from epitomes.phi import windows
    >>> "25 atoms of 8 x 8" in html(cosines(windows((12, 12), (8, 8))))
    True
    """
    raise TypeError(f"html shows an Epitome, a Fit or a Restored, got {type(value).__name__}")


@html.register
def _(value: Epitome) -> str:
    return _card("Epitome", [_epitome(value)], _about(value))


@html.register
def _(value: Fit) -> str:
    last = value.history[-1]
    facts = [
        ("steps", f"{len(value.history)}; {value.reason}"),
        ("objective", f"{last.objective:.6g} per patch"),
        ("atoms per patch", f"{last.sparsity:.2f}"),
        ("seconds", f"{sum(one.seconds for one in value.history):.2f}"),
    ]
    return _card("Fit", [_epitome(value.epitome), _objective(value)], [*_about(value.epitome), *facts])


@html.register
def _(value: Restored) -> str:
    pictures = [_image(value.image)]
    facts = [("image", f"{_lengths(value.image.shape)}, {value.image.dtype}"), ("seconds", f"{value.seconds:.2f}")]
    if value.epitome is not None:
        pictures.append(_epitome(value.epitome))
        facts += _about(value.epitome)
    if value.fit is not None:
        pictures.append(_objective(value.fit))
    return _card("Restored", pictures, facts)


def _card(title: str, pictures: Sequence[Described], facts: Sequence[Fact]) -> str:
    return render("card.html", {"title": title, "pictures": pictures, "facts": facts})


def _about(epitome: Epitome) -> list[Fact]:
    phi = epitome.phi
    return [
        ("epitome", f"{_lengths(phi.epitome_shape)}, {epitome.pixels.dtype}"),
        ("dictionary", f"{phi.n_atoms} atoms of {_lengths(phi.patch_shape)}"),
    ]


def _epitome(epitome: Epitome) -> Described:
    about = dict(_about(epitome))
    drawn = _reduced(epitome_picture(epitome), LARGEST, sharp=True)
    return embed(drawn, sharp=True), f"epitome of {about['epitome']}, {about['dictionary']}"


def _objective(fit: Fit) -> Described:
    line = Series("objective", [one.index for one in fit.history], [one.objective for one in fit.history])
    # Not SVG: notebook viewers remove it, and it cannot know the colours of a notebook's theme.
    chart = png_curve([line], title="Objective", x_label="step", y_label="mean per patch", width=LARGEST, height=260)
    ends = f"from {fit.history[0].objective:.6g} to {fit.history[-1].objective:.6g}"
    drawn = EmbeddedImage(embed(chart).png, chart.shape[1] // 2, chart.shape[0] // 2)  # fine screens show all pixels
    return drawn, f"line chart of the objective, {ends} in {len(fit.history)} steps"


def _image(image: NDArray[Any]) -> Described:
    plane, which = _plane(image)
    low, high = robust_range([plane], outside=0.1)
    drawn = _reduced(grey_levels(plane, low, high), LARGEST)
    return embed(drawn), f"restored image{which}, black {low:.4g} to white {high:.4g}"


def _plane(image: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """Choose what a screen can show: of stacks and volumes the middle slice."""
    which = ""
    while image.ndim > 2 and not (image.ndim == 3 and image.shape[2] == 3):
        image, which = image[len(image) // 2], ", middle slice"
    return np.atleast_2d(image), which


def _reduced(pixels: Bytes, most: int, *, sharp: bool = False) -> Bytes:
    """Reduce a picture to at most `most` pixels in either direction."""
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    picture.thumbnail((most, most), Image.Resampling.NEAREST if sharp else Image.Resampling.BOX)
    return np.asarray(picture)


def _lengths(shape: tuple[int, ...]) -> str:
    return " x ".join(str(length) for length in shape)
