"""What photographs carry besides their pixels: EXIF, a colour profile, a size on paper, the way up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from epitomes.formats.errors import ImageFileError
from epitomes.formats.picture import Pixels

_ORIENTATION = 0x0112
_MOST_EXIF = 65_000  # bytes: a JPEG marker holds 65 533

_TURNS = {  # EXIF orientation -> how the stored pixels must be turned to stand upright
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
    8: lambda a: np.rot90(a),
}
UPRIGHT = "turned upright, as its EXIF orientation says"


@dataclass(frozen=True)
class PhotoInfo:
    """Carried from PNG and JPEG to PNG and JPEG."""

    exif: bytes = b""  # without the leading "Exif" of JPEG; its orientation is upright, as are the pixels
    icc: bytes = b""
    dpi: tuple[float, float] | None = None
    chunks: tuple[tuple[bytes, bytes], ...] = ()  # of PNG: name and content

    @property
    def title(self) -> str:
        """What is lost elsewhere; gamma and size on paper are not missed."""
        text = any(name in (b"tEXt", b"zTXt", b"iTXt") for name, _ in self.chunks)
        parts = {"EXIF data": self.exif, "the colour profile": self.icc, "its text": text}
        return " and ".join(name for name, there in parts.items() if there)


def turned(pixels: Pixels, orientation: int) -> Pixels:
    """Stored pixels `(height, width, ...)` as they are to be seen."""
    turn = _TURNS.get(orientation)
    upright: Pixels = pixels if turn is None else np.ascontiguousarray(turn(pixels))
    return upright


def exif_of(picture: Image.Image) -> tuple[bytes, int]:
    """The EXIF block without its orientation, and the orientation."""
    # The method of the base class, because the one of PNG decodes all pixels to look behind them.
    exif: Any = Image.Image.getexif(picture)
    orientation = exif.pop(_ORIENTATION, 1) if len(exif) else 1
    block = exif.tobytes().removeprefix(b"Exif\x00\x00") if len(exif) else b""
    return (block if len(block) <= _MOST_EXIF else b""), orientation if isinstance(orientation, int) else 1


def dpi_of(found: object) -> tuple[float, float] | None:
    """Dots per inch, across and down, out of what Pillow found; None where it makes no sense."""
    match found:
        case (int() | float() as across, int() | float() as down) if 0 < min(across, down) <= max(across, down) < 65536:
            return float(across), float(down)
    return None


def split_alpha(pixels: Pixels, channels: int) -> tuple[Pixels, Pixels | None]:
    """Colours and transparency of `(..., channels + 1)` pixels; grey loses its channel axis."""
    colours, alpha = pixels[..., :channels], pixels[..., channels]
    return (colours[..., 0] if channels == 1 else colours), alpha


def with_alpha(pixels: Pixels, alpha: Pixels | None) -> Pixels:
    """Pixels as they are stored: transparency is the last channel."""
    if alpha is None:
        return pixels
    colours = pixels[..., None] if pixels.ndim == alpha.ndim else pixels
    return np.concatenate([colours, alpha[..., None]], axis=-1)


def require_kind(name: str, pixels: Pixels, axes: str, dtypes: tuple[str, ...]) -> None:
    """Refuse what a photograph cannot hold as it is."""
    if axes not in ("YX", "YXC"):
        raise ImageFileError(
            f"{name} holds one plane, with the axes YX or YXC, got {axes} of shape {pixels.shape}: use .tif, .ome.tif "
            "or .npz"
        )
    if pixels.dtype.name not in dtypes or (axes == "YXC" and pixels.shape[2] != 3):
        kinds = " or ".join(dtypes)
        raise ImageFileError(
            f"{name} is written from {kinds}, grey or with 3 colours, got {pixels.dtype} of shape {pixels.shape}: "
            "use .npy or .tif, or convert it"
        )


ALPHA_KEPT = "its alpha channel is kept as it is: only the colours are worked on"
