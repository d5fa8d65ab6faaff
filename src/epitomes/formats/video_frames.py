"""Frames of a video file as an array that is not in memory: they are decoded when they are asked for.

A file is decoded from its beginning. Frames that lie behind the last ones asked for begin a new pass, so callers ask in
the order of time. That is enough for the stages of volumes, which read frames once, and for samples of a clip.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from epitomes.formats.errors import ImageFileError, named, one_line
from epitomes.formats.picture import Picture, Pixels
from epitomes.formats.video import VideoSource


class VideoFrames:
    """What methods for clips ask of an array `(frames, height, width[, colours])`: its shape, slices, its mean.

    `head` is the picture with the first frame alone, and with what the whole file says.
    """

    def __init__(self, path: Path, series: int | str | None = None) -> None:
        self._path, self._series = path, series
        self._total = 0  # of all values: a whole number
        with self._named(), path.open("rb") as file, VideoSource.opened(file, series) as source:
            first: Pixels | None = None
            for frame in source.frames():
                first = frame if first is None else first
                self._total += int(frame.sum(dtype=np.int64))
            assert first is not None  # an empty file has raised
            picture = source.picture(first[None])
        self.head: Picture = replace(picture, name=path.name)
        self.times: tuple[float, ...] = tuple(source.seconds)
        self.shape: tuple[int, ...] = (len(source.seconds), *first.shape)
        self.dtype = first.dtype
        self._pass: Iterator[Pixels] = iter(())
        self._at = len(self)  # the next frame of the pass
        self._held: tuple[int, int, Pixels] = (0, 1, first[None])

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Pixels]:
        with self._named(), self._path.open("rb") as file, VideoSource.opened(file, self._series) as source:
            yield from source.frames()

    def __getitem__(self, key: Any) -> Pixels:
        """Frames by a number or a slice, and parts of them, as an array indexes."""
        along, *inner = key if isinstance(key, tuple) else (key,)
        if isinstance(along, slice):
            first, last, step = along.indices(len(self))
            return self._span(first, max(first, last))[(slice(None, None, step), *inner)]
        at = range(len(self))[along]
        part: Pixels = self._span(at, at + 1)[(0, *inner)]
        return part

    def mean(self, dtype: DTypeLike = np.float64) -> Any:
        """The mean of all values, whose sum is exact."""
        return np.asarray(self._total, dtype) / self.size

    def _span(self, first: int, last: int) -> Pixels:
        """Frames from `first` to before `last`; the last ones asked for are held."""
        if (first, last) != self._held[:2]:
            if first < self._at:
                self._pass, self._at = iter(self), 0
            frames = list(islice(self._pass, first - self._at, last - self._at))
            self._at = last
            empty = np.empty((0, *self.shape[1:]), self.dtype)
            self._held = first, last, np.stack(frames) if frames else empty
        return self._held[2]

    def _named(self) -> _Named:
        return _Named(self._path)


class _Named:
    """Errors of the decoder, with the name of the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None or isinstance(error, (GeneratorExit, KeyboardInterrupt, MemoryError, OSError)):
            return
        if isinstance(error, ImageFileError):
            raise named(error, self._path) from error
        if isinstance(error, Exception):
            damaged = f"{self._path}: this video is damaged ({one_line(error)}): get another copy"
            raise ImageFileError(damaged) from error
