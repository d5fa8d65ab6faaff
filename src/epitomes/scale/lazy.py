"""`denoise_lazy`: lazy Dask arrays, with the bits of `denoise_store`. Dask itself is not imported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes.epitome import Epitome
from epitomes.formats.stored import StoredImage
from epitomes.noise import Noise
from epitomes.restoration import Method, Plan
from epitomes.restoration.parts import with_whole
from epitomes.scale.settling import plan_for, settle_store

LETTERS = {1: "X", 2: "YX", 3: "ZYX"}


def denoise_lazy(
    image: Any,
    sigma: float | None = None,
    *,
    noise: Noise | None = None,
    plan: Plan | None = None,
    method: str | Method | None = None,
    preset: str = "auto",
    epitome: Epitome | None = None,
    channel_axis: int | None = None,
) -> Any:
    """Denoise a lazy Dask array, chunk by chunk, when it is computed.

    Noise and method are settled at once, on a sample that is computed here. Each chunk is then denoised with the pixels
    around it that reach into it (``map_overlap``). The result has the bits of `epitomes.scale.denoise_store`.

    Parameters
    ----------
    image : dask.array.Array
        Image ``(H, W)`` or, with `channel_axis`, one with channels. A volume for groups across planes, such as those of
        ``NonLocal(planes="auto")``, and for the paper's method with an epitome of three-dimensional patches.
    sigma, noise, plan, method, preset, epitome : see `epitomes.scale.denoise_store`
        The noise and the method.
    channel_axis : int, optional
        Axis of the channels.

    Returns
    -------
    dask.array.Array
        The denoised image, not computed yet, with the shape and dtype of `image`. Chunks may have changed.

    Raises
    ------
    TypeError
        If `image` is not a Dask array.
    ValueError
        If a pixel depends on the whole image, see `epitomes.scale.denoise_store`; or, when it is computed, if values
        are missing (NaN).

    See Also
    --------
    epitomes.scale.denoise_store : From file to file: fewer tasks, resumable.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.array as da  # doctest: +SKIP
    >>> from epitomes.adaptors import denoise_lazy
    >>> lazy = da.from_array(np.random.default_rng(0).normal(100, 10, (64, 64)), chunks=32)  # doctest: +SKIP
    >>> denoise_lazy(lazy, 10.0, preset="fast").compute().shape  # doctest: +SKIP
    (64, 64)
    """
    if not hasattr(image, "map_overlap"):
        raise TypeError(f"image must be a Dask array, got {type(image).__name__}: use epitomes.denoise for others")
    last = image if channel_axis is None else _moved(image, channel_axis, image.ndim - 1)
    axes = LETTERS[image.ndim - (channel_axis is not None)] + ("" if channel_axis is None else "C")
    store = StoredImage.of_array(last, axes, "array")
    chosen, _ = plan_for(store, sigma, noise, plan, method, preset, epitome)
    settled = settle_store(store, chosen, 1)
    if settled.units.counted:
        raise ValueError(
            f"an array of shape {image.shape} is denoised plane by plane: pass its planes one by one, or method="
            "NonLocal(planes='auto'), or the paper's method with an epitome of three-dimensional patches"
        )
    known = replace(settled.plan, method=with_whole(settled.plan.method, settled.wholes[()]))
    # Chunks begin on the grid of the method with and without what is around them.
    depths = [-(-halo // grid) * grid for halo, grid in zip(settled.support.halo, settled.support.grid, strict=True)]
    sides = [
        max(side // grid, 1, depth // grid) * grid
        for side, grid, depth in zip(last.chunksize, settled.support.grid, depths, strict=False)
    ]
    chunks = [_chunks(n, side, depth) for n, side, depth in zip(last.shape, sides, depths, strict=False)]
    lazy = last.rechunk((*chunks, *last.shape[len(sides) :]))
    depth = {axis: each if sides[axis] < last.shape[axis] else 0 for axis, each in enumerate(depths)}
    found = lazy.map_overlap(
        _denoised, depth=depth, boundary="none", dtype=last.dtype, meta=last._meta, allow_rechunk=False, plan=known
    )
    return found if channel_axis is None else _moved(found, image.ndim - 1, channel_axis)


def _chunks(n: int, side: int, depth: int) -> tuple[int, ...]:
    """Lengths of chunks along an axis; the last is no shorter than the depth, and no chunk is if there are others."""
    full, rest = divmod(n, side)
    if rest >= depth or not full:
        return (*(side,) * full, *((rest,) if rest else ()))
    return (*(side,) * (full - 1), side + rest)


def _denoised(part: NDArray[Any], plan: Plan) -> NDArray[Any]:
    if part.dtype.kind == "f" and not np.isfinite(part).all():
        raise ValueError(
            "what takes the place of missing values (NaN) may come from other chunks: write the array to a Zarr store "
            "and use epitomes.scale.denoise_store"
        )
    return plan.run(np.ascontiguousarray(part), threads=1).image


def _moved(image: Any, source: int, goal: int) -> Any:
    """The array with one axis at another place."""
    order = [axis for axis in range(image.ndim) if axis != source % image.ndim]
    order.insert(goal % image.ndim, source % image.ndim)
    return image.transpose(order)
