"""NIfTI 1 and 2, through nibabel: stored values, and the header with its affine from file to file.

NIfTI counts x, y, z, t, channel with x fastest: read backwards, that is our C order, "CTZYX", without a copy.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO, ClassVar

import numpy as np

from epitomes.formats.errors import ImageFileError, library, require_size
from epitomes.formats.packed import more_follows, packed, unpacked
from epitomes.formats.picture import Picture, Pixels, colour_last, ordered
from epitomes.formats.units import converted, short

_SIZES = {348: "Nifti1", 540: "Nifti2"}  # bytes of the header -> class
_AXES = "XYZTC"
_MOST_HEADER = 2**24  # bytes before the pixels: header and extensions
_DTYPES = ("uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


@dataclass(frozen=True)
class NiftiInfo:
    """Carried from NIfTI to NIfTI."""

    title: ClassVar[str] = "the NIfTI header"

    version: str  # Nifti1 or Nifti2
    header: bytes  # with its extensions
    shape: tuple[int, ...]  # of the picture that was read
    scale: tuple[float, float]  # slope and intercept, which belong to the stored values


def read_nifti(file: BinaryIO, most: int) -> Picture:
    """The stored values of a single-file NIfTI, compressed or not."""
    nibabel = library("nibabel", extra="nifti", what="NIfTI")
    source = unpacked(file)
    content = source.read(540)
    version = next((_SIZES[n] for order in "<>" if (n := _first(content, order)) in _SIZES), None)
    if version is None or (content[344:347] != b"n+1" and content[4:7] != b"n+2"):
        raise ImageFileError("this is not a NIfTI file in one piece (.nii, .nii.gz), whatever its suffix says")
    kind = getattr(nibabel, f"{version}Image")
    header = kind.header_class(content[: 348 if version == "Nifti1" else 540])
    lengths, dtype, offset = header.get_data_shape(), header.get_data_dtype(), int(header["vox_offset"])
    if not (_is_rgb(dtype) or (dtype.kind in "iuf" and dtype.itemsize <= 8)):
        raise ImageFileError(f"it holds {dtype}, and a picture needs whole numbers or floats of at most 64 bits")
    require_size((*lengths, 3) if _is_rgb(dtype) else lengths, most)
    if not 0 <= offset <= _MOST_HEADER:
        raise ImageFileError(f"its pixels start at byte {offset}: the header is damaged")
    needed = offset + math.prod(lengths) * dtype.itemsize
    content += source.read(needed - len(content))
    if len(content) < needed:
        raise ImageFileError(f"this NIfTI file is cut short: it promises {needed} bytes and has {len(content)}")
    more_follows(source)  # padding at most
    image = kind.from_bytes(content)
    pixels, axes = _arranged(np.asanyarray(image.dataobj.get_unscaled()))
    info = NiftiInfo(version, _bytes(image.header), pixels.shape, (image.dataobj.slope, image.dataobj.inter))
    spacing, units = _spacing(image.header)
    slope, intercept = info.scale
    told = f"values are as stored: the file multiplies them by {slope:g} and adds {intercept:g}"
    notes = () if info.scale == (1.0, 0.0) else (told,)
    return Picture(pixels, axes, spacing, units, metadata=info, notes=notes)


def write_nifti(picture: Picture) -> bytes:
    """A NIfTI file; header, affine and extensions of the file that the picture came from are kept."""
    nibabel = library("nibabel", extra="nifti", what="NIfTI")
    if picture.pixels.dtype.name not in _DTYPES:
        raise ImageFileError(f"NIfTI holds {', '.join(_DTYPES)}, got {picture.pixels.dtype}: use .npz, or convert it")
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
    """The same, compressed."""
    return packed(write_nifti(picture))


def _first(content: bytes, order: str) -> int:
    return int(struct.unpack(f"{order}i", content[:4])[0]) if len(content) >= 4 else 0


def _is_rgb(dtype: np.dtype[Any]) -> bool:
    return dtype.names == ("R", "G", "B")


def _arranged(stored: Pixels) -> tuple[Pixels, str]:
    """Our pixels and axes: x fastest; placeholders of length one before a longer axis are left out."""
    if stored.ndim > 7 or any(n > 1 for n in stored.shape[5:]):
        raise ImageFileError(f"it has the shape {stored.shape}, and a picture has at most 5 axes: cut it first")
    stored = stored.reshape(stored.shape[:5], order="F")
    if stored.ndim < 2:
        raise ImageFileError(f"it has the shape {stored.shape}, and a picture has at least two axes")
    used = [i for i, n in enumerate(map(int, stored.shape)) if i < 2 or n > 1 or i == stored.ndim - 1]
    pixels = stored.reshape([stored.shape[i] for i in used], order="F").T
    axes = "".join(_AXES[i] for i in reversed(used))
    if _is_rgb(stored.dtype):
        flat = np.ascontiguousarray(pixels)
        return flat.view(np.uint8).reshape(*flat.shape, 3), axes + "C"
    return pixels, axes


def _stored(picture: Picture) -> Pixels:
    """The array as nibabel wants it, `(x, y, z, t, channel)`; bytes of three colours become RGB voxels."""
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
    """Distances of these axes in another unit, where they are known."""
    found = [converted(picture.spacing[a], picture.units.get(a, ""), goal) for a in letters if a in picture.spacing]
    return [step for step in found if step is not None]


def _affine(picture: Picture) -> Any:
    """From indices to millimetres, along the axes: nothing more is known of a picture from elsewhere."""
    steps = [_steps(picture, letter, "mm") for letter in "XYZ"]
    return np.diag([step[0] if step else 1.0 for step in steps] + [1.0])
