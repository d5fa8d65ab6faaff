"""Video, with PyAV: frames in the order of display. Written lossless, as FFV1 in Matroska.

FFmpeg guesses the format of a file, and some formats are lists of other files and URLs, which it would open. Therefore
it is given the container format, and may open nothing else.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from itertools import pairwise
from typing import Any, BinaryIO, ClassVar

import numpy as np

from epitomes.formats._limits import require_size, times
from epitomes.formats.errors import ImageFileError, cannot_hold, cut_short, library, unsupported
from epitomes.formats.picture import Picture, Pixels

_LAYOUTS = {("uint8", 1): "gray", ("uint16", 1): "gray16le", ("uint8", 3): "rgb24", ("uint16", 3): "rgb48le"}
_STORED = {"rgb24": "bgr0", "rgb48le": "gbrp16le"}  # names of FFV1; grey has the same name
_MATROSKA = b"\x1a\x45\xdf\xa3"
_HEAD = 256  # bytes that identify the container
_TICKS = 1000  # per second: Matroska counts milliseconds
_USUAL_STEP = 0.04  # seconds, if the spacing is unknown


@dataclass(frozen=True)
class VideoInfo:
    """Metadata that passes from video to video."""

    title: ClassVar[str] = "the times of the frames and the titles"

    times: tuple[float, ...]  # seconds, one per frame
    tags: tuple[tuple[str, str], ...] = ()


def container_of(head: bytes) -> str | None:
    """Return FFmpeg's name of the container that starts with these bytes; None if it is not supported."""
    if head.startswith(_MATROSKA):
        return "matroska"
    if head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide"):
        return "mov"
    return "avi" if head[:4] == b"RIFF" and head[8:12] == b"AVI " else None


def read_video(file: BinaryIO, most: int) -> Picture:
    """Read the frames of the first video stream, grey or RGB, with 8 or 16 bits."""
    av = library("av", extra="video", what="video")
    head = file.read(_HEAD)
    container = container_of(head)
    if container is None:
        raise ImageFileError("this is not a Matroska, MP4, QuickTime or AVI video: correct its suffix, or convert it")
    if container == "matroska" and file.seek(0, os.SEEK_END) < (end := _matroska_end(head)):
        raise cut_short("this video", f"{end} bytes", file.tell())
    file.seek(0)
    with av.open(file, format=container, options={"protocol_whitelist": ""}, metadata_errors="replace") as video:
        if not video.streams.video:
            raise ImageFileError("it holds no video: choose another file")
        stream = video.streams.video[0]
        stored = stream.codec_context.format
        if stored is None:
            raise ImageFileError("its frames cannot be decoded, because FFmpeg does not know their format: convert it")
        dtype, channels, notes = _kind(stored)
        require_size((max(stream.frames, 1), stream.height, stream.width, channels), most)
        frames: list[Pixels] = []
        seconds: list[float] = []
        for frame in video.decode(stream):
            require_size((len(frames) + 1, frame.height, frame.width, channels), most)
            if frames and frames[0].shape[:2] != (frame.height, frame.width):
                raise ImageFileError(f"its frames change their size at frame {len(frames)}: split it there")
            frames.append(frame.to_ndarray(format=_LAYOUTS[dtype, channels]))
            seconds.append(0.0 if frame.time is None else float(frame.time))
            turn = int(getattr(frame, "rotation", 0))
        if not frames:
            raise ImageFileError("it holds no frame that can be decoded: get another copy")
        if len(frames) < 0.9 * stream.frames - 10:  # a few may be hidden intentionally
            raise cut_short("this video", f"{stream.frames} frames", len(frames))
        tags = tuple((name, value) for name, value in video.metadata.items() if name.upper() != "ENCODER")
        step = _step(seconds, stream.average_rate)
        if turn:
            notes.append(f"it is displayed rotated by {turn} degrees, and read as stored")
        if video.streams.audio:
            notes.append("its sound is not read")
    return Picture(
        np.stack(frames),
        "TYX" if channels == 1 else "TYXC",
        {"T": step},
        {"T": "s"},
        metadata=VideoInfo(tuple(seconds), tags),
        notes=tuple(notes),
    )


def write_video(picture: Picture) -> bytes:
    """Encode as FFV1 in Matroska, lossless for 8 and 16 bits. Times of frames are kept to the millisecond."""
    av = library("av", extra="video", what="video")
    pixels = picture.pixels
    layout = _LAYOUTS.get((pixels.dtype.name, pixels.shape[-1] if picture.axes == "TYXC" else 1))
    if picture.axes not in ("TYX", "TYXC") or layout is None:
        got = f"{pixels.dtype} values with the axes {picture.axes} ({times(pixels.shape)})"
        raise cannot_hold(got, "video", "uint8 or uint16 frames, TYX or TYXC with 3 colours", ".tif")
    info = picture.metadata if isinstance(picture.metadata, VideoInfo) else VideoInfo(())
    step = picture.spacing.get("T", _USUAL_STEP) if picture.units.get("T", "s") == "s" else _USUAL_STEP
    content = BytesIO()
    with av.open(content, "w", format="matroska") as video:
        video.metadata.update(dict(info.tags))
        stream = video.add_stream("ffv1", rate=Fraction(1 / step).limit_denominator(1001))
        stream.height, stream.width = pixels.shape[1:3]
        stream.pix_fmt = _STORED.get(layout, layout)
        stream.codec_context.time_base = Fraction(1, _TICKS)
        for tick, frame in zip(_ticks(info.times, len(pixels), step), pixels, strict=True):
            shown = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format=layout)
            shown = shown.reformat(format=stream.pix_fmt)
            shown.pts, shown.time_base = tick, Fraction(1, _TICKS)
            video.mux(stream.encode(shown))
        video.mux(stream.encode(None))
    return content.getvalue()


def _kind(stored: Any) -> tuple[str, int, list[str]]:
    """Return the dtype and number of channels that hold the stored values, and notes on what changes."""
    bits = [part.bits for part in stored.components]
    if stored.has_palette:
        raise unsupported("a colour palette")
    if "f" in stored.name.removeprefix("gray").removeprefix("gbrp") or max(bits) > 16:
        raise unsupported(f"{stored.name} frames", "save it with 8 or 16 bits per value")
    channels = 1 if len(bits) < 3 else 3
    notes = []
    if channels == 3 and not stored.is_rgb:
        notes.append(f"its colours are stored as {stored.name} and read as RGB")
    elif max(bits) not in (8, 16):
        notes.append(f"its {max(bits)}-bit values are read as 16-bit values")
    if len(bits) in (2, 4):
        notes.append("its transparency is not read")
    return "uint8" if max(bits) <= 8 else "uint16", channels, notes


def _matroska_end(head: bytes) -> int:
    """Return the length that a Matroska file gives in its header; 0 if it gives none."""
    size, at = _number(head, len(_MATROSKA))
    if head[at + size : at + size + 4] != b"\x18\x53\x80\x67":
        return 0
    length, start = _number(head, at + size + 4)
    return start + length if length else 0


def _number(head: bytes, at: int) -> tuple[int, int]:
    """Decode a variable-length number of Matroska, and where it ends; its leading zero bits give its length."""
    first = head[at] if at < len(head) else 0
    length = 9 - first.bit_length()
    value = int.from_bytes(head[at : at + length], "big") & ((1 << 7 * length) - 1)
    return (0 if value == (1 << 7 * length) - 1 else value), at + length  # all ones: unknown


def _step(times: list[float], rate: Fraction | None) -> float:
    """Return the seconds between frames: from the rate of the file, unless the times of the frames disagree."""
    told = float(1 / rate) if rate else 0.0
    seen = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else 0.0
    return told if told and (not seen or abs(told - seen) < 1e-3) else seen or _USUAL_STEP


def _ticks(times: tuple[float, ...], count: int, step: float) -> list[int]:
    """Return increasing times in ticks; one per step if the picture gives none."""
    ticks = [round(time * _TICKS) for time in times]
    if len(ticks) == count and all(later > sooner for sooner, later in pairwise(ticks)):
        return ticks
    return [round(i * max(step, 1 / _TICKS) * _TICKS) for i in range(count)]
