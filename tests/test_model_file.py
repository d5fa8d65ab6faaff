"""Model files: what goes in comes out, byte for byte the same; what is damaged or hostile gives one clear error."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import phi_cases
import pytest
import safetensors.numpy
from numpy.typing import NDArray

from epitomes import Epitome, model_info
from epitomes.described_file import as_json, pack
from epitomes.model_file import MAX_BYTES, MAX_HEADER, ModelError, Provenance, inspect, load, save
from epitomes.phi import GatherPhi, Phi, UnionPhi, flat, turned, union, windows
from epitomes.phi.description import Description, describe

# A file describes windows, turns and one union of them; the others mix pixels or nest unions.
UNDESCRIBED = {name for name, phi in phi_cases.NAMED.items() if not isinstance(phi, GatherPhi)} | {"union of union"}
DESCRIBED = {name: phi for name, phi in phi_cases.NAMED.items() if name not in UNDESCRIBED}

PROVENANCE = Provenance(
    lam=0.1, sigma=25, units="grey levels", seed=3, n_steps=7, made_with="a test", source="näture", note="two\nlines"
)

Header = dict[str, Any]


def noise(phi: Phi, dtype: type = np.float64) -> Epitome:
    return Epitome(np.random.default_rng(0).standard_normal(phi.epitome_shape).astype(dtype), phi)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.epitome"
    save(file, noise(windows((4, 5), (2, 3)), np.float32), PROVENANCE)
    return file


def taken_apart(file: Path) -> tuple[Header, Header, bytes]:
    """The header, the description within it, and the arrays: read without the library's own reader."""
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["description"]), content[8 + length :]


def put_together(file: Path, header: Header | str, data: bytes) -> None:
    text = header if isinstance(header, str) else json.dumps(header)
    file.write_bytes(len(text.encode()).to_bytes(8, "little") + text.encode() + data)


# ---- round trips


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", DESCRIBED)
def test_round_trip(name: str, dtype: type, tmp_path: Path) -> None:
    epitome = noise(DESCRIBED[name], dtype)
    save(tmp_path / "a.epitome", epitome, PROVENANCE)
    again = load(tmp_path / "a.epitome")
    assert again.pixels.dtype == dtype
    np.testing.assert_array_equal(again.pixels, epitome.pixels)
    np.testing.assert_array_equal(again.dictionary.atoms, epitome.dictionary.atoms)
    assert again.phi.patch_shape == epitome.phi.patch_shape
    assert isinstance(again.phi, GatherPhi)
    assert isinstance(epitome.phi, GatherPhi)
    assert again.phi.part_shapes == epitome.phi.part_shapes  # `split` works on it as on the first


@pytest.mark.parametrize("name", sorted(UNDESCRIBED))
def test_phis_without_a_description_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"numpy\.save"):
        save(tmp_path / "a.epitome", noise(phi_cases.NAMED[name]))
    assert os.listdir(tmp_path) == []


def test_a_lookalike_is_refused() -> None:
    """Pictures of the right shapes with other indices: a description by shapes alone would be wrong."""
    plain = windows((6, 7), (3, 3))
    upside_down = GatherPhi((6, 7), (3, 3), (plain.pictures[0][::-1],))
    with pytest.raises(TypeError, match="was not made by windows"):
        describe(upside_down)


def test_pictures_across_the_parts_of_a_union_are_refused() -> None:
    with pytest.raises(TypeError, match="was not made by windows"):
        describe(GatherPhi((12,), (2, 2), (np.arange(12).reshape(3, 4),), None, ((2, 3), (2, 3))))


def test_descriptions_without_sense() -> None:
    part = describe(windows((4, 5), (2, 3))).parts[0]
    for parts in ((), (part, part)):
        with pytest.raises(ValueError, match="one part, or several that are joined"):
            Description((2, 3), None, parts, False).build()


def test_a_turned_union_is_refused() -> None:
    """Its pictures come in another order than those of a union of turned parts."""
    with pytest.raises(TypeError, match="was not made by windows"):
        describe(turned(union(windows((6, 6), (3, 3)), windows((5, 8), (3, 3)))))


def test_a_union_by_its_class(tmp_path: Path) -> None:
    epitome = noise(UnionPhi((windows((6, 6), (3, 3)), flat(4, (3, 3)))))
    save(tmp_path / "a.epitome", epitome)
    np.testing.assert_array_equal(load(tmp_path / "a.epitome").dictionary.atoms, epitome.dictionary.atoms)


@pytest.mark.parametrize("name", DESCRIBED)
def test_most_atoms_is_a_bound(name: str) -> None:
    phi = DESCRIBED[name]
    description = describe(phi)
    assert description.patch_size == phi.patch_size
    assert phi.n_atoms <= description.most_atoms()
    if all(part.turns == "none" for part in description.parts):
        assert phi.n_atoms == description.most_atoms()


def test_the_bytes_depend_on_the_content_alone(tmp_path: Path) -> None:
    a, b, c = (tmp_path / f"{letter}.epitome" for letter in "abc")
    for name in ("single", "union of shapes"):
        epitome = noise(phi_cases.NAMED[name])
        save(a, epitome, PROVENANCE, overwrite=True)
        save(b, Epitome(epitome.pixels.copy(), epitome.phi), dataclasses.replace(PROVENANCE), overwrite=True)
        save(c, load(a), inspect(a).provenance, overwrite=True)
        assert a.read_bytes() == b.read_bytes() == c.read_bytes()


def test_safetensors_reads_what_we_write_and_we_read_what_it_writes(small: Path, tmp_path: Path) -> None:
    arrays = safetensors.numpy.load_file(small)
    assert list(arrays) == ["epitomes"]
    np.testing.assert_array_equal(arrays["epitomes"], load(small).pixels)
    with safetensors.safe_open(small, "np") as file:
        metadata = file.metadata()
    theirs = tmp_path / "theirs.epitome"
    safetensors.numpy.save_file(arrays, theirs, metadata)
    np.testing.assert_array_equal(load(theirs).pixels, arrays["epitomes"])
    assert inspect(theirs) == dataclasses.replace(inspect(small), n_bytes=theirs.stat().st_size)


def test_a_file_of_the_first_release(tmp_path: Path) -> None:
    """Written before the safetensors package wrote these files: it is read, and saving it again gives its bytes."""
    description = (
        '{"format":"epitome","n_atoms":6,"phi":{"joined":false,"parts":[{"border":["valid","valid"],"shape":[3,4],'
        '"turns":"none"}],"patch_shape":[2,2],"support":null},"provenance":{"lam":0.1,"made_with":"a test","mean":'
        '"centred","n_steps":7,"note":"two\\nlines","seed":3,"sigma":25.0,"source":"n\\u00e4ture","units":'
        '"grey levels"},"version":1}'
    )
    header = {
        "__metadata__": {
            "description": description,
            "sha256": "5f455c58be1a51a5e8f69f1833fe60e00bafec0682112f25dee1287245c5b244",
        },
        "epitomes": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]},
    }
    old, new = tmp_path / "old.epitome", tmp_path / "new.epitome"
    text = json.dumps(header, separators=(",", ":"))
    put_together(old, text + " " * (-len(text) % 8), np.arange(12, dtype="<f4").tobytes())
    np.testing.assert_array_equal(load(old).pixels, np.arange(12).reshape(3, 4))
    assert inspect(old).provenance == PROVENANCE
    save(new, load(old), inspect(old).provenance)
    assert new.read_bytes() == old.read_bytes()


def test_swapped_arguments_are_named(tmp_path: Path) -> None:
    epitome = noise(flat(2, (3, 3)))
    with pytest.raises(TypeError, match=r"the path comes first, save\(path, epitome\)"):
        save(epitome, tmp_path / "a.epitome")  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == []


def test_overwriting_must_be_allowed(small: Path) -> None:
    epitome = noise(flat(2, (3, 3)))
    before = small.read_bytes()
    with pytest.raises(FileExistsError, match="exists already"):
        save(small, epitome)
    assert small.read_bytes() == before
    save(os.fspath(small), epitome, overwrite=True)
    assert load(small).pixels.shape == (2, 3, 3)


def test_save_refuses_what_load_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, phi = tmp_path / "a.epitome", windows((4, 5), (2, 3))
    with pytest.raises(ValueError, match="all pixels of the epitome are zero"):
        save(file, Epitome(np.zeros((4, 5)), phi))
    with pytest.raises(ValueError, match=f"at most {MAX_HEADER} are allowed"):
        save(file, noise(phi), Provenance(note="x" * MAX_HEADER))
    monkeypatch.setattr(model_info, "MAX_ENTRIES", 9 * 6 - 1)  # p m is 9 x 6
    with pytest.raises(ValueError, match="54 entries, a model file may describe at most 53"):
        save(file, noise(phi))
    with pytest.raises(TypeError, match="needs an Epitome, got ndarray"):
        save(file, np.ones((4, 5)))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Provenance or None, got dict"):
        save(file, noise(phi), {"lam": 1.0})  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == []


def test_arrays_that_a_file_cannot_hold() -> None:
    for array in (np.ones(3, np.float16), np.ones(3, complex), np.array([None]), np.array(["text"])):
        with pytest.raises(TypeError, match="a file cannot hold"):
            pack({}, {"epitomes": array}, max_header=MAX_HEADER)


def test_the_layout_of_arrays_in_memory_does_not_matter() -> None:
    array = np.arange(12.0).reshape(3, 4)
    plain = pack({}, {"a": array}, max_header=MAX_HEADER)
    for same in (np.asfortranarray(array), array.astype(">f8"), np.repeat(array, 2, axis=0)[::2]):
        assert pack({}, {"a": same}, max_header=MAX_HEADER) == plain


# ---- the header


def test_inspect(small: Path) -> None:
    info = inspect(small)
    assert info.epitome_shape == (4, 5)
    assert info.patch_shape == (2, 3)
    assert info.n_atoms == 3 * 3
    assert info.dtype == np.float32
    assert info.provenance == PROVENANCE
    assert info.n_bytes == small.stat().st_size
    assert info.phi == describe(windows((4, 5), (2, 3)))


@pytest.mark.parametrize("name", DESCRIBED)
def test_inspect_agrees_with_load(name: str, tmp_path: Path) -> None:
    file = tmp_path / "a.epitome"
    save(file, noise(DESCRIBED[name]))
    info, epitome = inspect(file), load(file)
    assert info.epitome_shape == epitome.pixels.shape
    assert info.patch_shape == epitome.phi.patch_shape
    assert info.n_atoms == epitome.phi.n_atoms
    assert info.provenance is None


def test_inspect_leaves_the_pixels_alone(small: Path) -> None:
    before = inspect(small)
    small.write_bytes(small.read_bytes()[:-4] + b"\xff\xff\xff\xff")
    assert inspect(small) == before
    with pytest.raises(ModelError, match="sha256"):
        load(small)


def test_floats_and_defaults_of_the_provenance(tmp_path: Path) -> None:
    file = tmp_path / "a.epitome"
    for lam in (0.1 + 0.2, 1e-300, math.pi * 1e200, 60):
        save(file, noise(flat(2, (2, 2))), Provenance(lam=lam), overwrite=True)
        found = inspect(file).provenance
        assert found == Provenance(lam=lam)
        assert found.made_with.startswith("epitomes")


@pytest.mark.parametrize(
    "bad",
    [
        {"lam": -1.0},
        {"lam": math.nan},
        {"sigma": "25"},
        {"seed": 1.5},
        {"n_steps": -1},
        {"n_steps": True},
        {"mean": "gone"},
        {"note": b"bytes"},
        {"source": "\ud800"},
    ],
    ids=str,
)
def test_bad_provenance(bad: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        Provenance(**bad)


# ---- damaged files


def refused(file: Path, match: str | None = None) -> None:
    """Load and inspect may say different things of a damaged file, but nothing else than ModelError."""
    with pytest.raises(ModelError, match=match) as caught:
        load(file)
    message = str(caught.value)
    assert message.startswith(str(file))
    assert "\n" not in message
    assert len(message) < 500 + len(str(file))
    with suppress(ModelError):
        inspect(file)


def test_cut_at_every_length(small: Path) -> None:
    content = small.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    for length in range(len(content)):
        small.write_bytes(content[:length])
        refused(small, "or truncated" if length < header else "truncated or damaged")
    for tail in (b"\0", content):
        small.write_bytes(content + tail)
        refused(small, "truncated or damaged")


@pytest.mark.slow
def test_a_flipped_bit_in_every_byte(small: Path) -> None:
    content = small.read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        small.write_bytes(changed)
        refused(small)
    small.write_bytes(content)
    load(small)


def test_random_bytes_in_random_places(small: Path, rng: np.random.Generator) -> None:
    content = np.frombuffer(small.read_bytes(), np.uint8)
    for _ in range(500):
        changed = content.copy()
        first, length = rng.integers(len(content)), rng.integers(1, 40)
        changed[first : first + length] = rng.integers(256, size=len(changed[first : first + length]))
        if not np.array_equal(changed, content):
            small.write_bytes(changed.tobytes())
            refused(small)


def test_files_of_other_kinds(tmp_path: Path, rng: np.random.Generator) -> None:
    file = tmp_path / "a.epitome"
    buffer = tmp_path / "b.npy"
    np.save(buffer, np.ones(3))
    for content in (b"", b"hello", bytes(10_000), rng.bytes(10_000), buffer.read_bytes(), b"\x80\x04N." * 99):
        file.write_bytes(content)
        refused(file, "not an epitome file")
    file.write_bytes(safetensors.numpy.save({"weights": np.ones(3, np.float32)}))
    refused(file, "metadata must be a description and a sha256")


def test_things_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a file"):
        load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelError, match="is not a file"):
        inspect(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent.epitome")


# ---- hostile files: valid digests, so that only our own checks stand between them and the memory


def forged(file: Path, change: Callable[[Header], object], arrays: dict[str, NDArray[Any]] | None = None) -> None:
    """A file with a true sha256 over a description that was tampered with."""
    described = {
        "format": "epitome",
        "version": 1,
        "phi": {
            "patch_shape": [2, 3],
            "support": None,
            "parts": [{"shape": [4, 5], "border": ["valid", "valid"], "turns": "none"}],
            "joined": False,
        },
        "n_atoms": 9,
        "provenance": dataclasses.asdict(PROVENANCE),
    }
    change(described)
    pixels = {"epitomes": np.ones((4, 5), np.float32)} if arrays is None else arrays
    file.write_bytes(pack(described, pixels, max_header=2**30))


def deep(described: Header, *keys: str | int) -> Any:
    for key in keys:
        described = described[key]
    return described


def test_the_forger_can_forge(tmp_path: Path) -> None:
    forged(tmp_path / "a.epitome", lambda described: None)
    assert load(tmp_path / "a.epitome").pixels.shape == (4, 5)


PHI, PART, FROM = ("phi",), ("phi", "parts", 0), ("provenance",)
WRONG: list[tuple[tuple[str | int, ...], str, object]] = [
    ((), "format", "checkpoint"),
    ((), "version", 2),
    ((), "version", 0),
    ((), "version", True),
    ((), "version", 1.0),
    ((), "version", None),
    ((), "phi", []),
    ((), "phi", None),
    ((), "n_atoms", 10),
    ((), "n_atoms", "9"),
    ((), "n_atoms", 9.0),
    ((), "n_atoms", -1),
    ((), "provenance", "mine"),
    ((), "provenance", {}),
    ((), "more", 1),
    (PHI, "patch_shape", []),
    (PHI, "patch_shape", 2),
    (PHI, "patch_shape", [2]),
    (PHI, "patch_shape", [5, 3]),
    (PHI, "patch_shape", [0, 3]),
    (PHI, "patch_shape", [-2, -3]),
    (PHI, "patch_shape", [2.0, 3.0]),
    (PHI, "patch_shape", [True, True]),
    (PHI, "patch_shape", [2, 3, 1]),
    (PHI, "patch_shape", [10**30, 3]),
    (PHI, "patch_shape", ["2", "3"]),
    (PHI, "support", ""),
    (PHI, "support", "11111"),
    (PHI, "support", "000000"),
    (PHI, "support", "11111x"),
    (PHI, "support", "1x1111"),
    (PHI, "support", "011111"),  # a corner pixel would be in no atom
    (PHI, "support", [1] * 6),
    (PHI, "joined", None),
    (PHI, "joined", 1),
    (PHI, "joined", True),  # then the array would be called epitomes.0
    (PHI, "parts", []),
    (PHI, "parts", {}),
    (PHI, "parts", [None]),
    (PART, "shape", [5, 4]),
    (PART, "shape", [20]),
    (PART, "shape", [2**31, 2**31]),
    (PART, "shape", [2**63, 2**63]),
    (PART, "shape", [-4, -5]),
    (PART, "border", "valid"),
    (PART, "border", ["valid"]),
    (PART, "border", ["valid", []]),
    (PART, "border", ["valid", "periodical"]),
    (PART, "border", ["periodic", "valid"]),  # true words of another phi: the number of atoms differs
    (PART, "turns", "all"),
    (PART, "turns", True),
    (PART, "turns", {}),
    (FROM, "lam", "60"),
    (FROM, "lam", -1),
    (FROM, "lam", True),
    (FROM, "lam", 10**400),
    (FROM, "seed", 1.5),
    (FROM, "mean", ["centred"]),
    (FROM, "note", None),
    (FROM, "note", "\ud800"),
    (FROM, "more", "\x1b[31m"),
]


@pytest.mark.parametrize(("where", "key", "value"), WRONG, ids=lambda value: repr(value)[:30])
def test_wrong_descriptions(tmp_path: Path, where: tuple[str | int, ...], key: str, value: object) -> None:
    file = tmp_path / "a.epitome"
    forged(file, lambda described: deep(described, *where).update({key: value}))
    refused(file)


@pytest.mark.parametrize(
    ("where", "key", "value", "match"),
    [
        (PHI, "support", [1] * 6, "support must be a string"),
        (PHI, "patch_shape", [5, 3], "do not fit in an epitome"),
        (PHI, "patch_shape", [], "do not fit in an epitome"),
        (PART, "border", ["valid", "periodical"], "border must be one of"),
        (PART, "border", ["valid"], "border must be one of"),
        (PART, "turns", "some", "turns must be one of"),
        (FROM, "lam", -1, "lam must be a finite number"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_inspect_checks_the_words_too(
    tmp_path: Path, where: tuple[str | int, ...], key: str, value: object, match: str
) -> None:
    file = tmp_path / "a.epitome"
    forged(file, lambda described: deep(described, *where).update({key: value}))
    with pytest.raises(ModelError, match=match):
        inspect(file)


@pytest.mark.parametrize("key", ["format", "version", "phi", "n_atoms", "provenance"])
def test_missing_keys(tmp_path: Path, key: str) -> None:
    forged(tmp_path / "a.epitome", lambda described: described.pop(key))
    refused(tmp_path / "a.epitome")


def test_a_newer_version_gets_advice(tmp_path: Path) -> None:
    forged(tmp_path / "a.epitome", lambda described: described.update(version=2, phi="of the future"))
    refused(tmp_path / "a.epitome", "written in version 2 of the format, this library reads up to 1: update it")


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({}, "the arrays must be"),
        ({"weights": np.ones((4, 5), np.float32)}, "the arrays must be"),
        ({"epitomes": np.ones((4, 5)), "code": np.ones(3)}, "the arrays must be"),
        ({"epitomes": np.ones((5, 4))}, "must have the shape"),
        ({"epitomes": np.ones(20)}, "must have the shape"),
        ({"epitomes": np.ones((4, 5), np.int32)}, "F32 or all F64"),
        ({"epitomes": np.zeros((4, 5))}, "all pixels are zero"),
        ({"epitomes": np.full((4, 5), np.nan)}, "NaN or infinite"),
        ({"epitomes": np.full((4, 5), -np.inf, np.float32)}, "NaN or infinite"),
    ],
)
def test_wrong_arrays(tmp_path: Path, arrays: dict[str, NDArray[Any]], match: str) -> None:
    forged(tmp_path / "a.epitome", lambda described: None, arrays)
    refused(tmp_path / "a.epitome", match)


def test_parts_of_two_dtypes(tmp_path: Path) -> None:
    def join(described: Header) -> None:
        described["phi"]["joined"] = True
        described["phi"]["parts"] *= 2
        described["n_atoms"] *= 2

    file, ones = tmp_path / "a.epitome", np.ones((4, 5))
    forged(file, join, {"epitomes.0": ones, "epitomes.1": ones})
    assert load(file).pixels.shape == (40,)
    forged(file, join, {"epitomes.0": ones, "epitomes.1": ones.astype(np.float32)})
    refused(file, "all F32 or all F64")


def test_huge_dictionaries_cost_no_memory(tmp_path: Path) -> None:
    """A small file can describe more atoms than any memory holds."""
    file = tmp_path / "a.epitome"
    n = 16_384

    def signal(described: Header) -> None:
        part = {"shape": [n], "border": ["periodic"], "turns": "none"}
        described["phi"].update(patch_shape=[n // 2], parts=[part])
        described["n_atoms"] = n

    def turns(described: Header) -> None:
        part = {"shape": [128, 128], "border": ["valid"] * 2, "turns": "all"}
        described["phi"].update(patch_shape=[64, 64], parts=[part])
        described["n_atoms"] = 65 * 65 * 8

    for change, shape in ((signal, (n,)), (turns, (128, 128))):
        forged(file, change, {"epitomes": np.ones(shape, np.float32)})
        tracemalloc.start()
        refused(file, "entries, a model file may describe at most")
        assert tracemalloc.get_traced_memory()[1] < 2e6
        tracemalloc.stop()


@pytest.mark.parametrize("length", [0, 1, MAX_HEADER + 1, 2**31, 2**32, 2**63 - 1, 2**64 - 1])
def test_header_lengths_that_lie(small: Path, length: int) -> None:
    content = small.read_bytes()
    small.write_bytes(length.to_bytes(8, "little") + content[8:])
    with small.open("ab") as file:
        file.truncate(min(length + 8, 2**29) + 8)  # the file is large enough to keep some of the promises
    tracemalloc.start()
    refused(small)
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


def test_files_that_are_too_large(small: Path) -> None:
    with small.open("r+b") as file:
        file.truncate(MAX_BYTES + 1)  # a hole: it takes no room on the disk
    refused(small, f"at most {MAX_BYTES} are allowed")


def test_lying_places(small: Path) -> None:
    """Shapes and offsets that do not fit each other, the file, or one another."""
    good, _, data = taken_apart(small)
    file = small
    assert good["epitomes"] == {"dtype": "F32", "shape": [4, 5], "data_offsets": [0, 80]}
    entries: list[object] = [
        {"dtype": "F32", "shape": [4, 5], "data_offsets": [0, 84]},
        {"dtype": "F32", "shape": [4, 5], "data_offsets": [4, 84]},
        {"dtype": "F32", "shape": [4, 4], "data_offsets": [16, 80]},
        {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]},
        {"dtype": "F32", "shape": [4, 5], "data_offsets": [80, 0]},
        {"dtype": "F32", "shape": [4, -5], "data_offsets": [0, -80]},
        {"dtype": "F32", "shape": [-4, -5], "data_offsets": [0, 80]},
        {"dtype": "F32", "shape": [4, 5], "data_offsets": [0]},
        {"dtype": "F32", "shape": [4, 5], "data_offsets": [0, 80, 80]},
        {"dtype": "F32", "shape": [4, 5], "data_offsets": [0.0, 80.0]},
        {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 2**82]},
        {"dtype": "F32", "shape": [0, 10**30], "data_offsets": [0, 0]},
        {"dtype": "F32", "shape": [0, 2**52], "data_offsets": [0, 0]},
        {"dtype": "F32", "shape": [1] * 30 + [20], "data_offsets": [0, 80]},
        {"dtype": "F32", "shape": {"0": 4}, "data_offsets": [0, 80]},
        {"dtype": "F64", "shape": [2, 5], "data_offsets": [0, 80]},
        {"dtype": "F16", "shape": [4, 10], "data_offsets": [0, 80]},
        {"dtype": "O", "shape": [4, 5], "data_offsets": [0, 80]},
        {"dtype": ["F32"], "shape": [4, 5], "data_offsets": [0, 80]},
        {"dtype": "F32", "shape": [4, 5]},
        {"dtype": "F32", "shape": [4, 5], "data_offsets": [0, 80], "code": "import os"},
        [],
        None,
        "F32",
    ]
    for entry in entries:
        put_together(file, good | {"epitomes": entry}, data)
        with pytest.raises(ModelError):  # seen in the header, before anything is read
            inspect(file)
        refused(file)
    other = {"dtype": "F32", "shape": [20], "data_offsets": [0, 80]}
    for name in ("again", "epitomes.0", "\x1b[31m\n" * 500):
        put_together(file, good | {name: other}, data)  # two arrays on the same bytes
        refused(file, "the arrays must be")
    put_together(file, good, data)
    load(file)


def test_arrays_that_do_not_fill_the_file(small: Path) -> None:
    """Their dtypes and shapes are right, so only the places are wrong: `inspect` sees it without reading them."""
    good, _, data = taken_apart(small)
    for first, last, content in ((4, 84, data + bytes(4)), (0, 80, data + bytes(4)), (0, 80, data[:-4])):
        entry = good["epitomes"] | {"data_offsets": [first, last]}
        put_together(small, good | {"epitomes": entry}, content)
        with pytest.raises(ModelError, match="truncated or damaged"):
            inspect(small)
        refused(small, "truncated or damaged")


def test_lying_json(small: Path) -> None:
    good, described, data = taken_apart(small)
    text = json.dumps(good)
    wide = text.encode("utf-16")  # Python's own reader would guess the encoding
    assert json.loads(wide) == good
    small.write_bytes(len(wide).to_bytes(8, "little") + wide + data)
    refused(small, "not valid JSON")
    twice = text.replace('"epitomes"', '"epitomes": ' + json.dumps(good["epitomes"]) + ', "epitomes"')
    assert json.loads(twice) == good  # Python itself takes the last of the two
    for bad in (twice, "[]", "null", "12", '"text"', "[" * 60_000, '{"a":' * 10_000, "", text + "x", "{" + "9" * 5000):
        put_together(small, bad, data)
        refused(small)
    for metadata in (
        None,
        [],
        {},
        {"description": good["__metadata__"]["description"]},
        good["__metadata__"] | {"more": ""},
        good["__metadata__"] | {"sha256": 0},
        good["__metadata__"] | {"sha256": good["__metadata__"]["sha256"].upper()},
        good["__metadata__"] | {"description": described},
        good["__metadata__"] | {"description": "[" * 30_000},
        good["__metadata__"] | {"description": '{"version": ' + "1" * 5000 + "}"},
        good["__metadata__"] | {"description": as_json(described)[:-1] + ',"version":1}'},
        good["__metadata__"] | {"description": as_json(described).replace("0.1", "NaN")},
        good["__metadata__"] | {"description": as_json(described).replace("0.1", "1e999")},
    ):
        put_together(small, good | {"__metadata__": metadata}, data)
        refused(small)


def test_the_digest_covers_the_description(small: Path) -> None:
    good, described, data = taken_apart(small)
    described["provenance"]["note"] = "another"
    put_together(small, good | {"__metadata__": good["__metadata__"] | {"description": as_json(described)}}, data)
    assert inspect(small).provenance == dataclasses.replace(PROVENANCE, note="another")
    refused(small, "damaged: its content does not have the sha256")
