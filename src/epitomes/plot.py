"""Plots with matplotlib for papers and notebooks. Each function draws on given axes or new ones, and returns them.

Install matplotlib with ``pip install "epitomes[plot]"``.
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

__all__ = ["dictionary", "epitome", "objective", "restored", "usage"]


def epitome(value: Epitome, *, ax: Axes | None = None) -> Axes:
    """Plot an epitome, or several as a grid, in one grey scale.

    Parameters
    ----------
    value : Epitome
        The epitome.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. New ones if None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from epitomes import plot
    >>> from epitomes.learn import cosines
    >>> from epitomes.phi import windows
    >>> plot.epitome(cosines(windows((12, 12), (8, 8)))).get_title()
    '25 atoms'
    """
    return _picture(epitome_picture(value), _new(ax), f"{value.phi.n_atoms} atoms")


def dictionary(value: Dictionary, patch_shape: tuple[int, ...], *, ax: Axes | None = None) -> Axes:
    """Plot all atoms of a dictionary as a grid of patches.

    Parameters
    ----------
    value : Dictionary
        The dictionary.
    patch_shape : tuple of int
        Shape of a patch, for example ``(8, 8)``.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. New ones if None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ValueError
        If an atom has another number of pixels than `patch_shape`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from epitomes import plot
    >>> from epitomes.learn import cosines
    >>> from epitomes.phi import windows
    >>> plot.dictionary(cosines(windows((12, 12), (8, 8))).dictionary, (8, 8)).get_title()
    '25 atoms'
    """
    return _picture(dictionary_picture(value, patch_shape), _new(ax), f"{value.n_atoms} atoms")


def usage(value: Epitome, codes: Codes, *, ax: Axes | None = None) -> Axes:
    """Plot how many coded patches use each pixel of an epitome: the brighter, the more.

    Parameters
    ----------
    value : Epitome
        The epitome.
    codes : scipy.sparse.csr_array
        Codes of patches on the atoms of the epitome, ``(n, p)``.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. New ones if None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from epitomes import plot
    >>> from epitomes.coders import OMP
    >>> from epitomes.learn import cosines
    >>> from epitomes.phi import windows
    >>> epitome = cosines(windows((12, 12), (8, 8)))
    >>> codes = OMP(n_nonzero=2).encode(np.random.default_rng(0).standard_normal((10, 64)), epitome.dictionary)
    >>> plot.usage(epitome, codes).get_title()
    'use of the epitome'
    """
    return _picture(usage_picture(value, codes), _new(ax), "use of the epitome")


def objective(fit: Fit, *, ax: Axes | None = None, label: str | None = None) -> Axes:
    """Plot the objective after each step of learning.

    Parameters
    ----------
    fit : Fit
        Result of learning.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on, for example those of another fit. New ones if None.
    label : str, optional
        Name in the legend.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from epitomes import plot
    >>> from epitomes.learn import Fit, Progress, cosines
    >>> from epitomes.phi import windows
    >>> history = tuple(Progress(step, 0, 10.0 / step, 2.5, 0, 0.1) for step in (1, 2, 3))
    >>> axes = plot.objective(Fit(cosines(windows((12, 12), (8, 8))), history, "3 steps done"))
    >>> axes.get_ylabel()
    'objective per patch'
    """
    axes = _new(ax)
    axes.plot([one.index for one in fit.history], [one.objective for one in fit.history], label=label)
    axes.set_xlabel("step")
    axes.set_ylabel("objective per patch")
    if label is not None:
        axes.legend()
    return axes


def restored(noisy: ArrayLike, result: ArrayLike, *, axes: NDArray[Any] | None = None) -> NDArray[Any]:
    """Plot a noisy image, the denoised image in the same grey scale, and the residual.

    The residual is the noisy minus the denoised image. It should look like noise.

    Parameters
    ----------
    noisy : array_like
        The noisy image, ``(H, W)`` or ``(H, W, 3)``.
    result : array_like
        The denoised image, of the same shape.
    axes : ndarray of matplotlib.axes.Axes, optional
        Three axes to draw on. New ones if None.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        The three axes.

    Raises
    ------
    ValueError
        If the shapes differ, or `axes` are not three.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from epitomes import plot
    >>> noisy = np.random.default_rng(0).normal(100.0, 5.0, (32, 32))
    >>> [one.get_title() for one in plot.restored(noisy, np.full((32, 32), 100.0))]
    ['noisy', 'denoised', 'residual']
    """
    before, after = np.asarray(noisy, np.float64), np.asarray(result, np.float64)
    if before.shape != after.shape:
        raise ValueError(f"noisy has shape {before.shape} and result has {after.shape}: give both for the same image")
    three = np.ravel(_subplots(3) if axes is None else np.asarray(axes))
    if len(three) != 3:
        raise ValueError(f"axes must be 3, got {len(three)}: make them with plt.subplots(1, 3)")
    low, high = robust_range([after], outside=0.1)
    residual = before - after
    most = float(np.percentile(np.abs(residual), 99.9))
    _image(before, low, high, three[0], "noisy")
    _image(after, low, high, three[1], "denoised")
    _image(residual, -most, most, three[2], "residual")
    return three


def _image(values: NDArray[Any], low: float, high: float, ax: Axes, title: str) -> None:
    if values.ndim == 2:
        ax.imshow(values, cmap="gray", vmin=low, vmax=high)  # values, so that the cursor shows them
        ax.set(title=title, xticks=[], yticks=[])
    else:
        _picture(grey_levels(values, low, high), ax, title)


def _picture(picture: Bytes, ax: Axes, title: str) -> Axes:
    """Draw a picture whose grey levels are final."""
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
