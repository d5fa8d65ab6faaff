"""The table of formats. A new format is a reader, a writer and an entry. The first entry that fits the content wins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from epitomes.formats import (
    bitmaps,
    dicom,
    dicom_write,
    dng,
    fits,
    jpeg,
    jpeg2000,
    mrc,
    nifti,
    numpy_files,
    ome_zarr,
    photo,
    png,
    pnm,
    raw,
    tiff,
    tiff_write,
    video,
    video_write,
)
from epitomes.formats.errors import ImageFileError
from epitomes.formats.packed import unpacked_head
from epitomes.formats.picture import LETTERS, Picture

STREAM = "-"  # stdin or stdout


@dataclass(frozen=True)
class Format:
    """A format of single files. Readers get the open file and the largest number of values; writers return bytes."""

    name: str
    suffixes: tuple[str, ...]
    read: Callable[..., Picture]  # (file, most), and the wanted image if there may be several
    write: Callable[[Picture], bytes] | None = None
    carries: type | None = None  # metadata of its family that it can write
    axes: bool = True  # whether it keeps the letters of the axes
    spacing: str = ""  # axes whose spacing and units it keeps
    alpha: bool = False  # whether it keeps transparency
    instead: str = ""  # suffixes to use, if it cannot be written
    begins: Callable[[bytes], bool] | None = None  # whether the first bytes of a file are those of this format
    several: bool = False  # whether a file may hold several images
    loses: Callable[[Picture], tuple[str, ...]] | None = None  # what writing changes, in sentences


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

_PHOTO = photo.PhotoInfo

FORMATS: tuple[Format | FolderFormat, ...] = (
    Format("PNG", (".png",), png.read_png, png.write_png, _PHOTO, alpha=True, begins=png.is_png),
    Format("JPEG", (".jpg", ".jpeg"), jpeg.read_jpeg, jpeg.write_jpeg, _PHOTO, begins=jpeg.is_jpeg),
    *(
        Format(
            name, suffixes, tiff.read_tiff, write, tiff.TiffInfo, True, kept, True, begins=tiff.is_tiff, several=True
        )
        for name, suffixes, write, kept in (
            ("TIFF", (".tif", ".tiff"), tiff_write.write_tiff, LETTERS),
            ("OME-TIFF", (".ome.tif", ".ome.tiff"), tiff_write.write_ome_tiff, "TZYX"),
            ("BigTIFF", (".btf", ".tf8"), tiff_write.write_bigtiff, LETTERS),
        )
    ),
    Format("NPY", (".npy",), numpy_files.read_npy, numpy_files.write_npy, axes=False, begins=numpy_files.is_npy),
    Format(
        "NPZ",
        (".npz",),
        numpy_files.read_npz,
        numpy_files.write_npz,
        spacing=LETTERS,
        begins=numpy_files.is_npz,
        several=True,
    ),
    FolderFormat(
        "Zarr", (".zarr", ".ome.zarr"), ome_zarr.read_zarr, ome_zarr.write_zarr, ome_zarr.MARKS, ome_zarr.ZarrInfo
    ),
    *(
        Format("FITS", suffixes, fits.read_fits, write, fits.FitsInfo, True, LETTERS, begins=begins, several=True)
        for suffixes, write, begins in (
            ((".fits", ".fit", ".fts"), fits.write_fits, fits.is_fits),
            ((".fits.gz", ".fit.gz"), fits.write_fits_gz, lambda head: fits.is_fits(unpacked_head(head))),
        )
    ),
    *(
        Format("NIfTI", (suffix,), nifti.read_nifti, write, nifti.NiftiInfo, True, "TZYX", begins=begins)
        for suffix, write, begins in (
            (".nii", nifti.write_nifti, nifti.is_nifti),
            (".nii.gz", nifti.write_nifti_gz, lambda head: nifti.is_nifti(unpacked_head(head))),
        )
    ),
    Format(
        "MRC",
        (".mrc", ".mrcs"),
        mrc.read_mrc,
        mrc.write_mrc,
        mrc.MrcInfo,
        True,
        "ZYX",
        begins=mrc.is_mrc,
    ),
    Format(
        "DICOM",
        (".dcm", ".dicom"),
        dicom.read_dicom,
        dicom_write.write_dicom,
        dicom.DicomInfo,
        spacing=LETTERS,
        begins=dicom.is_dicom,
        loses=dicom_write.lost_by_dicom,
    ),
    Format(
        "WebP",
        (".webp",),
        bitmaps.read_webp,
        bitmaps.write_webp,
        _PHOTO,
        alpha=True,
        begins=bitmaps.is_webp,
        loses=bitmaps.lost_by_webp,
    ),
    Format("BMP", (".bmp",), bitmaps.read_bmp, bitmaps.write_bmp, begins=bitmaps.is_bmp),
    Format("GIF", (".gif",), bitmaps.read_gif, instead=".png", begins=bitmaps.is_gif),
    Format("PGM", (".pgm", ".ppm", ".pnm", ".pbm"), pnm.read_pnm, pnm.write_pgm, pnm.PnmInfo, begins=pnm.is_pnm),
    Format(
        "JPEG 2000",
        (".jp2", ".j2k"),
        jpeg2000.read_jpeg2000,
        jpeg2000.write_jpeg2000,
        alpha=True,
        begins=jpeg2000.is_jpeg2000,
    ),
    Format("DNG", (".dng",), raw.read_raw, dng.write_dng, raw.RawInfo),
    Format("camera RAW", RAW_SUFFIXES, raw.read_raw, instead=".dng or .tif"),
    Format(
        "video",
        (".mkv",),
        video.read_video,
        video_write.write_mkv,
        video.VideoInfo,
        spacing="T",
        begins=lambda head: video.container_of(head) == "matroska",
        several=True,
        loses=video_write.lost_by_mkv,
    ),
    Format(
        "video",
        (".mp4", ".m4v"),
        video.read_video,
        video_write.write_mp4,
        video.VideoInfo,
        spacing="T",
        begins=lambda head: video.container_of(head) == "mov",
        several=True,
        loses=video_write.lost_by_mp4,
    ),
    Format(
        "video",
        (".mov", ".webm", ".avi"),
        video.read_video,
        instead=".mkv, which is lossless, or .mp4",
        begins=lambda head: video.container_of(head) is not None,
        several=True,
    ),
)

BY_SUFFIX = {suffix: each for each in FORMATS for suffix in each.suffixes}


def suffix_of(path: PurePath) -> str:
    """Return the longest known suffix of a name, such as `.ome.tif`; otherwise its last suffix, which is unknown."""
    name = path.name.lower()
    known = [suffix for suffix in BY_SUFFIX if name.endswith(suffix) and len(name) > len(suffix)]
    return max(known, key=len, default=path.suffix)


def format_to_write(path: PurePath) -> Format | FolderFormat:
    """Return the format that the suffix of a name selects, if it can be written."""
    found = BY_SUFFIX.get(suffix_of(path))
    if found is None:
        raise unknown(path, [each for each in FORMATS if each.write is not None], "written")
    if found.write is None and isinstance(found, Format):
        raise ImageFileError(f"{path}: {found.name} can be read but not written: use the suffix {found.instead}")
    return found


def sniffed(head: bytes) -> str | None:
    """Return the suffix of the format that starts with these bytes; None if it is unknown."""
    return next((each.suffixes[0] for each in FORMATS if isinstance(each, Format) and _fits(each, head)), None)


def suffix_to_read(path: PurePath, head: bytes) -> str:
    """Return the suffix of the format of a file: that of its name, unless its first bytes are of another format."""
    suffix = suffix_of(path)
    named = BY_SUFFIX.get(suffix)
    if isinstance(named, Format) and (named.begins is None or named.begins(head)):
        return suffix
    content = sniffed(head)
    if content is None and named is None:
        raise unknown(path, FORMATS, "read")
    return content or suffix


def unknown(path: PurePath, offered: Sequence[Format | FolderFormat], verb: str) -> ImageFileError:
    """Return the error for a name that selects no format."""
    ending = f"the unknown suffix {path.suffix!r}" if path.suffix else "no suffix"
    known = ", ".join(each.suffixes[0] for each in offered)
    return ImageFileError(f"{path} has {ending}: files with these suffixes can be {verb}: {known}")


def _fits(kind: Format, head: bytes) -> bool:
    return kind.begins is not None and kind.begins(head)
