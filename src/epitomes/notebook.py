"""Notebook manners: epitomes, fits and restored images show themselves as pictures where a result is displayed.

Notebooks ask a value for `_repr_html_`. The classes lie below the drawing and know nothing of it: the public
`__init__`, above both, gives them that method, which comes here. All is in the HTML itself: PNG as data URIs, no
script, no network, sizes that suit a cell.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import singledispatch
from html import escape
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from epitomes.draw import Series, epitome_picture, png_curve
from epitomes.draw.tones import Bytes, grey_levels, robust_range
from epitomes.epitome import Epitome
from epitomes.learn import Fit
from epitomes.restoration import Restored

LARGEST = 420  # pixels of a picture in a cell, either way

Facts = Sequence[tuple[str, str]]


@singledispatch
def html(value: object) -> str:
    """A value as HTML that stands alone: the pictures side by side, and what there is to know below them."""
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
    figures = [_picture(value.image)]
    facts = [("image", f"{_lengths(value.image.shape)}, {value.image.dtype}"), ("seconds", f"{value.seconds:.2f}")]
    if value.epitome is not None:
        figures.append(_epitome(value.epitome))
        facts += _about(value.epitome)
    if value.fit is not None:
        figures.append(_objective(value.fit))
    return _card("Restored", figures, facts)


def _about(epitome: Epitome) -> Facts:
    phi = epitome.phi
    return [
        ("epitome", f"{_lengths(phi.epitome_shape)}, {epitome.pixels.dtype}"),
        ("dictionary", f"{phi.n_atoms} atoms of {_lengths(phi.patch_shape)}"),
    ]


def _epitome(epitome: Epitome) -> str:
    about = dict(_about(epitome))
    return _figure(epitome_picture(epitome), f"epitome of {about['epitome']}, {about['dictionary']}", sharp=True)


def _objective(fit: Fit) -> str:
    line = Series("objective", [one.index for one in fit.history], [one.objective for one in fit.history])
    # Not SVG: viewers of notebooks strip it, and its ink cannot know the colour of a notebook's own theme.
    chart = png_curve([line], title="Objective", x_label="step", y_label="mean per patch", width=LARGEST, height=260)
    ends = f"from {fit.history[0].objective:.6g} to {fit.history[-1].objective:.6g}"
    return _figure(chart, f"line chart of the objective, {ends} in {len(fit.history)} steps", density=2)


def _picture(image: NDArray[Any]) -> str:
    plane, which = _plane(image)
    low, high = robust_range([plane], outside=0.1)
    return _figure(grey_levels(plane, low, high), f"restored image{which}, black {low:.4g} to white {high:.4g}")


def _plane(image: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """What a screen can show of an image: colours whole, of stacks and volumes the slice in the middle."""
    which = ""
    while image.ndim > 2 and not (image.ndim == 3 and image.shape[2] == 3):
        image, which = image[len(image) // 2], ", a slice in the middle"
    return np.atleast_2d(image), which


def _figure(pixels: Bytes, words: str, *, sharp: bool = False, density: int = 1) -> str:
    """A small picture; `sharp` ones are not smoothed when reduced or enlarged, `density` is for fine screens."""
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    most = LARGEST * density
    if max(picture.size) > most:
        picture.thumbnail((most, most), Image.Resampling.NEAREST if sharp else Image.Resampling.BOX)
    file = BytesIO()
    picture.save(file, "PNG", optimize=True)
    width, height = picture.width // density, picture.height // density
    edges = ";image-rendering:pixelated" if sharp else ""
    uri = f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"
    return f'<img src="{uri}" width="{width}" height="{height}" alt="{escape(words)}" style="max-width:100%{edges}">'


def _card(name: str, figures: Sequence[str], facts: Facts) -> str:
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(key)}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for key, value in facts
    )
    row = '<div style="display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start">'
    return (
        f'<div class="epitomes"><strong>{escape(name)}</strong>{row}{"".join(figures)}</div><table>{rows}</table></div>'
    )


def _lengths(shape: tuple[int, ...]) -> str:
    return " x ".join(str(length) for length in shape)
