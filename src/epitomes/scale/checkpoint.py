"""Checkpoints of `learn_from`: the epitome, the moments and the numbers after a round, in one file.

They are safetensors files (see `described_file`), written completely or not at all. A checkpoint of other pictures or
of other settings is refused, because the resumed run would be a different one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from epitomes.described_file import ModelError, opened, pack, read_arrays, read_header, require_keys, whole_numbers
from epitomes.epitome import Epitome
from epitomes.files import write_atomically
from epitomes.learn import Moments
from epitomes.learn._identity import identity
from epitomes.learn.checkpoint import MAX_HEADER, as_columns, from_columns
from epitomes.phi import Phi
from epitomes.scale.outcome import FailedShard, State
from epitomes.scale.statistics import Skipped, packed, unpacked

FORMAT, VERSION = "collection checkpoint", 1


def save_state(path: str | os.PathLike[str], state: State, settings: Mapping[str, str]) -> None:
    """Save the state after a round; an existing checkpoint is replaced, completely or not at all."""
    assert state.memory is not None  # there is no state to save before the first round
    memory = state.memory
    described = {
        "format": FORMAT,
        "version": VERSION,
        "phi": identity(state.epitome.phi),
        "settings": dict(settings),
        "energy": float(memory.energy),
        "count": float(memory.count),
        "history": as_columns(state.history),
        "failed": [asdict(each) for each in state.failed],
        "n_skipped": state.n_skipped,
        "skipped": [asdict(each) for each in state.skipped],
    }
    arrays = {
        "epitome": state.epitome.pixels,
        "gram": packed(memory.gram),
        "cross": memory.cross,
        "mass": memory.mass,
    }
    write_atomically(Path(path), pack(described, arrays, max_header=MAX_HEADER))


def load_state(path: str | os.PathLike[str], phi: Phi, settings: Mapping[str, str]) -> State:
    """Load the state of a run with this phi and these settings."""
    with opened(path) as file:
        header = read_header(file, FORMAT, VERSION, max_header=MAX_HEADER)
        keys = {"format", "version", "phi", "settings", "energy", "count", "history", "failed", "n_skipped", "skipped"}
        described = require_keys("the description", header.description, keys)
        found = require_keys("the settings", described["settings"], set(settings))
        different = ["phi"] * (described["phi"] != identity(phi))
        different += [name for name in settings if found[name] != settings[name]]
        if different:
            raise ModelError(
                f"the checkpoint belongs to a run with other values of {', '.join(different)}: use those of the "
                "interrupted run, or start again without resume"
            )
        p, m = phi.n_atoms, phi.patch_size
        shapes = {"epitome": phi.epitome_shape, "gram": (p * (p + 1) // 2,), "cross": (p, m), "mass": (p,)}
        if {name: entry.shape for name, entry in header.arrays.items()} != shapes or any(
            entry.dtype.str[1:] != "f8" for entry in header.arrays.values()
        ):
            raise ModelError("the arrays are not the epitome and the moments of this phi")
        (n_skipped,) = whole_numbers("n_skipped", [described["n_skipped"]])
        sums = (described["energy"], described["count"])
        if not all(type(each) is float and math.isfinite(each) and each >= 0 for each in sums):
            raise ModelError("energy and count must be finite numbers >= 0")
        history = from_columns("history", described["history"])
        failed = [_built(FailedShard, "a failed shard", each) for each in _list(described["failed"])]
        skipped = [_built(Skipped, "a skipped picture", each) for each in _list(described["skipped"])]
        arrays = read_arrays(file, header)
        memory = Moments(unpacked(arrays["gram"]), arrays["cross"], arrays["mass"], *sums)
        return State(Epitome(arrays["epitome"], phi), memory, history, tuple(failed), n_skipped, tuple(skipped))


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ModelError("failed and skipped must be lists")
    return value


def _built(kind: Any, name: str, value: object) -> Any:
    """Build a dataclass of an int and strings from a JSON object."""
    types = {field: each.type for field, each in kind.__dataclass_fields__.items()}
    found = require_keys(name, value, set(types))
    for field, wanted in types.items():
        if type(found[field]).__name__ != wanted:
            raise ModelError(f"the {field} of {name} must be of type {wanted}")
    return kind(**found)
