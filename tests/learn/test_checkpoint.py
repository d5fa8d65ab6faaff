"""Checkpoints: the same bits after a file as before it, and no step from a file that cannot be right."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import phi_cases
import pytest
import safetensors.numpy
from numpy.typing import NDArray
from scipy.sparse import csr_array

from epitomes import Epitome, Patches
from epitomes.coders import Lasso
from epitomes.described_file import pack
from epitomes.learn import multiscale, scales, smooth_noise
from epitomes.learn._alternate import alternate
from epitomes.learn._online import online
from epitomes.learn.checkpoint import load_history, load_step, save_step
from epitomes.learn.moments import Moments
from epitomes.learn.steps import Progress, Step, run
from epitomes.model_file import ModelError, load
from epitomes.phi import Phi, flat, turned, union, windows

PHI = windows((5, 6), (2, 3))
HISTORY = tuple(
    Progress(index=i, scale=i // 3, objective=math.pi / i, sparsity=0.1 * i, n_unused=i, seconds=1e-7 / 3)
    for i in range(1, 5)
)


def a_step(phi: Phi = PHI, dtype: type = np.float64, *, codes: bool = True, moments: bool = True) -> Step:
    rng = np.random.default_rng(0)
    n, p, m = 7, phi.n_atoms, phi.patch_size
    A = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.3)
    A[0] = A[-1] = 0  # patches that use nothing, at both ends too
    X = rng.standard_normal((n, m))
    sums = Moments(A.T @ A, A.T @ X, np.abs(A).sum(axis=0), float(np.sum(X**2)), n / 3)
    pixels = rng.standard_normal(phi.epitome_shape).astype(dtype)
    sparse = csr_array(A.astype(dtype)) if codes else None
    return Step(HISTORY[-1], Epitome(pixels, phi), sparse, sums if moments else None)


def assert_same(found: Step, step: Step) -> None:
    """Equal bit for bit, dtypes included."""

    def same(a: NDArray[Any], b: NDArray[Any]) -> None:
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.tobytes() == b.tobytes()

    assert found.progress == step.progress
    same(found.epitome.pixels, step.epitome.pixels)
    assert (found.codes is None) == (step.codes is None)
    assert (found.moments is None) == (step.moments is None)
    if step.codes is not None:
        assert found.codes.shape == step.codes.shape
        for name in ("data", "indices", "indptr"):
            same(getattr(found.codes, name), getattr(step.codes, name))
    if step.moments is not None and found.moments is not None:
        for name in ("gram", "cross", "mass"):
            same(getattr(found.moments, name), getattr(step.moments, name))
        assert (found.moments.energy, found.moments.count) == (step.moments.energy, step.moments.count)


# ---- round trips


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("codes", [False, True], ids=["no codes", "codes"])
@pytest.mark.parametrize("moments", [False, True], ids=["no moments", "moments"])
def test_round_trip(tmp_path: Path, dtype: type, codes: bool, moments: bool) -> None:
    step = a_step(dtype=dtype, codes=codes, moments=moments)
    save_step(tmp_path / "a", step, HISTORY)
    found, history = load_step(tmp_path / "a", PHI)
    assert_same(found, step)
    assert found.epitome.phi is PHI
    assert history == HISTORY == load_history(tmp_path / "a")


@pytest.mark.parametrize("name", phi_cases.NAMED)
def test_every_phi(name: str, tmp_path: Path) -> None:
    phi = phi_cases.NAMED[name]
    step = a_step(phi)
    save_step(tmp_path / "a", step, [step.progress])
    assert_same(load_step(tmp_path / "a", phi)[0], step)


def test_codes_that_use_nothing(tmp_path: Path) -> None:
    step = dataclasses.replace(a_step(), codes=csr_array((3, PHI.n_atoms)))
    save_step(tmp_path / "a", step, [])
    found, history = load_step(tmp_path / "a", PHI)
    assert_same(found, step)
    assert history == ()


def test_codes_out_of_order_are_sorted(tmp_path: Path) -> None:
    rows = csr_array((np.array([1.0, 2.0, 3.0]), np.array([4, 1, 0]), np.array([0, 2, 3])), shape=(2, PHI.n_atoms))
    save_step(tmp_path / "a", dataclasses.replace(a_step(), codes=rows), HISTORY)
    found = load_step(tmp_path / "a", PHI)[0].codes
    np.testing.assert_array_equal(found.toarray(), rows.toarray())
    assert rows.indices.tolist() == [4, 1, 0]  # the caller's stay as they are


def test_floats_are_exact_and_numpy_numbers_are_taken(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    hard = [
        Progress(np.int64(i), 0, np.float64(x), float(x) / 3, 0, 5e-324) for i, x in enumerate(rng.standard_normal(500))
    ]
    step = dataclasses.replace(a_step(), progress=hard[-1])
    save_step(tmp_path / "a", step, hard)
    found, history = load_step(tmp_path / "a", PHI)
    assert list(history) == hard
    assert found.progress == hard[-1]


def test_saving_twice_gives_the_same_bytes_and_overwrites(tmp_path: Path) -> None:
    file = tmp_path / "a"
    save_step(file, a_step(flat(3, (2, 3))), [])
    save_step(file, a_step(), HISTORY)
    first = file.read_bytes()
    save_step(os.fspath(file), a_step(), HISTORY)
    assert file.read_bytes() == first
    assert os.listdir(tmp_path) == ["a"]
    assert set(safetensors.numpy.load_file(file)) == {
        *("epitome", "codes.data", "codes.indices", "codes.indptr"),
        *("moments.gram", "moments.cross", "moments.mass"),
    }


def test_numbers_that_are_none_are_not_saved(tmp_path: Path) -> None:
    save_step(tmp_path / "a", a_step(), HISTORY)
    before = (tmp_path / "a").read_bytes()
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match="objective of a step is NaN or infinite"):
            save_step(tmp_path / "a", a_step(), [dataclasses.replace(HISTORY[0], objective=bad)])
    assert (tmp_path / "a").read_bytes() == before


def test_swapped_arguments_are_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"the path comes first, save_step\(path, step, history\)"):
        save_step(a_step(), tmp_path / "a", HISTORY)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needs a path and a Step, got str and tuple"):
        save_step("a", (a_step(), HISTORY), HISTORY)  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == []


# ---- resumed runs


def patches() -> Patches:
    return Patches(np.random.default_rng(2).standard_normal((24, 24)).cumsum(axis=0).cumsum(axis=1), (4, 4))


def test_resumed_runs_end_with_the_same_bits(tmp_path: Path) -> None:
    phi = windows((9, 9), (4, 4))
    learners: list[Callable[[Step | None], Any]] = [
        lambda after: alternate(patches(), smooth_noise(phi), coder=Lasso(lam=3.0), after=after, threads=1),
        lambda after: online(patches(), smooth_noise(phi), coder=Lasso(lam=3.0), batch=100, after=after, threads=1),
    ]
    for number, learn in enumerate(learners):
        whole = run(learn(None), max_steps=6)
        file = tmp_path / f"{number}"
        run(learn(None), max_steps=3, checkpoint=file)
        step, history = load_step(file, phi)
        rest = run(learn(step), max_steps=6, history=history)
        assert rest.epitome.pixels.tobytes() == whole.epitome.pixels.tobytes()
        timeless = [[dataclasses.replace(each, seconds=0.0) for each in fit.history] for fit in (rest, whole)]
        assert timeless[0] == timeless[1]


@pytest.mark.parametrize("learner", [alternate, online, multiscale])
def test_the_pair_of_load_step_is_not_a_step(learner: Callable[..., Any], tmp_path: Path) -> None:
    """It is refused when the learner is made, not at its first step."""
    phi = windows((9, 9), (4, 4))
    image = np.random.default_rng(2).standard_normal((24, 24))
    how: dict[str, Any] = {"coder": Lasso(lam=3.0)}
    if learner is multiscale:
        how = {"scales": scales((9, 9), (4, 4), lam=3.0, n_steps=(1, 1))}
    data = image if learner is multiscale else patches()
    save_step(tmp_path / "a", a_step(phi), HISTORY)
    loaded = load_step(tmp_path / "a", phi)
    with pytest.raises(TypeError, match=r"step, history = load_step\(\.\.\.\) and pass after=step"):
        learner(data, smooth_noise(phi), after=loaded, **how)
    with pytest.raises(TypeError, match="after must be a Step or None, got int"):
        learner(data, smooth_noise(phi), after=3, **how)
    with pytest.raises(TypeError, match="start must be an Epitome, got GatherPhi"):
        learner(data, phi, **how)


# ---- files that do not fit or are damaged


@pytest.mark.parametrize(
    "other",
    [
        windows((6, 5), (2, 3)),
        windows((5, 6), (3, 2)),
        windows((5, 6), (2, 3), border="periodic"),
        flat(5, (2, 3)),
    ],
    ids=repr,
)
def test_another_phi(tmp_path: Path, other: Phi) -> None:
    save_step(tmp_path / "a", a_step(), HISTORY)
    with pytest.raises(ModelError, match="made with another phi"):
        load_step(tmp_path / "a", other)


def test_another_phi_of_the_same_sizes(tmp_path: Path) -> None:
    one, other = (turned(windows((6, 6), (3, 3)), quarter_turns=q, flips=not q) for q in (True, False))
    first, second = (union(*parts) for parts in ((one, flat(2, (3, 3))), (other, flat(2, (3, 3)))))
    for a, b in ((one, other), (first, second)):
        assert (a.n_atoms, a.patch_size, a.epitome_shape) == (b.n_atoms, b.patch_size, b.epitome_shape)
        save_step(tmp_path / "a", a_step(a), HISTORY)
        with pytest.raises(ModelError, match=r"\(different: table\)"):
            load_step(tmp_path / "a", b)


def refused(file: Path, match: str | None = None) -> None:
    with pytest.raises(ModelError, match=match) as caught:
        load_step(file, PHI)
    assert str(caught.value).startswith(str(file))
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_damage(tmp_path: Path, rng: np.random.Generator) -> None:
    file = tmp_path / "a"
    save_step(file, a_step(), HISTORY)
    content = file.read_bytes()
    for length in rng.integers(len(content), size=300):
        file.write_bytes(content[:length])
        refused(file)
    for place in rng.integers(len(content), size=500):
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(changed)
        refused(file)


def test_models_and_checkpoints_are_told_apart(tmp_path: Path) -> None:
    save_step(tmp_path / "a", a_step(), HISTORY)
    with pytest.raises(ModelError, match="not an epitome file: its format is 'checkpoint'"):
        load(tmp_path / "a")
    with pytest.raises(FileNotFoundError):
        load_step(tmp_path / "absent", PHI)


def forged(file: Path, key: str, value: object, arrays: dict[str, NDArray[Any] | None]) -> None:
    """A checkpoint with a true digest, but with one number and some arrays changed (None: taken away)."""
    save_step(file, a_step(), HISTORY)
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    described = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["description"])
    holder = described
    *path, last = key.split(".")
    for each in path:
        holder = holder[each]
    holder[last] = value
    kept = safetensors.numpy.load_file(file) | arrays
    file.write_bytes(pack(described, {k: v for k, v in kept.items() if v is not None}, max_header=2**20))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", "epitome"),
        ("version", 2),
        ("version", "1"),
        ("more", 1),
        ("phi", None),
        ("phi.n_atoms", 13),
        ("phi.table", None),
        ("phi.more", 1),
        ("sums", None),
        ("sums", {}),
        ("sums.energy", -1.0),
        ("sums.energy", 1),
        ("sums.count", "7"),
        ("progress", None),
        ("progress.index", []),
        ("progress.index", [1, 2]),
        ("progress.index", [1.0]),
        ("progress.index", [True]),
        ("progress.index", [10**400]),
        ("progress.objective", [1]),
        ("progress.objective", 1.0),
        ("history.seconds", [1.0]),
        ("history.seconds", [1.0, 2.0, 3.0, None]),
        ("history.more", []),
    ],
)
def test_wrong_descriptions(tmp_path: Path, key: str, value: object) -> None:
    forged(tmp_path / "a", "version", 1, {})
    load_step(tmp_path / "a", PHI)  # the forger can forge
    forged(tmp_path / "a", key, value, {})
    refused(tmp_path / "a")


def ints(*numbers: int) -> NDArray[np.int32]:
    return np.array(numbers, np.int32)


P = PHI.n_atoms
CODES = ("codes.data", "codes.indices", "codes.indptr")


@pytest.mark.parametrize(
    ("names", "arrays"),
    [
        (("epitome",), (None,)),
        (("epitome",), (np.ones((6, 5)),)),
        (("epitome",), (np.ones((5, 6), np.int32),)),
        (("epitome",), (np.full((5, 6), np.nan),)),
        (("more",), (np.ones(3),)),
        (("moments.mass",), (None,)),
        (("moments.mass",), (np.ones(P + 1),)),
        (("moments.mass",), (np.ones(P, np.float32),)),
        (("moments.mass",), (np.full(P, np.inf),)),
        (("moments.gram",), (np.ones((P, P - 1)),)),
        (("moments.cross",), (np.ones((P, 7)),)),
        (("codes.indptr",), (None,)),
        (CODES, (np.ones(2), ints(0, P), ints(0, 1, 2))),  # an atom too far: native code would read beyond the end
        (CODES, (np.ones(2), ints(0, -1), ints(0, 1, 2))),
        (CODES, (np.ones(2), ints(1, 1), ints(0, 2))),
        (CODES, (np.ones(2), ints(2, 1), ints(0, 2))),
        (CODES, (np.ones(2), ints(1, 2), ints(1, 2))),
        (CODES, (np.ones(2), ints(1, 2), ints(0, 3))),
        (CODES, (np.ones(2), ints(1, 2), ints(0, 3, 2))),
        (CODES, (np.ones(2), ints(1, 2), ints(0, -1, 2))),
        (CODES, (np.ones(2), ints(1, 2), np.array([0, 2**62, -(2**62), 2]))),
        (CODES, (np.ones(3), ints(1, 2), ints(0, 2))),
        (CODES, (np.ones(0), ints(), ints())),
        (CODES, (np.ones(0), ints(), ints(0))),
        (CODES, (np.array([1.0, np.nan]), ints(1, 2), ints(0, 2))),
        (CODES, (ints(1, 1), ints(1, 2), ints(0, 2))),
        (CODES, (np.ones(2), np.ones(2), ints(0, 2))),
        (CODES, (np.ones((1, 2)), ints(1, 2), ints(0, 2))),
    ],
    ids=str,
)
def test_wrong_arrays(tmp_path: Path, names: tuple[str, ...], arrays: tuple[NDArray[Any] | None, ...]) -> None:
    forged(tmp_path / "a", "version", 1, dict(zip(names, arrays, strict=True)))
    refused(tmp_path / "a")


def test_right_codes_pass(tmp_path: Path) -> None:
    """The checks above are about these rows: 1 2 | nothing | 0 | nothing."""
    rows = dict(zip(CODES, (np.ones(3), ints(1, 2, 0), ints(0, 2, 2, 3, 3)), strict=True))
    forged(tmp_path / "a", "version", 1, rows)
    found = load_step(tmp_path / "a", PHI)[0].codes
    assert found.shape == (4, P)
    assert found.nnz == 3
