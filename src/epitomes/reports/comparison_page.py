"""A page that shows what several methods made of one image, side by side, with one zoom for all."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes.draw import EmbeddedImage, Table, embed, page
from epitomes.draw.tones import grey_levels, robust_range
from epitomes.files import write_atomically
from epitomes.reports.pictures import SPREAD, block_means

MOST_PIXELS = 8_000_000  # of all images of a page together
COLOURS = 3


@dataclass(frozen=True, eq=False)
class Exhibit:
    """One image of the comparison.

    Parameters
    ----------
    label : str
        Name of the method, or what the image is.
    image : ndarray
        The image, grey or with channels last.
    caption : str, default: ""
        A few figures.
    result : bool, default: True
        Whether a method made it, so that what it removed can be shown.

    See Also
    --------
    write_comparison : The page.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.reports import Exhibit
    >>> Exhibit("K-SVD", np.zeros((16, 16))).result
    True
    """

    label: str
    image: NDArray[Any]
    caption: str = ""
    result: bool = True


@dataclass(frozen=True)
class Pane:
    """An image on the page."""

    label: str
    caption: str
    shown: EmbeddedImage
    removed: EmbeddedImage | None


def write_comparison(
    path: str | os.PathLike[str],
    noisy: NDArray[Any],
    exhibits: Sequence[Exhibit],
    *,
    table: Table | None = None,
    name: str = "image",
    noise: str = "",
    notes: Sequence[str] = (),
    command: str = "",
    overwrite: bool = False,
) -> None:
    """Write a page with images of one scene side by side.

    The page holds everything it shows, works offline, and sends no request. Dragging or scrolling in one image moves
    all.

    Parameters
    ----------
    path : path-like
        File to write. It is written completely or not at all.
    noisy : ndarray
        The noisy image, grey or with channels last. What a method removed is the difference from it.
    exhibits : sequence of Exhibit
        The other images, of the same shape.
    table : Table, optional
        Figures of the methods.
    name : str, default: "image"
        Title of the page.
    noise : str, optional
        The noise in words.
    notes : sequence of str, optional
        What the reader should know.
    command : str, optional
        Command that makes the page again.
    overwrite : bool, default: False
        Whether an existing file may be replaced.

    Raises
    ------
    ValueError
        If there are no exhibits, or their shapes differ.
    FileExistsError
        If the file exists and `overwrite` is False.

    See Also
    --------
    write_report : A page about one result.
    epitomes.baselines.compare : Run several methods.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from epitomes.reports import Exhibit, write_comparison
    >>> noisy = np.random.default_rng(0).normal(100.0, 5.0, (32, 32))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "page.html"
    ...     write_comparison(file, noisy, [Exhibit("flat", np.full((32, 32), 100.0))], name="board.png")
    ...     "board.png" in file.read_text(encoding="utf-8")
    True
    """
    if not exhibits:
        raise ValueError("exhibits needs at least one image to compare with, got none")
    for each in exhibits:
        if each.image.shape != noisy.shape:
            raise ValueError(
                f"{each.label} has shape {each.image.shape}, the noisy image {noisy.shape}: they must agree"
            )
    everything = [Exhibit("noisy", noisy, result=False), *exhibits]
    factor = max(1, math.ceil(math.sqrt(noisy.shape[0] * noisy.shape[1] * 2 * len(everything) / MOST_PIXELS)))
    values = {
        "name": name,
        "noise": noise,
        "panes": _panes(everything, factor),
        "table": table,
        "factor": factor,
        "notes": list(notes),
        "line": command,
    }
    text = page("comparison.html", values, styles=["comparison.css"], scripts=["comparison.js"])
    write_atomically(Path(path), text.encode("utf-8", "replace"), overwrite=overwrite)


def _panes(exhibits: Sequence[Exhibit], factor: int) -> list[Pane]:
    """All images in one grey scale, reduced alike, with what each method removed."""
    noisy = _colours(exhibits[0].image)
    low, high = (0.0, 255.0) if exhibits[0].image.dtype == np.uint8 else robust_range([noisy[::factor, ::factor]], 0.1)
    differences = [block_means(noisy - _colours(each.image), factor) if each.result else None for each in exhibits]
    spread = SPREAD * max([float(each.std()) for each in differences if each is not None], default=1.0)
    return [
        Pane(
            each.label,
            each.caption,
            embed(grey_levels(block_means(_colours(each.image), factor), low, high)),
            None if removed is None else embed(grey_levels(removed, -spread, spread)),
        )
        for each, removed in zip(exhibits, differences, strict=True)
    ]


def _colours(image: NDArray[Any]) -> NDArray[np.float64]:
    """The image in float64; of channels that are no colours, the first."""
    plane = image if image.ndim == 2 or image.shape[2] == COLOURS else image[..., 0]
    return np.asarray(plane, np.float64)
