"""Plans as JSON files, checked when they are read."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from pathlib import Path
from typing import Any, TypeVar

from epitomes.epitome import Epitome
from epitomes.files import write_atomically
from epitomes.layout import Layout
from epitomes.noise.profile import noise_from, values_of_noise
from epitomes.restoration._plan import Plan
from epitomes.restoration.non_local import AdaptPass, AtomsPass, FeedbackPass, NonLocal, RegressionPass, WienerPass
from epitomes.restoration.patchwise import Patchwise, Recipe
from epitomes.restoration.planning import Trial
from epitomes.restoration.whole_image import WholeImage

FORMAT = "epitomes plan"
VERSION = 1
MAX_BYTES = 2**26  # of a file: far more than any plan needs
NAMES: dict[str, type[Any]] = {
    "nonlocal": NonLocal,
    "paper": Patchwise,
    "recipe": Recipe,
    "atoms pass": AtomsPass,
    "feedback pass": FeedbackPass,
    "adapt pass": AdaptPass,
    "wiener pass": WienerPass,
    "regression pass": RegressionPass,
    "trial": Trial,
    "whole image": WholeImage,
}
OPTIONAL = "whole"  # field of methods that only parts of images need; files without it are read, too
FIELDS = {field.name for field in dataclasses.fields(Plan)}

Kind = TypeVar("Kind")


def write_plan(plan: Plan, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write `plan` to a new file, whole or not at all."""
    values = {
        "format": FORMAT,
        "version": VERSION,
        "method": _values(plan.method),
        "noise": values_of_noise(plan.noise),
        "layout": dataclasses.asdict(plan.layout),
        "trials": [_values(trial) for trial in plan.trials],
        "reasons": list(plan.reasons),
        "seconds": plan.seconds,
        "time": plan.time,
        "spent": plan.spent,
    }
    text = json.dumps(values, indent=1, allow_nan=False) + "\n"
    write_atomically(Path(path), text.encode(), overwrite=overwrite)


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a file that `write_plan` wrote."""
    path = Path(path)
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    try:
        if len(content) > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES} bytes")
        values = json.loads(content)
        if not isinstance(values, dict) or values.pop("format", None) != FORMAT:
            raise ValueError(f'it lacks "format": "{FORMAT}"')
        if (version := values.pop("version", None)) != VERSION:
            raise ValueError(f"its version is {version!r}, and this library reads version {VERSION}")
        return _plan(values)
    except (ValueError, TypeError, RecursionError) as error:  # JSON and Unicode errors are ValueErrors
        raise ValueError(f"{path} is not a plan: {error}; write one with Plan.save") from None


def _values(settings: Any) -> dict[str, Any]:
    """A frozen dataclass as plain values, with the name of its class."""
    name = next((name for name, kind in NAMES.items() if type(settings) is kind), None)
    if name is None:
        raise TypeError(
            f"a plan file holds {', '.join(kind.__name__ for kind in NAMES.values())}, got {settings!r}: "
            "keep the code that makes the method"
        )
    values = {field.name: _value(getattr(settings, field.name)) for field in dataclasses.fields(settings)}
    if values.get(OPTIONAL, 0) is None:
        del values[OPTIONAL]
    return {"name": name, **values}


def _value(value: Any) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case tuple() | list():
            return [_value(each) for each in value]
        case Epitome():
            raise ValueError(
                "the plan holds an epitome, which does not fit in a JSON file: save it with epitomes.save, and make "
                "the plan again with epitome=epitomes.load(...)"
            )
        case _:
            return _values(value)


def _plan(values: dict[str, Any]) -> Plan:
    """The plan from JSON values; every field is checked."""
    _require_names("plan", values, FIELDS)
    trials, reasons = values["trials"], values["reasons"]
    if not isinstance(trials, list) or not isinstance(reasons, list) or not all(isinstance(r, str) for r in reasons):
        raise ValueError("trials must be a list, and reasons a list of strings")
    for name in ("seconds", "time", "spent"):
        _require_number(name, values[name], optional=name != "spent")
    method = _built(values["method"])
    if not isinstance(method, (NonLocal, Patchwise)):
        raise ValueError(f"its method must be nonlocal or paper, got {method!r}")
    return Plan(
        method=method,
        noise=noise_from(values["noise"]),
        layout=_layout(values["layout"]),
        trials=tuple(map(_trial, trials)),
        reasons=tuple(reasons),
        seconds=values["seconds"],
        time=values["time"],
        spent=values["spent"],
    )


def _built(values: Any) -> Any:
    """An object from its name and fields, nested ones first; its class checks the values."""
    if isinstance(values, list):
        return tuple(map(_built, values))
    if not isinstance(values, dict):
        return values
    kind = NAMES.get(str(values.get("name")))
    if kind is None:
        raise ValueError(f"unknown name {values.get('name')!r}, expected one of {', '.join(NAMES)}")
    given = {name: value for name, value in values.items() if name != "name"}
    names = {field.name for field in dataclasses.fields(kind)}
    _require_names(str(values["name"]), given, names if OPTIONAL in given else names - {OPTIONAL})
    return kind(**{name: _built(value) for name, value in given.items()})


def _trial(values: Any) -> Trial:
    trial = _built(values)
    label, fits = getattr(trial, "label", None), getattr(trial, "fits", None)
    if not isinstance(trial, Trial) or type(label) is not str or type(fits) is not bool:
        raise ValueError(f"a trial needs a label, and fits that is true or false, got {values!r}")
    for name in ("gain", "error", "seconds"):
        _require_number(name, getattr(trial, name), optional=name != "seconds")
    return trial


def _layout(values: Any) -> Layout:
    _require_names("layout", values, {"shape", "spatial", "channel_axis"})
    shape = values["shape"]
    if not isinstance(shape, list) or not all(type(side) is int and side > 0 for side in shape):
        raise ValueError(f"the shape of layout must be a list of positive integers, got {shape!r}")
    return Layout.of(tuple(shape), values["channel_axis"], values["spatial"])


def _require_names(what: str, values: Any, names: set[str]) -> None:
    found = set(values) if isinstance(values, dict) else set()
    if found != names:
        raise ValueError(f"{what}: missing fields {sorted(names - found)}, unknown fields {sorted(found - names)}")


def _require_number(name: str, value: Any, *, optional: bool) -> None:
    if optional and value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number{' or null' if optional else ''}, got {value!r}")
