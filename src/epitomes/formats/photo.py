"""What photographs share: EXIF, XMP, colour profile, resolution in print, orientation, transparency, palettes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from epitomes.formats._limits import times
from epitomes.formats.errors import cannot_hold, unsupported
from epitomes.formats.picture import Pixels

_ORIENTATION = 0x0112
_MOST_EXIF = 65_000  # bytes: a JPEG marker holds 65 533

_TURNS = {  # EXIF orientation -> how to turn the stored pixels upright
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
    8: lambda a: np.rot90(a),
}
UPRIGHT = "it was turned upright, according to its orientation tag"
ALPHA_KEPT = "its alpha channel is kept unchanged: only the colours are processed"
ANIMATED = "it is animated: only the first image is read"
PALETTE = "its palette of colours is read as RGB"
BILEVEL = "it is black and white, one bit per pixel, which is read as 0 and 255"
CMYK = "convert it to RGB first, for example by 'magick FILE -colorspace sRGB rgb.png'"


@dataclass(frozen=True)
class PhotoInfo:
    """Metadata that passes between PNG, JPEG and WebP."""

    exif: bytes = b""  # without the leading "Exif" of JPEG, and without its orientation: the pixels are upright
    icc: bytes = b""
    dpi: tuple[float, float] | None = None
    xmp: bytes = b""
    chunks: tuple[tuple[bytes, bytes], ...] = ()  # of PNG: names and contents
    segments: tuple[tuple[int, bytes], ...] = ()  # of JPEG: markers and contents
    tables: tuple[tuple[int, ...], ...] = ()  # of JPEG: quantisation of lightness and of colours
    subsampling: int | None = None  # of JPEG: of the colours, as Pillow counts it

    @property
    def title(self) -> str:
        """Name what other formats lose; the loss of gamma and print resolution needs no message."""
        text = any(name in (b"tEXt", b"zTXt", b"iTXt") for name, _ in self.chunks)
        parts = {"EXIF data": self.exif, "the colour profile": self.icc, "XMP": self.xmp, "its text": text}
        return " and ".join(name for name, there in parts.items() if there)


def plain(picture: Image.Image) -> tuple[Pixels, Pixels | None, list[str]]:
    """Return the pixels of any mode as grey or RGB, their transparency, and notes on what was changed."""
    notes = []
    if picture.mode == "1":
        return np.array(picture, np.uint8) * 255, None, [BILEVEL]
    if picture.mode in ("P", "PA"):
        picture = picture.convert("RGBA" if picture.mode == "PA" or "transparency" in picture.info else "RGB")
        notes.append(PALETTE)
    if picture.mode not in ("L", "LA", "RGB", "RGBA"):
        if picture.mode in ("CMYK", "YCCK"):
            raise unsupported(f"{picture.mode} colours", CMYK)
        raise unsupported(f"pixels of mode {picture.mode!r}")
    pixels = np.asarray(picture)  # no copy
    if picture.mode not in ("LA", "RGBA"):
        return pixels, None, notes
    return *split_alpha(pixels, pixels.shape[-1] - 1), [*notes, ALPHA_KEPT]


def turned(pixels: Pixels, orientation: int) -> Pixels:
    """Turn stored pixels `(height, width, ...)` upright."""
    turn = _TURNS.get(orientation)
    upright: Pixels = pixels if turn is None else np.ascontiguousarray(turn(pixels))
    return upright


def exif_of(picture: Image.Image) -> tuple[bytes, int]:
    """Return the EXIF block without its orientation, and the orientation."""
    # The method of the base class: that of PNG decodes all pixels to look for chunks after them.
    exif: Any = Image.Image.getexif(picture)
    orientation = exif.pop(_ORIENTATION, 1) if len(exif) else 1
    block = exif.tobytes().removeprefix(b"Exif\x00\x00") if len(exif) else b""
    return (block if len(block) <= _MOST_EXIF else b""), orientation if isinstance(orientation, int) else 1


def dpi_of(found: object) -> tuple[float, float] | None:
    """Return the dots per inch, across and down, that Pillow found; None if they make no sense."""
    match found:
        case (int() | float() as across, int() | float() as down) if 0 < min(across, down) <= max(across, down) < 65536:
            return float(across), float(down)
    return None


def split_alpha(pixels: Pixels, channels: int) -> tuple[Pixels, Pixels | None]:
    """Split `(..., channels + 1)` pixels into colours and transparency; grey loses its channel axis."""
    colours, alpha = pixels[..., :channels], pixels[..., channels]
    return (colours[..., 0] if channels == 1 else colours), alpha


def with_alpha(pixels: Pixels, alpha: Pixels | None) -> Pixels:
    """Join pixels and transparency, the last channel, for storage."""
    if alpha is None:
        return pixels
    colours = pixels[..., None] if pixels.ndim == alpha.ndim else pixels
    return np.concatenate([colours, alpha[..., None]], axis=-1)


def require_side(name: str, pixels: Pixels, most: int) -> None:
    """Refuse more rows or columns than a format can count."""
    if max(pixels.shape[:2]) > most:
        raise cannot_hold(f"a side of {max(pixels.shape[:2])} pixels", name, f"at most {most}", ".png")


def require_kind(name: str, pixels: Pixels, axes: str, dtypes: tuple[str, ...]) -> None:
    """Refuse pixels that a photograph cannot hold."""
    if axes not in ("YX", "YXC"):
        raise cannot_hold(f"the axes {axes} ({times(pixels.shape)})", name, "one plane, YX or YXC", ".tif")
    if axes == "YXC" and pixels.shape[2] != 3:
        use = ".npz" if pixels.shape[2] == 1 else ".tif"  # TIFF moves a single channel to the front
        raise cannot_hold(f"an image with {times(pixels.shape)} values", name, "grey or 3 colours", use)
    if pixels.dtype.name not in dtypes:
        raise cannot_hold(f"{pixels.dtype} values", name, " or ".join(dtypes), ".tif")
