"""Noise of flat blocks: its covariance at every frequency, and its level over brightness.

Texture only adds energy, so the flattest blocks show the noise. Blocks are chosen by the lightness coefficients of one
parity and measured in those of the other, see `dct_blocks`. What is chosen depends on what was measured, and the other
way round: a few rounds settle it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epitomes.noise.dct_blocks import MIDDLE, ORDER, PARITY, SIDE, Blocks
from epitomes.noise.planes import Floats

N_ROUNDS = 4
N_BINS = 8  # of brightness, equally many blocks in each
MIN_BLOCKS = 200  # chosen from the whole picture
MIN_IN_BIN = 30  # chosen from each bin
EXTREME = 4.0  # largest ratio of the level of a bin to the typical one, either way
LARGEST = 1e4  # energies in units of the noise are cut there: edges must not decide
MEDIAN = 0.4549  # of the square of a standard normal variable
LOWER_FIFTH = 0.0642  # its 20 % quantile
TAIL = 3.5  # standard deviations at which coefficients are cut
FLATNESS = np.where(ORDER > 0, np.maximum(ORDER, 1) ** -1.5, 0.0)  # weights of energies: texture is strong where low
FIRST_ACROSS, FIRST_DOWN = 1, SIDE  # the slopes of a block
SHADING = 3  # order up to which medians are taken: shading is rare and strong

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Curve:
    """Level of the noise over brightness, relative to the typical one."""

    brightness: Floats  # increasing
    level: Floats

    def at(self, brightness: Floats) -> Floats:
        return np.asarray(np.interp(brightness, self.brightness, self.level))


@dataclass(frozen=True, eq=False)
class FlatBlocks:
    """What the flattest blocks show."""

    power: Floats  # (64, channels, channels): covariance of the channels at each frequency, where the curve is 1
    curve: Curve
    flatness: tuple[Floats, Floats]  # of every block, for measuring frequencies of even and of odd order; small if flat


def measure(blocks: Blocks, share: float, curve: Curve | None = None) -> FlatBlocks:
    """Measure the noise on this share of the blocks, the flattest; the level over brightness unless it is given."""
    coefficients = blocks.coefficients
    lightness = np.square(coefficients[:, :, 0])
    bins = _bins(blocks.brightness)
    squares = np.square(coefficients)
    fifth = len(blocks) // 5
    variances = np.maximum(np.partition(squares, fifth, axis=0)[fifth] / LOWER_FIFTH, 1e-6 * float(squares.mean()))
    n = min(len(blocks) - 1, max(MIN_BLOCKS, int(share * len(blocks))))
    for _ in range(N_ROUNDS):
        energy = np.minimum(lightness / variances[:, 0].astype(np.float32), np.float32(LARGEST))
        flatness = [energy @ (FLATNESS * (parity != PARITY)).astype(np.float32) for parity in (0, 1)]
        fitted = _curve(energy, flatness, bins, blocks.brightness, share) if curve is None else curve
        scale = np.square(fitted.at(blocks.brightness))
        power = np.zeros((SIDE**2, blocks.n_channels, blocks.n_channels))
        evened = (flatness[0] / scale, flatness[1] / scale)
        for parity, even in enumerate(evened):
            chosen = np.argpartition(even, n)[:n]
            for k in np.flatnonzero((parity == PARITY) & (ORDER > 0)):
                mine = chosen
                if k in (FIRST_ACROSS, FIRST_DOWN):  # a slope is chosen by the other slope, too
                    other = FIRST_DOWN if k == FIRST_ACROSS else FIRST_ACROSS
                    mine = np.argpartition(even + energy[:, other] / scale, n)[:n]
                power[k] = _covariance(
                    coefficients[mine, k] / np.sqrt(scale[mine])[:, None], robust=ORDER[k] <= SHADING
                )
        power[0] = (power[FIRST_ACROSS] + power[FIRST_DOWN]) / 2
        variances = np.maximum(np.einsum("kcc->kc", power), 1e-6 * float(squares.mean()))
    return FlatBlocks(power, fitted, evened)


def _bins(brightness: Floats) -> list[Indices]:
    edges = np.quantile(brightness, np.linspace(0, 1, N_BINS + 1)[1:-1])
    number = np.searchsorted(edges, brightness, side="right")
    return [found for each in range(N_BINS) if len(found := np.flatnonzero(number == each)) >= MIN_IN_BIN]


def _curve(
    energy: NDArray[np.float32],
    flatness: list[NDArray[np.float32]],
    bins: list[Indices],
    brightness: Floats,
    share: float,
) -> Curve:
    """The level of each bin from its own flattest blocks, smoothed, relative to the geometric mean of the bins."""
    if len(bins) < 2:
        return Curve(np.zeros(1), np.ones(1))
    variances = np.zeros(len(bins))
    for parity, texture in enumerate(flatness):
        measured = MIDDLE & (parity == PARITY)
        for number, inside in enumerate(bins):
            flattest = inside[np.argsort(texture[inside], kind="stable")[: max(MIN_IN_BIN, int(share * len(inside)))]]
            variances[number] += np.median(energy[flattest][:, measured], axis=0).mean()
    logs = np.log(np.maximum(variances, np.finfo(np.float32).tiny))
    padded = np.pad(logs, 1, mode="edge")
    logs = padded[:-2] / 4 + padded[1:-1] / 2 + padded[2:] / 4
    level = np.exp(np.clip((logs - logs.mean()) / 2, -np.log(EXTREME), np.log(EXTREME)))
    return Curve(np.array([brightness[inside].mean() for inside in bins]), level)


def _covariance(values: NDArray[np.float32], *, robust: bool) -> Floats:
    """The covariance of channels, with cut tails; `robust`: lightness by its median.

    Means, not medians, for colours: JPEG sets many of their coefficients to zero and leaves the others large.
    """
    squares = np.square(values)
    limit = TAIL * np.sqrt(np.maximum(np.median(squares, axis=0) / MEDIAN, squares.mean(axis=0) / 4))
    cut = np.clip(values, -limit, limit).astype(np.float64)
    covariance: Floats = cut.T @ cut / len(cut)
    if robust and covariance[0, 0] > 0:
        ratio = min(1.0, float(np.sqrt(np.median(squares[:, 0]) / MEDIAN / covariance[0, 0])))
        covariance[0] *= ratio
        covariance[:, 0] *= ratio
    return covariance
