"""Online dictionary learning and MOD: the objectives of the peers, seeds, first atoms, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from epitomes import Dictionary, Patches
from epitomes.baselines import MOD, ODL, learn_dictionary, learn_mod
from epitomes.coders import OMP, Lasso

Doubles = NDArray[np.float64]


@pytest.fixture
def rows(rng: np.random.Generator) -> Doubles:
    atoms = rng.standard_normal((24, 16))
    codes = rng.standard_normal((800, 24)) * (rng.random((800, 24)) < 0.1)
    return codes @ atoms + 0.05 * rng.standard_normal((800, 16))


def objective(rows: Doubles, atoms: Doubles, lam: float) -> float:
    """That of SPAMS and scikit-learn, for atoms of norm one."""
    unit = atoms / np.linalg.norm(atoms, axis=1, keepdims=True)
    codes = Lasso(lam=lam, tol=1e-9).encode(rows, Dictionary(unit)).toarray()
    return float(0.5 * np.sum((rows - codes @ unit) ** 2, axis=1).mean() + lam * np.abs(codes).sum(axis=1).mean())


@pytest.mark.slow
def test_as_low_as_scikit_learn(rows: Doubles) -> None:
    learning = pytest.importorskip("sklearn.decomposition")
    peer = learning.MiniBatchDictionaryLearning(
        n_components=24,
        alpha=0.3,
        batch_size=64,
        max_iter=10,
        fit_algorithm="lars",
        random_state=0,
        dict_init=rows[:24],
    ).fit(rows)
    ours = learn_dictionary(rows, start=rows[:24], lam=0.3, batch=64, n_passes=10)
    assert objective(rows, ours.epitome.dictionary.unit, 0.3) <= 1.02 * objective(rows, peer.components_, 0.3)


def test_seeds_decide_first_atoms_and_order(rows: Doubles) -> None:
    one, same, other = (learn_dictionary(rows, 10, lam=0.3, rng=seed, n_passes=1) for seed in (3, 3, 4))
    assert one.epitome.pixels.tobytes() == same.epitome.pixels.tobytes()
    assert one.epitome.pixels.tobytes() != other.epitome.pixels.tobytes()


def test_mod_lowers_the_error(rows: Doubles) -> None:
    told: list[int] = []
    fit = learn_mod(rows, 24, coder=OMP(n_nonzero=3), n_steps=8, callback=lambda step: told.append(step.progress.index))
    assert fit.history[-1].objective < 0.7 * fit.history[0].objective
    assert told == list(range(1, 9)) and fit.epitome.dictionary.atoms.shape == (24, 16)


def test_patches_of_an_image(rng: np.random.Generator) -> None:
    patches = Patches(rng.standard_normal((20, 20)).cumsum(axis=0), (4, 4))
    assert learn_dictionary(patches, 12, lam=0.5, n_passes=1).epitome.pixels.shape == (12, 4, 4)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({}, "n_atoms is needed"),
        ({"n_atoms": 0}, "n_atoms must be at least 1"),
        ({"start": np.ones((3, 5))}, "start needs 16 values per atom"),
        ({"start": np.ones((3, 16)), "n_atoms": 4}, "start has 3 atoms"),
    ],
)
def test_bad_starts(rows: Doubles, wrong: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        learn_dictionary(rows, lam=0.3, **wrong)
    with pytest.raises(ValueError, match=words):
        learn_mod(rows, coder=OMP(n_nonzero=1), **wrong)


def test_bad_settings(rows: Doubles) -> None:
    with pytest.raises(ValueError, match="patches are zero"):
        learn_dictionary(np.zeros((9, 4)), 2, lam=0.1)
    for wrong in ({"lam": 0.0}, {"lam": 0.3, "n_passes": 0.0}):
        with pytest.raises(ValueError, match=list(wrong)[-1]):
            learn_dictionary(rows, 4, **wrong)
    with pytest.raises(ValueError, match="lam_per_sigma"):
        ODL(lam_per_sigma=0.0)
    with pytest.raises(ValueError, match="n_atoms"):
        MOD(n_atoms=0)
    with pytest.raises(TypeError, match="pairs"):
        MOD(schedule=(5, 3))  # type: ignore[arg-type]
