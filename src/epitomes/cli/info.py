"""`epitomes info`: show what an image file or a model file holds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epitomes.cli.batch import each, files_of
from epitomes.cli.common import (
    STREAM,
    Axes,
    Json,
    MaxPixels,
    Result,
    SeriesOf,
    examples,
    read_any,
    require_axes,
    size,
)
from epitomes.cli.show import model_result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epitomes.formats import Picture
    from epitomes.layout import Layout

EXAMPLES = examples("info stack.ome.tif", "info 'models/*.epitome' --json")

MODEL_SUFFIX = ".epitome"
SHORT = 60  # characters of a value that are shown


def info(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="images, .epitome files, directories or patterns; - for stdin")
    ],
    axes: Axes = None,
    series: SeriesOf = None,
    json: Json = False,
    max_pixels: MaxPixels = None,
) -> None:
    """Show a file's format, shape, data type and metadata.

    For images, the range of values, axes and spacing are shown as well. For models, the settings of the learner and the
    source of the data are shown.
    """
    require_axes(axes)

    def work(file: Path) -> Result:
        if file.suffix == MODEL_SUFFIX:
            from epitomes.model_file import inspect

            return model_result(inspect(file), None, name=str(file))
        return _described(file, read_any(file, max_pixels, axes, series=series, finite=False))

    each(files_of(files), work, done="read", json=json)


def _described(file: Path, picture: Picture) -> Result:
    from epitomes.formats.registry import BY_SUFFIX

    pixels, layout = picture.pixels, _layout(picture)
    facts: dict[str, Any] = {
        "input": str(file),
        "format": BY_SUFFIX[picture.suffix].name,
        "axes": picture.axes,
        "shape": list(pixels.shape),
        "dtype": str(pixels.dtype),
        **_values(pixels),
        "series": [dataclasses.asdict(each) for each in picture.series],
        "spacing": dict(picture.spacing),
        "units": dict(picture.units),
        "channel_axis": None if layout is None else layout.channel_axis,
        "spatial": None if layout is None else layout.spatial,
        "images": None if layout is None else math.prod(layout.stack_shape),
        "alpha": picture.alpha is not None,
        "metadata": None if picture.metadata is None else _summary(picture.metadata),
        "notes": list(picture.notes),
        "bytes": None if str(file) == STREAM else _n_bytes(file),
    }
    lines = [f"{file}: {facts['format']}, {picture.axes} {size(pixels.shape)}, {pixels.dtype}"]
    if facts["mean"] is not None:
        lines.append(f"  values: {facts['minimum']:g} to {facts['maximum']:g}, mean {facts['mean']:.5g}")
    if facts["missing"]:
        lines.append(f"  missing: {facts['missing']} of {pixels.size} values are NaN or infinite")
    if layout is not None:
        lines.append(f"  content: {_content(layout)}")
    lines += [f"  series {each}" for each in picture.series]
    if picture.spacing:
        steps = (f"{axis} {step:g} {picture.units.get(axis, '')}".rstrip() for axis, step in picture.spacing.items())
        lines.append(f"  spacing: {', '.join(steps)}")
    if picture.alpha is not None:
        lines.append("  alpha channel: yes")
    if title := "" if picture.metadata is None else picture.metadata.title:
        lines.append(f"  metadata: {title}")
    lines += [f"  {name.replace('_', ' ')}: {value}" for name, value in (facts["metadata"] or {}).items()]
    return Result("\n".join(lines), facts)


def _layout(picture: Picture) -> Layout | None:
    """Return the layout; None for axes that no layout describes, such as YXT."""
    from epitomes.formats import ImageFileError

    try:
        return picture.layout
    except ImageFileError:
        return None


def _content(layout: Layout) -> str:
    """Describe a layout, such as "8 images of 20 x 30 with 3 channels"."""
    n_images = math.prod(layout.stack_shape)
    noun = f"{n_images} {layout.noun}{'s' * (n_images != 1)}"
    channels = "" if layout.n_channels is None else f" with {layout.n_channels} channel{'s' * (layout.n_channels != 1)}"
    return f"{noun} of {size(layout.picture_shape[: layout.spatial])}{channels}"


def _values(pixels: NDArray[Any]) -> dict[str, Any]:
    """Return the range and mean of the finite values, and the number of others."""
    import numpy as np

    known = pixels
    if pixels.dtype.kind == "f" and not (finite := np.isfinite(pixels)).all():
        known = pixels[finite]
    if not known.size:
        return {"minimum": None, "maximum": None, "mean": None, "missing": int(pixels.size)}
    return {
        "minimum": known.min().item(),
        "maximum": known.max().item(),
        "mean": float(known.mean(dtype="float64")),
        "missing": int(pixels.size - known.size),
    }


def _summary(metadata: object) -> dict[str, Any]:
    """Summarise metadata: numbers as they are, texts by their length, because they may name people."""
    if not dataclasses.is_dataclass(metadata):
        return {}
    above = ("shape", "axes", "dtype")
    names = (field.name for field in dataclasses.fields(metadata) if field.repr and field.name not in above)
    values = {name: getattr(metadata, name) for name in names}
    return {name: _amount(value) for name, value in values.items() if not _is_empty(value)}


def _is_empty(value: Any) -> bool:
    return value is None or value is False or (hasattr(value, "__len__") and len(value) == 0)


def _amount(value: Any) -> Any:
    match value:
        case bool() | int() | float():
            return value
        case bytes():
            return f"{len(value)} bytes"
        case str():
            return value if len(value) <= 8 else f"{len(value)} characters"
        case Mapping():
            return f"{len(value)} entries"
        case tuple() | list() if all(isinstance(each, (int, float)) for each in value) and len(str(value)) <= SHORT:
            return list(value)
        case tuple() | list():
            return f"{len(value)} entries"
    return type(value).__name__


def _n_bytes(file: Path) -> int:
    if file.is_dir():
        return sum(each.stat().st_size for each in file.rglob("*") if each.is_file())
    return file.stat().st_size
