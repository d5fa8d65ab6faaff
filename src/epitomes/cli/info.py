"""`epitomes info`: what a file holds, picture or model, without changing or showing its pixels."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epitomes.cli.batch import each, files_of
from epitomes.cli.common import (
    MOST_PIXELS,
    STREAM,
    Axes,
    Json,
    MaxPixels,
    Result,
    examples,
    read_any,
    require_axes,
    size,
)
from epitomes.cli.show import model_result

if TYPE_CHECKING:
    from epitomes.formats import Picture

EXAMPLES = examples("info stack.ome.tif", "info 'models/*.epitome' --json")

MODEL_SUFFIX = ".epitome"
SHORT = 60  # characters of a value that are shown


def info(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="pictures, .epitome files or patterns; - for stdin")
    ],
    axes: Axes = None,
    json: Json = False,
    max_pixels: MaxPixels = MOST_PIXELS,
) -> None:
    """Say what a file holds.

    Of a picture: its axes, size, kind of values, spacing, and what else it carries along. Of a model file: what was
    learned, and from what.
    """
    require_axes(axes)

    def work(file: Path) -> Result:
        if file.suffix == MODEL_SUFFIX:
            from epitomes.model_file import inspect

            return model_result(inspect(file), None, name=str(file))
        return _described(file, read_any(file, max_pixels, axes))

    each(files_of(files), work, done="looked at", json=json)


def _described(file: Path, picture: Picture) -> Result:
    from epitomes.formats import count_planes, is_colour
    from epitomes.formats.registry import format_to_read

    pixels, n_planes = picture.pixels, count_planes(picture)
    facts: dict[str, Any] = {
        "input": str(file),
        "format": format_to_read(Path(picture.name)).name,
        "axes": picture.axes,
        "shape": list(pixels.shape),
        "dtype": str(pixels.dtype),
        "least": pixels.min().item(),
        "most": pixels.max().item(),
        "mean": float(pixels.mean(dtype="float64")),
        "spacing": dict(picture.spacing),
        "units": dict(picture.units),
        "colour": is_colour(picture),
        "planes": n_planes,
        "alpha": picture.alpha is not None,
        "metadata": None if picture.metadata is None else _summary(picture.metadata),
        "notes": list(picture.notes),
        "bytes": None if str(file) == STREAM else _n_bytes(file),
    }
    lines = [
        f"{file}: {facts['format']}, {picture.axes} {size(pixels.shape)}, {pixels.dtype}",
        f"  values: {facts['least']:g} to {facts['most']:g}, mean {facts['mean']:.5g}",
    ]
    if picture.spacing:
        steps = (f"{axis} {step:g} {picture.units.get(axis, '')}".rstrip() for axis, step in picture.spacing.items())
        lines.append(f"  spacing: {', '.join(steps)}")
    if picture.alpha is not None:
        lines.append("  transparency: kept as it is")
    if title := "" if picture.metadata is None else picture.metadata.title:
        lines.append(f"  carries {title}")
    lines += [f"  {name.replace('_', ' ')}: {value}" for name, value in (facts["metadata"] or {}).items()]
    if n_planes > 1:
        lines.append(f"  denoised plane by plane: {n_planes} planes")
    return Result("\n".join(lines), facts)


def _summary(metadata: object) -> dict[str, Any]:
    """What is carried, by name and amount: numbers as they are, texts by their length, for they may name people."""
    if not dataclasses.is_dataclass(metadata):
        return {}
    names = (field.name for field in dataclasses.fields(metadata) if field.name not in ("shape", "axes"))  # as above
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
