"""Epitome: a small picture E with its phi, and so a dictionary (paper, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from epitomes.checks import Array, as_floats, read_only
from epitomes.dictionary import Dictionary
from epitomes.display import repr_html
from epitomes.phi import GatherPhi, Phi


@dataclass(frozen=True, eq=False)
class Epitome:
    """Pixels and the map that makes atoms of them."""

    pixels: Array  # of phi.epitome_shape
    phi: Phi

    def __post_init__(self) -> None:
        pixels = as_floats("pixels", self.pixels)
        if pixels.shape != self.phi.epitome_shape:
            raise ValueError(f"pixels need the shape {self.phi.epitome_shape} that phi expects, got {pixels.shape}")
        object.__setattr__(self, "pixels", read_only(pixels))

    @cached_property
    def dictionary(self) -> Dictionary:
        """`phi(E)`; it remembers the pictures whose windows its atoms are, where phi copies plain windows."""
        pictures = self.phi.atom_pictures(self.pixels) if isinstance(self.phi, GatherPhi) else None
        return Dictionary(self.phi(self.pixels), pictures, None if pictures is None else self.phi.patch_shape)

    def __reduce__(self) -> tuple[type[Epitome], tuple[Array, Phi]]:
        return Epitome, (self.pixels, self.phi)  # what was made ready for coding cannot be copied, and is made anew

    def __repr__(self) -> str:
        return f"Epitome({self.pixels.shape} {self.pixels.dtype}, {self.phi!r})"

    _repr_html_ = repr_html
