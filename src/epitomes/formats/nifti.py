"""NIfTI 1 and 2, with nibabel: stored values. The header, including the affine, passes from file to file.

NIfTI orders its axes x, y, z, t, channel with x fastest. Reversed, this is our C order "CTZYX", without a copy.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO, ClassVar

import numpy as np

from epitomes.formats._limits import require_size, times
from epitomes.formats.errors import ImageFileError, cannot_hold, cut_short, library
from epitomes.formats.packed import more_follows, packed, read_up_to, unpacked
from epitomes.formats.picture import Picture, Pixels, colour_last, ordered, require_numbers, scale_note
from epitomes.formats.units import converted, short

_SIZES = {348: "Nifti1", 540: "Nifti2"}  # bytes of the header -> class
_AXES = "XYZTC"
_MOST_HEADER = 2**24  # bytes before the pixels: header and extensions
_DTYPES = ("uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


@dataclass(frozen=True)
class NiftiInfo:
    """Metadata that passes from NIfTI to NIfTI."""

    title: ClassVar[str] = "the NIfTI header"

    version: str  # Nifti1 or Nifti2
    header: bytes  # with its extensions
    shape: tuple[int, ...]  # of the picture
    scale: tuple[float, float]  # slope and intercept of the stored values


def is_nifti(head: bytes) -> bool:
    """Return whether a file starts so."""
    return head[344:347] == b"n+1" or head[4:7] == b"n+2"


def read_nifti(file: BinaryIO, most: int) -> Picture:
    """Read the stored values of a single-file NIfTI, compressed or not."""
    nibabel = library("nibabel", extra="nifti", what="NIfTI")
    source = unpacked(file)
    content = source.read(540)
    version = next((_SIZES[n] for order in "<>" if (n := _first(content, order)) in _SIZES), None)
    if version is None or (content[344:347] != b"n+1" and content[4:7] != b"n+2"):
        raise ImageFileError("this is not a single-file NIfTI image: correct its suffix, or save it as .nii or .nii.gz")
    kind = getattr(nibabel, f"{version}Image")
    header = kind.header_class(content[: 348 if version == "Nifti1" else 540])
    lengths, dtype, offset = header.get_data_shape(), header.get_data_dtype(), int(header["vox_offset"])
    if not _is_rgb(dtype):
        require_numbers(dtype)
    require_size((*lengths, 3) if _is_rgb(dtype) else lengths, most)
    if not 0 <= offset <= _MOST_HEADER:
        raise ImageFileError(f"its header is damaged (the pixels start at byte {offset}): get another copy")
    needed = offset + math.prod(lengths) * dtype.itemsize
    content += read_up_to(source, needed - len(content))
    if len(content) < needed:
        raise cut_short("this NIfTI file", f"{needed} bytes", len(content))
    more_follows(source)  # padding at most
    image = kind.from_bytes(content)
    pixels, axes = _arranged(np.asanyarray(image.dataobj.get_unscaled()))
    info = NiftiInfo(version, _bytes(image.header), pixels.shape, (image.dataobj.slope, image.dataobj.inter))
    spacing, units = _spacing(image.header)
    notes = () if info.scale == (1.0, 0.0) else (scale_note(*info.scale),)
    return Picture(pixels, axes, spacing, units, metadata=info, notes=notes)


def write_nifti(picture: Picture) -> bytes:
    """Encode, with the header, affine and extensions of the source file."""
    nibabel = library("nibabel", extra="nifti", what="NIfTI")
    if picture.pixels.dtype.name not in _DTYPES:
        raise cannot_hold(f"{picture.pixels.dtype} values", "NIfTI", ", ".join(_DTYPES), ".npz")
    stored = _stored(picture)
    info = picture.metadata
    if isinstance(info, NiftiInfo) and info.shape == picture.pixels.shape:
        kind = getattr(nibabel, f"{info.version}Image")
        header = kind.header_class.from_fileobj(BytesIO(info.header))
        image = kind(stored, None, header, dtype=stored.dtype)
        image.header.set_slope_inter(*info.scale)
    else:
        kind = nibabel.Nifti1Image if max(stored.shape) < 2**15 else nibabel.Nifti2Image
        image = kind(stored, _affine(picture), dtype=stored.dtype)
        image.header.set_xyzt_units("mm" if _steps(picture, "XYZ", "mm") else 0, "sec")
        zooms = [_steps(picture, _AXES[i], "s" if _AXES[i] == "T" else "mm") for i in range(stored.ndim)]
        image.header.set_zooms([zoom[0] if zoom else 1.0 for zoom in zooms])
    return bytes(image.to_bytes())


def write_nifti_gz(picture: Picture) -> bytes:
    """Encode and compress."""
    return packed(write_nifti(picture))


def _first(content: bytes, order: str) -> int:
    return int(struct.unpack(f"{order}i", content[:4])[0]) if len(content) >= 4 else 0


def _is_rgb(dtype: np.dtype[Any]) -> bool:
    return dtype.names == ("R", "G", "B")


def _arranged(stored: Pixels) -> tuple[Pixels, str]:
    """Return pixels and axes with x fastest, without axes of length one that only precede a longer axis."""
    if stored.ndim > 7 or any(n > 1 for n in stored.shape[5:]):
        raise ImageFileError(f"it has more than 5 axes ({times(stored.shape)}): extract a part of it first")
    stored = stored.reshape(stored.shape[:5], order="F")
    if stored.ndim < 2:
        raise ImageFileError(f"it has fewer than 2 axes ({times(stored.shape)}): choose another file")
    used = [i for i, n in enumerate(map(int, stored.shape)) if i < 2 or n > 1 or i == stored.ndim - 1]
    pixels = stored.reshape([stored.shape[i] for i in used], order="F").T
    axes = "".join(_AXES[i] for i in reversed(used))
    if _is_rgb(stored.dtype):
        flat = np.ascontiguousarray(pixels)
        return flat.view(np.uint8).reshape(*flat.shape, 3), axes + "C"
    return pixels, axes


def _stored(picture: Picture) -> Pixels:
    """Return the array `(x, y, z, t, channel)` for nibabel; three colours of 8 bits become RGB voxels."""
    if colour_last(picture.axes) and picture.pixels.shape[-1] == 3 and picture.pixels.dtype == np.uint8:
        rgb = np.dtype([(name, np.uint8) for name in "RGB"])
        pixels = np.ascontiguousarray(picture.pixels).view(rgb)[..., 0]
        axes = picture.axes[:-1]
    else:
        pixels, axes = picture.pixels, picture.axes
    pixels, axes = ordered(pixels, axes, _AXES)
    last = max(_AXES.index(letter) for letter in axes)
    return pixels.reshape([pixels.shape[axes.index(a)] if a in axes else 1 for a in _AXES[: last + 1]])


def _bytes(header: Any) -> bytes:
    content = BytesIO()
    header.write_to(content)
    return content.getvalue()


def _spacing(header: Any) -> tuple[dict[str, float], dict[str, str]]:
    space, time = (short(str(unit)) for unit in header.get_xyzt_units())
    zooms = {letter: float(zoom) for letter, zoom in zip(_AXES[:4], header.get_zooms(), strict=False)}
    known = {
        letter: zoom for letter, zoom in zooms.items() if 0 < zoom < math.inf and (time if letter == "T" else True)
    }
    return known, {letter: time if letter == "T" else space for letter in known}


def _steps(picture: Picture, letters: str, goal: str) -> list[float]:
    """Return the spacing of these axes in another unit, if known."""
    found = [converted(picture.spacing[a], picture.units.get(a, ""), goal) for a in letters if a in picture.spacing]
    return [step for step in found if step is not None]


def _affine(picture: Picture) -> Any:
    """Return the affine from indices to millimetres, along the axes, for a picture from another format."""
    steps = [_steps(picture, letter, "mm") for letter in "XYZ"]
    return np.diag([step[0] if step else 1.0 for step in steps] + [1.0])
