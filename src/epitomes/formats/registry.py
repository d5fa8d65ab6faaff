"""The table of formats. A new format is a reader, a writer and an entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import BinaryIO

from epitomes.formats import (
    dicom,
    dng,
    fits,
    jpeg,
    nifti,
    numpy_files,
    ome_zarr,
    photo,
    png,
    raw,
    tiff,
    tiff_write,
    video,
)
from epitomes.formats.errors import ImageFileError
from epitomes.formats.picture import LETTERS, Picture

STREAM = "-"  # stdin or stdout


@dataclass(frozen=True)
class Format:
    """A format of single files. Readers get the open file and the largest number of values; writers return bytes."""

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[BinaryIO, int], Picture]
    write: Callable[[Picture], bytes] | None = None
    carries: type | None = None  # metadata of its family that it can write
    axes: bool = True  # whether it keeps the letters of the axes
    spacing: str = ""  # axes whose spacing and units it keeps
    alpha: bool = False  # whether it keeps transparency
    instead: str = ""  # suffixes to use, if it cannot be written


@dataclass(frozen=True)
class FolderFormat:
    """A format whose images are directories. Readers get the path; writers fill a new directory."""

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Path, int], Picture]
    write: Callable[[Picture, Path], None]
    marks: Sequence[str]  # every such directory holds one of these files
    carries: type | None = None
    axes: bool = True
    spacing: str = LETTERS
    alpha: bool = False


RAW_SUFFIXES = (".nef", ".cr2", ".cr3", ".arw", ".raf", ".orf", ".rw2", ".pef", ".srw", ".nrw", ".3fr", ".iiq")

FORMATS: tuple[Format | FolderFormat, ...] = (
    Format("PNG", (".png",), png.read_png, png.write_png, photo.PhotoInfo, alpha=True),
    Format("JPEG", (".jpg", ".jpeg"), jpeg.read_jpeg, jpeg.write_jpeg, photo.PhotoInfo),
    Format(
        "OME-TIFF",
        (".ome.tif", ".ome.tiff"),
        tiff.read_tiff,
        tiff_write.write_ome_tiff,
        tiff.TiffInfo,
        spacing="TZYX",
        alpha=True,
    ),
    Format(
        "TIFF", (".tif", ".tiff"), tiff.read_tiff, tiff_write.write_tiff, tiff.TiffInfo, spacing=LETTERS, alpha=True
    ),
    Format(
        "BigTIFF",
        (".btf", ".tf8"),
        tiff.read_tiff,
        tiff_write.write_bigtiff,
        tiff.TiffInfo,
        spacing=LETTERS,
        alpha=True,
    ),
    Format("NPY", (".npy",), numpy_files.read_npy, numpy_files.write_npy, axes=False),
    Format("NPZ", (".npz",), numpy_files.read_npz, numpy_files.write_npz, spacing=LETTERS),
    FolderFormat(
        "Zarr", (".zarr", ".ome.zarr"), ome_zarr.read_zarr, ome_zarr.write_zarr, ome_zarr.MARKS, ome_zarr.ZarrInfo
    ),
    Format("FITS", (".fits", ".fit", ".fts"), fits.read_fits, fits.write_fits, fits.FitsInfo, spacing=LETTERS),
    Format("FITS", (".fits.gz", ".fit.gz"), fits.read_fits, fits.write_fits_gz, fits.FitsInfo, spacing=LETTERS),
    Format("NIfTI", (".nii",), nifti.read_nifti, nifti.write_nifti, nifti.NiftiInfo, spacing="TZYX"),
    Format("NIfTI", (".nii.gz",), nifti.read_nifti, nifti.write_nifti_gz, nifti.NiftiInfo, spacing="TZYX"),
    Format("DICOM", (".dcm", ".dicom"), dicom.read_dicom, instead=".nii or .tif"),
    Format("DNG", (".dng",), raw.read_raw, dng.write_dng, raw.RawInfo),
    Format("camera RAW", RAW_SUFFIXES, raw.read_raw, instead=".dng or .tif"),
    Format("video", (".mkv",), video.read_video, video.write_video, video.VideoInfo, spacing="T"),
    Format("video", (".mp4", ".m4v", ".mov", ".webm", ".avi"), video.read_video, instead=".mkv, which is lossless"),
)

BY_SUFFIX = {suffix: each for each in FORMATS for suffix in each.suffixes}


def suffix_of(path: PurePath) -> str:
    """Return the longest known suffix of a name, such as `.ome.tif`; otherwise its last suffix, which is unknown."""
    name = path.name.lower()
    known = [suffix for suffix in BY_SUFFIX if name.endswith(suffix) and len(name) > len(suffix)]
    return max(known, key=len, default=path.suffix)


def format_to_read(path: PurePath) -> Format | FolderFormat:
    """Return the format that the suffix of a name selects."""
    return _named(path, FORMATS, "read")


def format_to_write(path: PurePath) -> Format | FolderFormat:
    """Return the format that the suffix of a name selects, if it can be written."""
    found = _named(path, [each for each in FORMATS if each.write is not None], "written")
    if found.write is None and isinstance(found, Format):
        raise ImageFileError(f"{path}: {found.name} can be read but not written: use the suffix {found.instead}")
    return found


def sniffed(head: bytes) -> str | None:
    """Return the suffix of the format that starts with these bytes. Compressed FITS and NIfTI are not recognised."""
    for suffix, starts in (
        (".png", (png.SIGNATURE,)),
        (".jpg", (b"\xff\xd8\xff",)),
        (".tif", tiff.MAGIC),
        (".npy", (numpy_files.NPY_MAGIC,)),
        (".npz", (numpy_files.ZIP_MAGIC,)),
        (".fits", (fits.MAGIC,)),
    ):
        if head.startswith(starts):
            return suffix
    if head[128:132] == dicom.MAGIC:
        return ".dcm"
    if head[344:347] == b"n+1" or head[4:7] == b"n+2":
        return ".nii"
    return ".mkv" if video.container_of(head) else None


def _named(path: PurePath, offered: Sequence[Format | FolderFormat], verb: str) -> Format | FolderFormat:
    found = BY_SUFFIX.get(suffix_of(path))
    if found is None:
        ending = f"the unknown suffix {path.suffix!r}" if path.suffix else "no suffix"
        known = ", ".join(each.suffixes[0] for each in offered)
        raise ImageFileError(f"{path} has {ending}: files with these suffixes can be {verb}: {known}")
    return found
