"""Collections: pictures in directories, files with many planes, or arrays, cut into shards of a fixed order.

A collection knows where its pictures are, not what they look like: a million files are named without being opened.
A shard holds what a worker needs to read its pictures by itself.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import whole
from epitomes.formats import ImageFileError, Picture, is_folder_format
from epitomes.formats import read as read_file
from epitomes.formats.errors import one_line
from epitomes.formats.registry import BY_SUFFIX, suffix_of
from epitomes.scale import planes

Answer = TypeVar("Answer")
Pixels = NDArray[Any]
Span = tuple[int, int]  # planes: the first, and the one after the last

SHARD = 50  # pictures
MOST_COLOURS = 4  # length of a last axis of an array that holds channels


@dataclass(frozen=True)
class Kind:
    """What all pictures of a collection have in common.

    Parameters
    ----------
    values : str
        Type of the values, such as ``"uint8"``, and so their units; ``"float"`` for floats of any size.
    n_channels : int
        Number of channels, 1 for grey pictures.

    Examples
    --------
    >>> from epitomes.scale import Kind
    >>> print(Kind("uint8", 3))
    uint8 with 3 channels
    """

    values: str
    n_channels: int

    def __str__(self) -> str:
        return f"{self.values} with {self.n_channels} channel{'s' * (self.n_channels > 1)}"


@dataclass(frozen=True, eq=False)
class Member:
    """One picture of a collection, or some planes of one file.

    Parameters
    ----------
    name : str
        Name for messages.
    source : Path, Picture, ndarray or ImageFileError
        Where it is: a file, the picture itself, or the reason why there is none.
    span : tuple of int, optional
        Planes of the file, ``(first, last + 1)``. Default: all.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.scale import Member
    >>> [(name, pixels, kind)] = Member("noise", np.zeros((20, 20))).pictures(2)
    >>> name, pixels.shape, str(kind)
    ('noise', (20, 20), 'float with 1 channel')
    """

    name: str
    source: Path | Picture | Pixels | ImageFileError
    span: Span | None = None

    def pictures(self, n_axes: int) -> Iterator[tuple[str, Pixels, Kind]]:
        """Read the pictures, with their channels last.

        Parameters
        ----------
        n_axes : int
            Number of axes of a picture, channels included. Axes before them count pictures.

        Yields
        ------
        name : str
            Name of the picture.
        pixels : ndarray
            The picture.
        kind : Kind
            Its values and channels.

        Raises
        ------
        ImageFileError
            If the picture cannot be read, or has too few axes.
        """
        pixels, n_channels = self._read(n_axes)
        if pixels.ndim < n_axes or n_axes < 2 + (n_channels > 1):
            raise ImageFileError(
                f"it has {pixels.ndim} axes{f' with {n_channels} channels' * (n_channels > 1)}, and the patches of the "
                f"epitome have {n_axes}: learn an epitome for such pictures"
            )
        kind = Kind("float" if pixels.dtype.kind == "f" else pixels.dtype.name, n_channels)
        stack = pixels.shape[: pixels.ndim - n_axes]
        title, first = (self.name, 0) if self.span is None else (str(self.source), self.span[0])
        for number, place in enumerate(np.ndindex(*stack)):
            yield (f"{title}[{first + number}]" if stack else title), pixels[place], kind

    def n_channels(self) -> int:
        """Return the number of channels.

        Returns
        -------
        int
            Colours of a picture that belong together, 1 for grey pictures.

        Raises
        ------
        ImageFileError
            If the picture cannot be read.
        """
        if isinstance(self.source, Path) and self.span is not None:
            return planes.opened(self.source).n_channels
        return self._read(3)[1]

    def _read(self, n_axes: int) -> tuple[Pixels, int]:
        """Return the pixels, with channels last if there are several, and their number."""
        if isinstance(self.source, ImageFileError):
            raise self.source
        if isinstance(self.source, Path) and self.span is not None:
            file = planes.opened(self.source)
            return file.read(*self.span, n_axes), file.n_channels
        source = read_file(self.source) if isinstance(self.source, Path) else self.source
        if not isinstance(source, Picture):
            coloured = n_axes == 3 and source.ndim >= 3 and source.shape[-1] <= MOST_COLOURS
            return source, source.shape[-1] if coloured else 1
        layout = source.layout
        pixels, n_channels = layout.canonical(source.pixels), layout.n_channels or 1
        return (pixels[..., 0] if layout.n_channels == 1 else pixels), n_channels


@dataclass(frozen=True, eq=False)
class Shard:
    """Some pictures of a collection, for one task.

    Parameters
    ----------
    index : int
        Number of the shard in its collection.
    members : tuple of Member
        Its pictures.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.scale import collection
    >>> shard = collection(np.zeros((5, 20, 20)), n_axes=2, shard_size=3).shard(1)
    >>> print(shard)
    shard 1 (picture 3 to picture 4)
    """

    index: int
    members: tuple[Member, ...]

    def __str__(self) -> str:
        first, last = self.members[0].name, self.members[-1].name
        return f"shard {self.index} ({first if first == last else f'{first} to {last}'})"


@dataclass(frozen=True, eq=False)
class Collection:
    """Pictures in a fixed order, cut into shards. `collection` makes one.

    Parameters
    ----------
    sources : sequence
        For each member, its file or the picture itself. A sequence may load pictures when they are asked for.
    spans : sequence of tuple of int or None
        For each member, its planes if it is a part of a file.
    shard_size : int
        Number of pictures or planes in a shard.
    ignored : tuple of str, optional
        Files of directories that are not images.

    See Also
    --------
    collection : Make a collection of directories, files or arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.scale import collection
    >>> images = collection([np.zeros((20, 20)), np.zeros((30, 20)), np.zeros((20, 40))], n_axes=2, shard_size=2)
    >>> len(images), len(images.spans)
    (2, 3)
    """

    sources: Sequence[Any]
    spans: Sequence[Span | None]
    shard_size: int
    ignored: tuple[str, ...] = ()

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """For each shard, the number of members before its end."""
        ends: list[int] = []
        filled = 0
        for number, span in enumerate(self.spans):
            size = 1 if span is None else span[1] - span[0]
            if filled and filled + size > self.shard_size:
                ends.append(number)
                filled = 0
            filled += size
        return (*ends, len(self.spans))

    def __len__(self) -> int:
        return len(self.ends)

    def shard(self, index: int) -> Shard:
        """Return one shard.

        Parameters
        ----------
        index : int
            Its number, from 0.

        Returns
        -------
        Shard
            Its members. Arrays are taken from their sequence now, files are read by the worker.
        """
        first = self.ends[index - 1] if index else 0
        return Shard(index, tuple(self._member(each) for each in range(first, self.ends[index])))

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the names and the shards; a run can be resumed on a collection that has the same one."""
        digest = hashlib.blake2b(f"{self.shard_size}".encode(), digest_size=16)
        for number in range(len(self.spans)):
            digest.update(f"\n{self._name(number)}".encode())
        return digest.hexdigest()

    def kind(self, n_axes: int) -> Kind:
        """Return the kind of the first picture that can be read.

        Parameters
        ----------
        n_axes : int
            Number of axes of a picture, channels included.

        Returns
        -------
        Kind
            Its values and channels.

        Raises
        ------
        ImageFileError
            If none of the first pictures can be read.
        """
        return self._first(lambda member: next(kind for _, _, kind in member.pictures(n_axes)))

    def n_channels(self) -> int:
        """Return the number of channels of the first picture that can be read.

        Returns
        -------
        int
            1 for grey pictures.

        Raises
        ------
        ImageFileError
            If none of the first pictures can be read.
        """
        return self._first(Member.n_channels)

    def _first(self, ask: Callable[[Member], Answer]) -> Answer:
        """Ask the first members, until one can be read."""
        reason, tried = "", min(len(self.spans), self.shard_size)
        for number in range(tried):
            member = self._member(number)
            try:
                return ask(member if member.span is None else Member(member.name, member.source, (0, 1)))
            except ImageFileError as error:
                reason = reason or (str(error) if member.name in str(error) else f"{member.name}: {error}")
        raise ImageFileError(f"none of the first {tried} pictures can be used. {reason}")

    def _name(self, number: int) -> str:
        span = self.spans[number]
        source = self.sources[number] if isinstance(self.sources, list) else None
        title = str(source) if isinstance(source, Path) else f"picture {number}"
        return title if span is None else f"{title}[{span[0]}:{span[1]}]"

    def _member(self, number: int) -> Member:
        found: Path | Picture | Pixels | ImageFileError
        try:
            source = self.sources[number]
            found = source if isinstance(source, (Path, Picture)) else np.asarray(source)
        except Exception as error:  # a sequence of the user may load files, and fail in any way
            found = ImageFileError(one_line(f"{type(error).__name__}: {error}"))
        return Member(self._name(number), found, self.spans[number])


def collection(source: Any, *, n_axes: int, shard_size: int = SHARD) -> Collection:
    """Make a collection of the pictures in directories, files or arrays.

    Parameters
    ----------
    source : str, path-like, array or iterable of these
        A directory, a pattern such as ``"images/**/*.tif"``, a file, an array whose leading axes count pictures, or
        several of one sort: names, or arrays and pictures. An iterator is read to its end and kept in memory; a
        sequence is asked for a picture when its shard is due.
    n_axes : int
        Number of axes of a picture, channels included: that of the patches of the epitome.
    shard_size : int, default: 50
        Number of pictures or planes in a shard.

    Returns
    -------
    Collection
        The pictures in the order of their names, or in that of the arrays.

    Raises
    ------
    FileNotFoundError
        If a file does not exist, or a pattern or a directory has no images.
    ValueError
        If there is no picture, or shards are smaller than one.

    See Also
    --------
    learn_from : Learn an epitome from a collection.

    Notes
    -----
    Large TIFF files and Zarr directories are opened to count their planes, which are divided among shards. All other
    files are opened by the workers alone.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.scale import collection
    >>> len(collection(np.zeros((120, 20, 20)), n_axes=2))
    3
    """
    whole("shard_size", shard_size, least=1)
    whole("n_axes", n_axes, least=1)
    if isinstance(source, Collection):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _files([source], n_axes, shard_size)
    if hasattr(source, "ndim") and hasattr(source, "shape"):
        lazy = _Leading(source, n_axes)
        return _of(lazy, [None] * len(lazy), shard_size)
    if not isinstance(source, Iterable):
        raise TypeError(f"source must be names of files, an array or several arrays, got {type(source).__name__}")
    items = source if isinstance(source, Sequence) else list(source)
    if isinstance(items, (list, tuple)) and items and isinstance(items[0], (str, os.PathLike)):
        return _files(list(items), n_axes, shard_size)
    return _of(items, [None] * len(items), shard_size)


def _of(sources: Sequence[Any], spans: list[Span | None], shard_size: int, ignored: tuple[str, ...] = ()) -> Collection:
    if not spans:
        raise ValueError("the collection is empty: name at least one picture")
    return Collection(sources, spans, shard_size, ignored)


class _Leading(Sequence[Any]):
    """The pictures of an array, which need not be in memory."""

    def __init__(self, array: Any, n_axes: int) -> None:
        if array.ndim < n_axes:
            raise ValueError(f"an array of shape {tuple(array.shape)} holds no pictures of {n_axes} axes")
        self._array, self._stack = array, tuple(array.shape[: array.ndim - n_axes])

    def __len__(self) -> int:
        return int(np.prod(self._stack, dtype=np.int64))

    def __getitem__(self, number: Any) -> Any:
        place = tuple(int(each) for each in np.unravel_index(number, self._stack)) if self._stack else ()
        return self._array[place]


def _files(names: Sequence[str | os.PathLike[str]], n_axes: int, shard_size: int) -> Collection:
    found, ignored = dict[Path, None](), list[str]()
    for name in names:
        found.update(dict.fromkeys(_expanded(os.fspath(name), ignored)))
    sources, spans = list[Path](), list[Span | None]()
    for path in found:
        parts = _parts(path, n_axes, shard_size)
        sources += [path] * len(parts)
        spans += parts
    return _of(sources, spans, shard_size, tuple(ignored))


def _expanded(name: str, ignored: list[str]) -> list[Path]:
    """Return the files that a name stands for, sorted."""
    path = Path(name)
    if path.is_dir() and not is_folder_format(path):
        files = [path / each for each in sorted(os.listdir(path)) if not each.startswith(".")]
        images = [file for file in files if suffix_of(file) in BY_SUFFIX]
        ignored += [str(file) for file in files if suffix_of(file) not in BY_SUFFIX and file.is_file()]
        if not images:
            raise FileNotFoundError(f"{path}: no file of this directory has the suffix of an image")
        return images
    if glob.has_magic(name) and not path.exists():
        matches = [Path(each) for each in sorted(glob.glob(name, recursive=True))]
        files = [each for each in matches if each.is_file() or is_folder_format(each)]
        if not files:
            raise FileNotFoundError(f"{name}: no file matches this pattern")
        return files
    if not path.exists():
        raise FileNotFoundError(f"{name}: there is no such file or directory")
    return [path]


def _parts(path: Path, n_axes: int, shard_size: int) -> list[Span | None]:
    """Divide the planes of a large file; None stands for a whole file, which may turn out to be unreadable later."""
    if not planes.is_large(path):
        return [None]
    try:
        count = planes.count_pictures(path, n_axes)
    except ImageFileError:
        return [None]
    ends = [*range(0, count, shard_size), count]
    return [None] if count < 2 else list(pairwise(ends))
