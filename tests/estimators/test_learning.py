"""EpitomeLearning: the library's own learning behind scikit-learn's interface."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from itertools import islice
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.feature_extraction.image import extract_patches_2d
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from epitomes import Epitome, demo
from epitomes.coders import OMP, Lasso
from epitomes.estimators import EpitomeLearning
from epitomes.learn import natural, online, smooth_noise
from epitomes.phi import turned, windows

Rows = NDArray[np.float64]


@pytest.fixture(scope="module")
def rows() -> Rows:
    """Patches of 6 x 6 pixels without their means."""
    found = extract_patches_2d(demo.shipped_picture(), (6, 6), max_patches=600, random_state=0).reshape(600, 36)
    return np.asarray(found - found.mean(axis=1, keepdims=True), np.float64)


def learner(**options: Any) -> EpitomeLearning:
    return EpitomeLearning(**{"epitome_shape": (12, 12), "alpha": 10.0, "max_iter": 3, "batch_size": 200, **options})


def test_it_learns_what_online_learns(rows: Rows) -> None:
    found = learner(tol=0.0, random_state=3).fit(rows)
    steps = online(rows, smooth_noise(windows((12, 12), (6, 6)), rng=3), coder=Lasso(lam=10.0), batch=200, rng=3)
    last = list(islice(steps, 9))[-1]
    np.testing.assert_array_equal(found.epitome_.pixels, last.epitome.pixels)
    assert found.n_iter_ == 3
    assert len(found.fit_.history) == 9
    assert found.objective_ == last.progress.objective


def test_score_is_the_objective_of_the_docstring(rows: Rows) -> None:
    found = learner().fit(rows)
    codes, atoms = found.transform(rows), found.components_
    errors = 0.5 * ((rows - codes @ atoms) ** 2).sum(axis=1)
    prices = 10.0 * (np.abs(codes) * np.linalg.norm(atoms, axis=1)).sum(axis=1)
    assert found.score(rows) == pytest.approx(-float(np.mean(errors + prices)), rel=1e-9)


def test_learning_pays_on_new_patches(rows: Rows) -> None:
    untaught = learner(alpha=1e9).fit(rows)  # too dear to learn anything
    assert learner().fit(rows[:400]).score(rows[400:]) > 0.9 * untaught.set_params(alpha=10.0).score(rows[400:])


def test_tol_ends_the_passes(rows: Rows) -> None:
    patient, hasty = learner(max_iter=8, tol=0.0).fit(rows), learner(max_iter=8, tol=0.5).fit(rows)
    assert patient.n_iter_ == 8
    assert patient.fit_.reason == "8 passes done"
    assert hasty.n_iter_ == 2
    assert "tol is 0.5" in hasty.fit_.reason


def test_partial_fit_is_a_step_and_goes_on_after_fit(rows: Rows) -> None:
    parts = learner().partial_fit(rows[:300]).partial_fit(rows[300:])
    first = next(online(rows[:300], smooth_noise(windows((12, 12), (6, 6))), coder=Lasso(lam=10.0), batch=300))
    second = next(online(rows[300:], first.epitome, coder=Lasso(lam=10.0), batch=300, after=first))
    np.testing.assert_array_equal(parts.epitome_.pixels, second.epitome.pixels)
    assert parts.n_iter_ == 2
    fitted = learner(tol=0.0).fit(rows)
    before = fitted.epitome_
    fitted.partial_fit(rows[:100])
    assert fitted.n_iter_ == 4
    assert [one.index for one in fitted.fit_.history] == list(range(1, 11))
    assert not np.array_equal(fitted.epitome_.pixels, before.pixels)
    fitted.fit(rows)  # anew
    np.testing.assert_array_equal(fitted.epitome_.pixels, before.pixels)


def test_threads_and_copies_change_nothing(rows: Rows) -> None:
    one, two = learner().fit(rows), learner(n_jobs=2).fit(rows)
    np.testing.assert_array_equal(one.components_, two.components_)
    codes = one.transform(rows)
    pickled = pickle.loads(pickle.dumps(one))  # noqa: S301  (of our own making)
    for other in (copy.deepcopy(one), pickled):
        np.testing.assert_array_equal(other.transform(rows), codes)
    again = pickled.partial_fit(rows)
    np.testing.assert_array_equal(again.components_, one.partial_fit(rows).components_)


def test_random_state(rows: Rows) -> None:
    epitomes = [learner(random_state=state).fit(rows).epitome_.pixels for state in (0, 0, 1)]
    np.testing.assert_array_equal(epitomes[0], epitomes[1])
    assert not np.array_equal(epitomes[0], epitomes[2])
    generator = np.random.RandomState(0)
    learner(random_state=generator).fit(rows)
    assert generator.randint(1000) != np.random.RandomState(0).randint(1000)  # it was drawn from


def test_codes_dense_sparse_and_back(rows: Rows) -> None:
    full = OMP(n_nonzero=36)
    dense = learner(transform_coder=full).fit(rows)
    sparse = learner(transform_coder=full, sparse_output=True).fit(rows)
    codes = sparse.transform(rows)
    assert issparse(codes)
    assert codes.shape == (600, 49)
    np.testing.assert_array_equal(codes.toarray(), dense.transform(rows))
    np.testing.assert_allclose(dense.inverse_transform(codes), rows, atol=1e-5 * np.abs(rows).max())
    np.testing.assert_allclose(dense.inverse_transform(codes.toarray()), dense.inverse_transform(codes), atol=1e-9)


def test_single_precision_stays_single(rows: Rows) -> None:
    single = rows.astype(np.float32)
    found = learner().fit(single)
    codes = found.transform(single)
    assert codes.dtype == np.float32
    assert found.inverse_transform(codes).dtype == np.float32
    assert found.inverse_transform(codes.astype(np.float64)).dtype == np.float64


def test_components_are_the_windows_of_the_epitome(rows: Rows) -> None:
    found = learner().fit(rows)
    windows_seen = np.lib.stride_tricks.sliding_window_view(found.epitome_.pixels, (6, 6)).reshape(49, 36)
    np.testing.assert_array_equal(found.components_, windows_seen)
    with pytest.raises(ValueError, match="read-only"):
        found.components_[0, 0] = 1.0


@pytest.mark.parametrize(
    ("n_features", "patch", "epitome"),
    [(64, (8, 8), (42, 42)), (4, (2, 2), (12, 12)), (10, (10,), (52,)), (1, (1,), (7,))],
)
def test_shapes_that_nobody_gave(
    n_features: int, patch: tuple[int, ...], epitome: tuple[int, ...], rng: np.random.Generator
) -> None:
    found = EpitomeLearning(max_iter=1).fit(rng.standard_normal((5, n_features)))
    assert found.epitome_.phi.patch_shape == patch
    assert found.epitome_.phi.epitome_shape == epitome


def test_colour_and_several_epitomes(rng: np.random.Generator) -> None:
    rows = rng.standard_normal((20, 48))
    assert EpitomeLearning(patch_shape=(4, 4, 3), max_iter=1).fit(rows).epitome_.pixels.shape == (22, 22, 3)
    several = EpitomeLearning(patch_shape=(4, 4, 3), epitome_shape=(2, 9, 9, 3), max_iter=1).fit(rows)
    assert several.transform(rows).shape == (20, 2 * 36)


def test_start(rows: Rows) -> None:
    """Any phi may be learned; where natural images are shipped, they are the start."""
    phi = turned(windows((12, 12), (6, 6)), quarter_turns=False)
    start = smooth_noise(phi)
    found = learner(epitome_shape=None, start=start).fit(rows)
    assert found.epitome_.phi is phi
    assert found.transform(rows).shape == (600, phi.n_atoms)
    assert isinstance(clone(found).start, Epitome)
    bright = EpitomeLearning(alpha=1e9, epitome_shape=(42, 42)).fit(rows)  # too dear to learn anything
    np.testing.assert_array_equal(bright.epitome_.pixels, natural(windows((42, 42), (6, 6))).pixels)


def test_frames_pipelines_and_searches(rows: Rows) -> None:
    frame = learner().set_output(transform="pandas").fit_transform(rows)
    assert list(frame.columns[:2]) == ["epitomelearning0", "epitomelearning1"]
    assert frame.shape == (600, 49)
    pipe = make_pipeline(StandardScaler(), learner(alpha=0.5), Ridge())
    target = rows[:, 0]
    assert pipe.fit(rows[:400], target[:400]).score(rows[400:], target[400:]) > 0.5
    search = GridSearchCV(learner(max_iter=1), {"epitome_shape": [(6, 6), (12, 12)]}, cv=2).fit(rows)
    assert search.best_params_ == {"epitome_shape": (12, 12)}  # one atom cannot do what 49 can


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"patch_shape": (5, 5)}, "X has 36 features, a patch of shape .5, 5. has 25 pixels"),
        ({"alpha": 0.0}, "alpha must be a finite number > 0, got 0"),
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"tol": -1.0}, "tol must be a finite number >= 0"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"epitome_shape": (5, 5)}, "does not fit in epitome_shape"),
        ({"start": smooth_noise(windows((9, 9), (6, 6)))}, "start has the epitome_shape .9, 9., but"),
    ],
)
def test_what_cannot_be_is_refused_in_words(rows: Rows, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learner(**options).fit(rows)


def test_more_refusals(rows: Rows) -> None:
    with pytest.raises(TypeError, match="start must be an Epitome, got ndarray"):
        learner(start=rows).fit(rows)
    with pytest.raises(ValueError, match="codes need 49 columns, one per atom, got 36"):
        learner().fit(rows).inverse_transform(rows)


@pytest.mark.slow
def test_the_library_does_not_need_scikit_learn() -> None:
    """Importing the library does not import it; without it the message names the extra."""
    code = (
        "import sys, epitomes, epitomes.restoration, epitomes.adaptors\n"
        "assert not {'sklearn', 'joblib', 'matplotlib', 'pandas'} & set(sys.modules)\n"
        "sys.modules['sklearn'] = None\n"
        "try:\n    epitomes.estimators\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "epitomes[sklearn]"' in done.stdout
