"""Video, written with PyAV: lossless as FFV1 in Matroska, or visually lossless as H.264 in MP4. The sound is copied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np

from epitomes.formats._limits import times
from epitomes.formats.errors import cannot_hold, library
from epitomes.formats.picture import Picture, Pixels
from epitomes.formats.video import GREY, RGB, SOUND, SOUND_DELAY, USUAL_STEP, VideoInfo, conversion

_FFV1 = {"rgb24": "bgr0", "rgb48le": "gbrp16le"}  # its names of layouts; the others have the same name
_H264 = ("yuv420p", "yuv422p", "yuv444p")  # with 8 bits; those with 10 bits end in 10le
_H264_BITS = 10  # at most
_H264_QUALITY = "10"  # constant rate factor: 0 is lossless, 18 looks so
_MP4_SOUND = ("aac", "mp3", "mp3float", "mp2", "ac3", "eac3", "alac", "opus", "flac")
_MATRICES = (1, 5, 6)  # colour spaces that FFmpeg converts to and from: BT.709 and two of BT.601
_BT601 = 6


@dataclass(frozen=True)
class _Container:
    """A container, its coder, and how it counts time."""

    name: str
    coder: str
    ticks: int  # per second
    options: tuple[tuple[str, str], ...] = ()


_MKV = _Container("matroska", "ffv1", 1000)
_MP4 = _Container("mp4", "libx264", 90_000, (("crf", _H264_QUALITY), ("preset", "medium")))


def write_mkv(picture: Picture) -> bytes:
    """Encode as FFV1 in Matroska, lossless. Times of frames are kept to the millisecond."""
    return _encoded(picture, _MKV)


def write_mp4(picture: Picture) -> bytes:
    """Encode as H.264 in MP4, which most programs play."""
    return _encoded(picture, _MP4)


def lost_by_mkv(picture: Picture) -> tuple[str, ...]:
    """Say how many values the bits of the source file cannot hold."""
    bits = _bits(picture)
    changed = int(np.count_nonzero(picture.pixels >= 2**bits)) if picture.pixels.dtype == np.uint16 else 0
    return (f"{changed} values were clipped, because the file stores {bits} bits",) if changed else ()


def lost_by_mp4(picture: Picture) -> tuple[str, ...]:
    """Say what H.264 changes, and which sound MP4 cannot hold."""
    losses = ["MP4 is written as H.264, which looks the same but is not exact: .mkv is lossless"]
    if picture.axes == "TYX":
        losses.append("MP4 stores grey frames as colours")
    if (bits := _bits(picture)) > _H264_BITS:
        losses.append(f"MP4 stores {_H264_BITS} of {bits} bits")
    if lost := [codec for codec in _info(picture).codecs if codec not in _MP4_SOUND]:
        losses.append(f"MP4 cannot hold sound of the kind {', '.join(lost)}")
    return (*losses, *lost_by_mkv(picture))


def _info(picture: Picture) -> VideoInfo:
    return picture.metadata if isinstance(picture.metadata, VideoInfo) else VideoInfo(())


def _bits(picture: Picture) -> int:
    """Return the bits of a value: those of the source file, if it had as many bytes."""
    own, known = 8 * picture.pixels.dtype.itemsize, _info(picture).bits
    return known if known and (known > 8) == (own > 8) else own


def encode_frames(file: BinaryIO, head: Picture, frames: Iterable[Pixels], n: int, suffix: str) -> None:
    """Encode `n` frames one by one into a file that can be read and sought; `head` says all else, and holds one."""
    _encode(file, head, frames, n, _MKV if suffix == ".mkv" else _MP4)


def _encoded(picture: Picture, kind: _Container) -> bytes:
    content = BytesIO()
    _encode(content, picture, picture.pixels, len(picture.pixels), kind)
    return content.getvalue()


def _encode(content: BinaryIO, picture: Picture, frames: Iterable[Pixels], n: int, kind: _Container) -> None:
    av = library("av", extra="video", what="video")
    pixels, info, bits = picture.pixels, _info(picture), _bits(picture)
    layouts = RGB if picture.axes == "TYXC" else GREY
    colours = picture.axes == "TYX" or (picture.axes == "TYXC" and pixels.shape[-1] == 3)
    if not colours or pixels.dtype.name not in ("uint8", "uint16"):
        got = f"{pixels.dtype} values with the axes {picture.axes} ({times(pixels.shape)})"
        raise cannot_hold(got, "video", "uint8 or uint16 frames, TYX or TYXC with 3 colours", ".tif")
    step = picture.spacing.get("T", USUAL_STEP) if picture.units.get("T", "s") == "s" else USUAL_STEP
    matrix = info.matrix if info.matrix in _MATRICES else _BT601
    with av.open(content, "w", format=kind.name) as video:
        video.metadata.update(dict(info.tags))
        stream = video.add_stream(
            kind.coder, rate=Fraction(1 / step).limit_denominator(1001), options=dict(kind.options)
        )
        stream.height, stream.width = pixels.shape[1:3]
        stream.pix_fmt = _layout(layouts[bits], kind, info, bits, pixels)
        stream.codec_context.time_base = Fraction(1, kind.ticks)
        if kind is _MP4:
            stream.codec_context.colorspace = matrix
        sound = _Sound.of(av, info, video, kind)
        for tick, frame in zip(_ticks(info.times, n, step, kind.ticks), frames, strict=True):
            sound.mux(until=Fraction(tick, kind.ticks))
            shown = av.VideoFrame.from_ndarray(
                np.ascontiguousarray(np.minimum(frame, 2**bits - 1).astype(frame.dtype)), format=layouts[bits]
            )
            shown = shown.reformat(
                format=stream.pix_fmt, dst_colorspace=matrix if kind is _MP4 else None, interpolation=conversion(av)
            )
            shown.pts, shown.time_base = tick, Fraction(1, kind.ticks)
            video.mux(stream.encode(shown))
        video.mux(stream.encode(None))
        sound.mux()


def _layout(given: str, kind: _Container, info: VideoInfo, bits: int, pixels: Pixels) -> str:
    """Return the layout that is stored: for FFV1 the values themselves, for H.264 lightness and colours, as before."""
    if kind is _MKV:
        return _FFV1.get(given, given)
    known = info.stored.replace("yuvj", "yuv").split("p")[0] + "p"
    even = pixels.shape[1] % 2 == pixels.shape[2] % 2 == 0
    plain = (known if known in _H264 else "yuv420p") if even else "yuv444p"
    return plain if bits == 8 else f"{plain}10le"


@dataclass(frozen=True)
class _Sound:
    """The sound of the source file, copied packet by packet among the frames."""

    packets: Iterator[Any]
    waiting: list[Any]
    video: Any

    @classmethod
    def of(cls, av: Any, info: VideoInfo, video: Any, kind: _Container) -> _Sound:
        """Add the streams that the container can hold."""
        if not info.sound:
            return cls(iter(()), [], video)
        source = av.open(BytesIO(info.sound), format=SOUND)
        kept = [each for each in source.streams.audio if kind is _MKV or each.codec_context.name in _MP4_SOUND]
        goals = {each.index: video.add_stream_from_template(each) for each in kept}
        return cls(_moved(source, kept, goals), [], video)

    def mux(self, until: Fraction | None = None) -> None:
        """Write the packets up to a time in seconds, or all that are left."""
        while packet := self.waiting.pop() if self.waiting else next(self.packets, None):
            if until is not None and packet.dts * packet.time_base > until:
                self.waiting.append(packet)
                return
            self.video.mux(packet)


def _moved(source: Any, streams: list[Any], goals: dict[int, Any]) -> Iterator[Any]:
    """Yield the packets of some streams for other streams, at their own times."""
    for packet in source.demux(*streams) if streams else ():
        if packet.dts is not None:
            delay = round(SOUND_DELAY / packet.time_base)
            packet.dts, packet.pts = packet.dts - delay, packet.pts - delay
            packet.stream = goals[packet.stream.index]
            yield packet


def _ticks(times: tuple[float, ...], count: int, step: float, per_second: int) -> list[int]:
    """Return increasing times in ticks; one per step if the picture gives none."""
    ticks = [round(time * per_second) for time in times]
    if len(ticks) == count and all(later > sooner for sooner, later in pairwise(ticks)):
        return ticks
    return [round(i * max(step, 1 / per_second) * per_second) for i in range(count)]
