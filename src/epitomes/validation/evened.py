"""Evened planes: two images in units of the noise, which is white with variance 1 if the noise model is right.

The model's level divides both images. Correlated noise is then whitened, by its spectrum or by that of its blocks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn
from scipy.ndimage import map_coordinates

from epitomes.checks import Array
from epitomes.layout import Layout
from epitomes.noise import _rician
from epitomes.noise.block_spectrum import BlockSpectrum
from epitomes.noise.model import Noise
from epitomes.noise.parameters import for_image
from epitomes.noise.planes import MAX_PLANES, evenly_spaced
from epitomes.validation.planes import REACH, Floats, Number, deviations, doubles, unclipped

CENTRAL = 1.5  # standard deviations from an end of the range: clipping there hardly changes the smaller details
FLOOR = 1e-3  # of the mean power of blocks: where they have less, rounding and model errors would be amplified


@dataclass(frozen=True, eq=False)
class Evened:
    """Planes `(H, W, C)` whose noise has variance 1 if the model is right."""

    noisy: Floats
    restored: Floats
    trusted: NDArray[np.bool_]  # pixels whose noise is not clipped
    central: NDArray[np.bool_]  # pixels whose noise is clipped in its tails at most
    given: Floats  # the noisy plane in its own units
    brightness: Floats  # the restored plane in its own units

    @classmethod
    def of(cls, noisy: Array, restored: Array, noise: Noise) -> Evened:
        """One plane, with or without channels."""
        given, clean = doubles("noisy", noisy), doubles("restored", restored)
        spread = deviations(noise, clean)
        trusted, central = (unclipped(given, clean, spread, reach) for reach in (REACH, CENTRAL))
        if noise.blocks is not None:
            noise.blocks.require_channels(clean.shape)
            relative = spread / deviations(dataclasses.replace(noise, blocks=None), clean)
            pair = [whitened(_channels_last(each / relative), noise.blocks) for each in (given, clean)]
        elif noise.magnitude:
            level = for_image("sigma", noise.sigma, clean.shape)
            pair = [_rician.forward(given, level), _rician.expected(clean, level)]
        elif noise.spectrum is not None:
            pair = [noise.stabilise(each, spatial=2).image / noise.level for each in (given, clean)]
        else:
            pair = [given / spread, clean / spread]
        evened, restored_evened = map(_channels_last, pair)
        return cls(
            noisy=evened,
            restored=restored_evened,
            trusted=_channels_last(trusted),
            central=_channels_last(central),
            given=_channels_last(given),
            brightness=_channels_last(clean),
        )


def judged_planes(noisy: Array, restored: Array, noise: Noise, layout: Layout) -> tuple[list[Evened], Sequence[int]]:
    """Planes of an image, volume or stack that are judged, and which they are."""
    places = list(layout.places())
    chosen = evenly_spaced(len(places), MAX_PLANES)
    before, after = layout.canonical(noisy), layout.canonical(restored)
    planes = [Evened.of(before[at], after[at], noise.at(at, layout)) for at in (places[each] for each in chosen)]
    return planes, chosen


def whitened(planes: Floats, blocks: BlockSpectrum) -> Floats:
    """Planes `(H, W, C)` with noise of that shape, at level 1, whitened at every frequency of their cosine transform.

    The frequencies below that of the blocks' first wave are those of blocks at half the size.
    """
    waves = dctn(planes, axes=(0, 1), norm="ortho")
    fine, half = (_inverse_roots(power) for power in (blocks.power[0], 4 * blocks.power[1]))
    side = len(fine)
    place = np.meshgrid(*(side * np.arange(length) / length for length in waves.shape[:2]), indexing="ij")
    below, above = _interpolated(half, [2 * each for each in place]), _interpolated(fine, place)
    filters = np.where((np.maximum(*place) < 1)[..., None, None], below, above)
    mixed = np.einsum("hwab,hwb->hwa", filters, waves) if blocks.n_channels > 1 else filters[..., 0] * waves
    return np.asarray(idctn(mixed, axes=(0, 1), norm="ortho"))


def _inverse_roots(power: Floats) -> Floats:
    """`power^(-1/2)` of the covariance of the channels at every frequency."""
    values, vectors = np.linalg.eigh(power)
    roots = 1 / np.sqrt(np.maximum(values, FLOOR * values.mean()))
    return np.asarray(np.einsum("...ab,...b,...cb->...ac", vectors, roots, vectors))


def _interpolated(filters: Floats, place: Sequence[Floats]) -> Floats:
    """`(H, W, C, C)`: filters between the frequencies of blocks, constant beyond the last."""
    n = filters.shape[-1]
    parts = [map_coordinates(filters[:, :, a, b], place, order=1, mode="nearest") for a in range(n) for b in range(n)]
    return np.stack(parts, axis=-1).reshape(*place[0].shape, n, n)


def _channels_last(plane: NDArray[Number]) -> NDArray[Number]:
    return plane if plane.ndim == 3 else plane[..., None]
