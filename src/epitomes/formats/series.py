"""Series: which image of a file, for formats whose files hold several, as FITS, TIFF, NPZ and video do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from epitomes.formats._limits import times
from epitomes.formats.errors import ImageFileError

_MOST_LISTED = 12  # images in a message


@dataclass(frozen=True)
class Series:
    """One of several images of a file.

    Parameters
    ----------
    index : int
        Number that selects it: of the HDU of a FITS file, of the series of a TIFF file.
    name : str
        Name that selects it, such as the EXTNAME of a FITS extension; "" if it has none.
    shape : tuple of int
        Its shape, as stored; () if it is unknown.
    dtype : str
        Type of its values; "" if it is unknown.

    See Also
    --------
    read : Its parameter `series` selects an image.

    Examples
    --------
    >>> from epitomes.formats import Series
    >>> print(Series(1, "SCI", (2048, 4096), "float32"))
    1 SCI (2048 x 4096 float32)
    """

    index: int
    name: str = ""
    shape: tuple[int, ...] = ()
    dtype: str = ""

    def __str__(self) -> str:
        size = f"{times(self.shape)} {self.dtype}".strip()
        return f"{self.index}{f' {self.name}' * bool(self.name)}{f' ({size})' * bool(size)}"


def chosen(images: Sequence[Series], wanted: int | str | None) -> Series:
    """Return the image that is wanted by number or name, by default the first; an error lists all."""
    if wanted is None:
        return images[0]
    word = str(wanted).strip()
    for each in images:
        if word == str(each.index) or (each.name and word.upper() == each.name.upper()):
            return each
    listed = ", ".join(map(str, images[:_MOST_LISTED])) + (", ..." if len(images) > _MOST_LISTED else "")
    raise ImageFileError(f"it holds no image {word!r}: choose one of {listed}")


def told(images: Sequence[Series], one: Series, rest: str = "") -> list[str]:
    """Return the note for a file with several images; `rest` says what becomes of the others."""
    return [f"it holds {len(images)} images, of which {one} is read{rest}"] if len(images) > 1 else []
