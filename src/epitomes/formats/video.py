"""Video, read with PyAV: frames in the order of display, and the sound beside them, which is carried undecoded.

FFmpeg guesses the format of a file, and some formats are lists of other files and URLs, which it would open. Therefore
it is given the container format, and may open nothing else.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np

from epitomes.formats._limits import require_size
from epitomes.formats.errors import ImageFileError, cut_short, library, unsupported
from epitomes.formats.picture import Picture, Pixels
from epitomes.formats.series import Series, chosen, told

GREY = {8: "gray", 10: "gray10le", 12: "gray12le", 14: "gray14le", 16: "gray16le"}  # bits -> layout of an array
RGB = {8: "rgb24", 10: "gbrp10le", 12: "gbrp12le", 14: "gbrp14le", 16: "rgb48le"}
USUAL_STEP = 0.04  # seconds, if the spacing is unknown
SOUND = "nut"  # a container that holds every kind of sound and keeps its times exactly
SOUND_DELAY = 60  # seconds: sound may start before the first frame, and containers refuse times below 0

_MATROSKA = b"\x1a\x45\xdf\xa3"
_STILLS = (b"heic", b"heix", b"mif1", b"msf1", b"avif", b"avis", b"crx ")  # single images in the container of MP4
_HEAD = 256  # bytes that identify the container
_MOST_SOUND = 2**30  # bytes


@dataclass(frozen=True)
class VideoInfo:
    """Metadata that passes from video to video."""

    times: tuple[float, ...]  # seconds, one per frame
    tags: tuple[tuple[str, str], ...] = ()
    bits: int = 0  # of a value; 0: as many as its type has
    stored: str = ""  # FFmpeg's name of the layout of pixels, such as yuv420p
    matrix: int = field(default=0, repr=False)  # FFmpeg's number of the colour space; 2: unknown
    codecs: tuple[str, ...] = ()  # of the sound
    sound: bytes = b""  # a file of its own

    @property
    def title(self) -> str:
        """Name what other formats lose."""
        return f"{'the sound, ' * bool(self.sound)}the times of the frames and the titles"


def container_of(head: bytes) -> str | None:
    """Return FFmpeg's name of the container that starts with these bytes; None if it is not supported."""
    if head.startswith(_MATROSKA):
        return "matroska"
    if head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide") and head[8:12] not in _STILLS:
        return "mov"
    return "avi" if head[:4] == b"RIFF" and head[8:12] == b"AVI " else None


def conversion(av: Any) -> int | None:
    """Return the flags of conversions between colours that round correctly: by default, FFmpeg darkens by 1 in 255."""
    names = ("BICUBIC", "ACCURATE_RND", "FULL_CHR_H_INT", "FULL_CHR_H_INP", "BITEXACT")
    known = av.video.reformatter.Interpolation
    return sum(int(getattr(known, name)) for name in names) if all(hasattr(known, name) for name in names) else None


@dataclass(eq=False)
class VideoSource:
    """An open video file, whose frames are decoded one after another; what it says of itself is known at the end."""

    av: Any
    video: Any
    stream: Any
    bits: int
    channels: int
    notes: list[str]
    images: list[Series]
    one: Series  # of the images
    seconds: list[float] = field(default_factory=list)  # of the frames decoded so far
    heard: list[Any] = field(default_factory=list)  # packets of sound
    turn: int = 0  # degrees
    matrix: int = 0

    @classmethod
    @contextmanager
    def opened(cls, file: BinaryIO, series: int | str | None = None) -> Iterator[VideoSource]:
        """Open a file and choose one of its streams."""
        av = library("av", extra="video", what="video")
        head = file.read(_HEAD)
        container = container_of(head)
        if container is None:
            raise ImageFileError(
                "this is not a Matroska, MP4, QuickTime or AVI video: correct its suffix, or convert it"
            )
        if container == "matroska" and file.seek(0, os.SEEK_END) < (end := _matroska_end(head)):
            raise cut_short("this video", f"{end} bytes", file.tell())
        file.seek(0)
        with av.open(file, format=container, options={"protocol_whitelist": ""}, metadata_errors="replace") as video:
            if not video.streams.video:
                raise ImageFileError("it holds no video: choose another file")
            streams = [each for each in video.streams.video if each.codec_context.format is not None]
            if not streams:
                raise ImageFileError(
                    "its frames cannot be decoded, because FFmpeg does not know their format: convert it"
                )
            images = [Series(i, "", (each.height, each.width), each.pix_fmt) for i, each in enumerate(streams)]
            one = chosen(images, series)
            stream = streams[one.index]
            yield cls(av, video, stream, *_kind(stream.codec_context.format), images, one)

    @property
    def plane_shape(self) -> tuple[int, ...]:
        """Height and width, and three colours if there are."""
        return (self.stream.height, self.stream.width, *([3] if self.channels == 3 else []))

    @property
    def n_values(self) -> int | None:
        """Number of values that the header gives; None if it does not count the frames."""
        n = self.stream.frames or self._frames_by_time()
        return n * math.prod(self.plane_shape) if n else None

    def _frames_by_time(self) -> int:
        """Frames in the length of the file, for containers that do not count them."""
        rate, length = self.stream.average_rate, self.video.duration
        return round(float(rate) * length / 1e6) if rate and length else 0

    def frames(self, *, most: int | None = None) -> Iterator[Pixels]:
        """Decode all frames; no more values than `most`, if it is given."""
        layout, exactly = (GREY if self.channels == 1 else RGB)[self.bits], conversion(self.av)
        first: tuple[int, int] | None = None
        for packet in self.video.demux(self.stream, *self.video.streams.audio):
            if packet.stream.type == "audio":
                self.heard.append(packet)
                continue
            for frame in packet.decode():
                n = len(self.seconds)
                if most is not None:
                    require_size((n + 1, frame.height, frame.width, self.channels), most)
                if first is not None and first != (frame.height, frame.width):
                    raise ImageFileError(f"its frames change their size at frame {n}: split it there")
                first = frame.height, frame.width
                self.seconds.append(0.0 if frame.time is None else float(frame.time))
                self.turn, self.matrix = int(getattr(frame, "rotation", 0)), int(frame.colorspace)
                yield frame.reformat(format=layout, interpolation=exactly).to_ndarray()
        if not self.seconds:
            raise ImageFileError("it holds no frame that can be decoded: get another copy")
        if len(self.seconds) < 0.9 * self.stream.frames - 10:  # a few may be hidden intentionally
            raise cut_short("this video", f"{self.stream.frames} frames", len(self.seconds))

    def picture(self, pixels: Pixels) -> Picture:
        """The frames, or some of them, with what the file says; once all are decoded."""
        tags = tuple((name, value) for name, value in self.video.metadata.items() if name.upper() != "ENCODER")
        codecs = tuple(str(each.codec_context.name) for each in self.video.streams.audio)
        sound = _sound(self.av, self.heard)
        info = VideoInfo(tuple(self.seconds), tags, self.bits, self.stream.pix_fmt, self.matrix, codecs, sound)
        turned = [f"it is displayed rotated by {self.turn} degrees, and read as stored"] if self.turn else []
        return Picture(
            pixels,
            "TYX" if self.channels == 1 else "TYXC",
            {"T": _step(self.seconds, self.stream.average_rate)},
            {"T": "s"},
            metadata=info,
            notes=(*self.notes, *turned, *told(self.images, self.one)),
            series=tuple(self.images) if len(self.images) > 1 else (),
        )


def read_video(file: BinaryIO, most: int, series: int | str | None = None) -> Picture:
    """Read the frames of a video stream, grey or RGB, with as many bits as are stored."""
    with VideoSource.opened(file, series) as source:
        stream = source.stream
        require_size((max(stream.frames, 1), stream.height, stream.width, source.channels), most)
        return source.picture(np.stack(list(source.frames(most=most))))


def _sound(av: Any, packets: list[Any]) -> bytes:
    """Return the packets of sound as a file of its own, without decoding them; b"" if there are none."""
    timed = [packet for packet in packets if packet.dts is not None and packet.time_base is not None]
    if not timed or sum(packet.size for packet in timed) > _MOST_SOUND:
        return b""
    content = BytesIO()
    with av.open(content, "w", format=SOUND) as file:
        streams: dict[int, Any] = {}
        for packet in timed:
            if packet.stream.index not in streams:
                streams[packet.stream.index] = file.add_stream_from_template(packet.stream)
        for packet in timed:
            delay = round(SOUND_DELAY / packet.time_base)
            packet.stream = streams[packet.stream.index]
            packet.dts, packet.pts = packet.dts + delay, (packet.dts if packet.pts is None else packet.pts) + delay
            file.mux(packet)
    return content.getvalue()


def _kind(stored: Any) -> tuple[int, int, list[str]]:
    """Return the bits and the number of channels that hold the stored values, and notes on what changes."""
    parts = [part.bits for part in stored.components]
    if stored.has_palette:
        raise unsupported("a colour palette")
    if "f" in stored.name.removeprefix("gray").removeprefix("gbrp") or max(parts) > 16:
        raise unsupported(f"{stored.name} frames", "save it with 8 or 16 bits per value")
    channels = 1 if len(parts) < 3 else 3
    bits = next(each for each in GREY if each >= max(parts))
    notes = []
    if channels == 3 and not stored.is_rgb:
        notes.append(f"its colours are stored as {stored.name} and read as RGB with {bits} bits")
    elif bits != max(parts):
        notes.append(f"its {max(parts)}-bit values are read as {bits}-bit values")
    if len(parts) in (2, 4):
        notes.append("its transparency is not read")
    return bits, channels, notes


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
    return told if told and (not seen or abs(told - seen) < 1e-3) else seen or USUAL_STEP
