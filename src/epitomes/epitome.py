"""Epitome: a small picture E with its phi, and so a dictionary (paper, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from numpy.typing import ArrayLike

from epitomes.checks import Array, as_floats, positive
from epitomes.coders import OLS, Codes
from epitomes.dictionary import Dictionary
from epitomes.display import repr_html
from epitomes.patches import Patches
from epitomes.phi import GatherPhi, Phi, support_of

RESIDUAL_FACTOR = 1.15  # the paper's C: a patch of m pixels may keep a squared error of m (C sigma)^2


@dataclass(frozen=True, eq=False)
class Epitome:
    """Small image whose overlapping patches are the atoms of a dictionary.

    Parameters
    ----------
    pixels : array_like
        Pixels of the epitome, of shape ``phi.epitome_shape``. They are copied and read-only afterwards; an array that
        is read-only already and owns its memory is kept as it is.
    phi : Phi
        Linear map from the pixels to the atoms, for example from `epitomes.phi.windows`.

    Raises
    ------
    ValueError
        If the pixels do not have the shape that phi expects, or are not finite.

    See Also
    --------
    epitomes.learn.learn_epitome : Learn an epitome from images.
    epitomes.load : Load an epitome from a file.

    Notes
    -----
    The dictionary is ``D = phi(E)``, one atom per row. For ``windows`` the atoms are all windows of the epitome, so an
    epitome of 42 x 42 pixels has ``(42 - 8 + 1)**2 = 1225`` atoms of 8 x 8 pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import Epitome
    >>> from epitomes.phi import windows
    >>> epitome = Epitome(np.arange(36.0).reshape(6, 6), windows((6, 6), (4, 4)))
    >>> epitome.dictionary.atoms.shape
    (9, 16)
    """

    pixels: Array
    phi: Phi

    def __post_init__(self) -> None:
        pixels = as_floats("pixels", self.pixels)
        if pixels.shape != self.phi.epitome_shape:
            raise ValueError(f"pixels need the shape {self.phi.epitome_shape} that phi expects, got {pixels.shape}")
        if pixels.flags.writeable or not pixels.flags.owndata:  # somebody else could change them
            pixels = pixels.copy()
            pixels.flags.writeable = False
        object.__setattr__(self, "pixels", pixels)

    @cached_property
    def dictionary(self) -> Dictionary:
        """Atoms ``phi(E)``, computed once."""
        # Where phi copies plain windows, the dictionary also remembers the pictures: coding is faster with them.
        pictures = self.phi.atom_pictures(self.pixels) if isinstance(self.phi, GatherPhi) else None
        return Dictionary(self.phi(self.pixels), pictures, None if pictures is None else self.phi.patch_shape)

    def encode(self, image: ArrayLike, sigma: float, *, threads: int | None = None) -> Codes:
        """Code all patches of a noisy image up to its noise level.

        Parameters
        ----------
        image : array_like
            Image with as many axes as a patch. Channels, if any, are the last axis.
        sigma : float
            Standard deviation of the noise, in the units of `image`.
        threads : int, optional
            Number of threads. Default: one per processor. It does not change the result.

        Returns
        -------
        scipy.sparse.csr_array
            Codes on the atoms of `dictionary`, one row per patch.

        Raises
        ------
        ValueError
            If the patches of the epitome do not fit the image.

        Notes
        -----
        Each patch x of m pixels, without its mean, gets as few atoms as `epitomes.coders.OLS` needs for
        ``|x - a D|^2 <= m (1.15 sigma)^2`` (paper, section 5.4).

        Examples
        --------
        >>> import numpy as np
        >>> from epitomes.learn import natural
        >>> from epitomes.phi import windows
        >>> image = np.random.default_rng(0).normal(100, 10, (16, 16))
        >>> natural(windows((42, 42), (8, 8))).encode(image, 10).shape
        (81, 1225)
        """
        pixels, patch = as_floats("image", image), self.phi.patch_shape
        if pixels.ndim != len(patch):
            raise ValueError(
                f"an image of shape {pixels.shape} has no patches of shape {patch}: use an image with {len(patch)} axes"
            )
        patches = Patches(pixels, patch, support=support_of(self.phi))
        coder = OLS(residual=patches.patch_size * (RESIDUAL_FACTOR * positive("sigma", sigma)) ** 2)
        return coder.encode(patches, self.dictionary, threads=threads)

    def __reduce__(self) -> tuple[type[Epitome], tuple[Array, Phi]]:
        return Epitome, (self.pixels, self.phi)  # a prepared engine cannot be copied and is prepared again

    def __repr__(self) -> str:
        return f"Epitome({self.pixels.shape} {self.pixels.dtype}, {self.phi!r})"

    _repr_html_ = repr_html
