"""The words of the command line and the objects that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING

from epitomes.cli.errors import usage

if TYPE_CHECKING:
    from epitomes.checks import Array
    from epitomes.epitome import Epitome
    from epitomes.phi import GatherPhi


class Start(StrEnum):
    """What an epitome is before it has learned."""

    natural = "natural"
    noise = "noise"
    data = "data"
    dct = "dct"


def start_of(name: Start, phi: GatherPhi, image: Array, seed: int) -> Epitome:
    """The epitome that a word of `--start` stands for."""
    from epitomes.learn import start

    table: dict[Start, Callable[[], Epitome]] = {
        Start.natural: lambda: _natural(phi),
        Start.noise: lambda: start.smooth_noise(phi, rng=seed),
        Start.data: lambda: start.pieces(phi, image, rng=seed),
        Start.dct: lambda: start.cosines(phi),
    }
    return table[name]()


def _natural(phi: GatherPhi) -> Epitome:
    from epitomes.learn import start

    try:
        return start.natural(phi)
    except ValueError as error:  # it speaks of functions
        shape = " x ".join(map(str, phi.epitome_shape))
        raise usage(
            f"no natural epitome of {shape} is shipped: begin with --start noise, or take --width 42 --count 1"
        ) from error
