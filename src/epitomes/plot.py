"""Plots with matplotlib, for papers and notebooks: each draws on the axes it is given, or new ones, and returns them.

`pip install "epitomes[plot]"` brings matplotlib, which nothing else here needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.coders import Codes
from epitomes.dictionary import Dictionary
from epitomes.draw import dictionary_picture, epitome_picture, usage_picture
from epitomes.draw.tones import Bytes, grey_levels, robust_range
from epitomes.epitome import Epitome
from epitomes.learn import Fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def epitome(value: Epitome, *, ax: Axes | None = None) -> Axes:
    """The epitome, or several as a grid, all in one grey scale."""
    return _shown(epitome_picture(value), _new(ax), f"{value.phi.n_atoms} atoms")


def dictionary(value: Dictionary, patch_shape: tuple[int, ...], *, ax: Axes | None = None) -> Axes:
    """All atoms as a grid of patches."""
    return _shown(dictionary_picture(value, patch_shape), _new(ax), f"{value.n_atoms} atoms")


def usage(value: Epitome, codes: Codes, *, ax: Axes | None = None) -> Axes:
    """Where the codes draw upon the epitome: the brighter, the more."""
    return _shown(usage_picture(value, codes), _new(ax), "use of the epitome")


def objective(fit: Fit, *, ax: Axes | None = None, label: str | None = None) -> Axes:
    """The objective after each step; several fits may share axes."""
    axes = _new(ax)
    axes.plot([one.index for one in fit.history], [one.objective for one in fit.history], label=label)
    axes.set_xlabel("step")
    axes.set_ylabel("objective per patch")
    if label is not None:
        axes.legend()
    return axes


def restored(noisy: ArrayLike, result: ArrayLike, *, axes: NDArray[Any] | None = None) -> NDArray[Any]:
    """The noisy image, the restored one in the same grey scale, and what was taken away: an array of three axes.

    What was taken away should look like noise and nothing else. `result` is what `denoise` returns, or an array.
    """
    before, after = np.asarray(noisy, np.float64), np.asarray(result, np.float64)
    if before.shape != after.shape:
        raise ValueError(f"noisy has shape {before.shape}, the result {after.shape}: give both of one image")
    three = np.ravel(_subplots(3) if axes is None else np.asarray(axes))
    if len(three) != 3:
        raise ValueError(f"axes needs 3 of them, got {len(three)}")
    low, high = robust_range([after], outside=0.1)
    taken = before - after
    most = float(np.percentile(np.abs(taken), 99.9))
    _image(before, low, high, three[0], "noisy")
    _image(after, low, high, three[1], "restored")
    _image(taken, -most, most, three[2], "taken away")
    return three


def _image(values: NDArray[Any], low: float, high: float, ax: Axes, title: str) -> None:
    if values.ndim == 2:
        ax.imshow(values, cmap="gray", vmin=low, vmax=high)  # values, so that the cursor tells them
        ax.set(title=title, xticks=[], yticks=[])
    else:
        _shown(grey_levels(values, low, high), ax, title)


def _shown(picture: Bytes, ax: Axes, title: str) -> Axes:
    """A picture whose pixels are ready for the screen."""
    ax.imshow(picture, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    ax.set(title=title, xticks=[], yticks=[])
    return ax


def _new(ax: Axes | None) -> Axes:
    return _subplots(1) if ax is None else ax


def _subplots(count: int) -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "epitomes[plot]"') from error
    return pyplot.subplots(1, count, figsize=(4.0 * count, 4.0), layout="constrained")[1]
