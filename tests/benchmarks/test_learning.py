"""The races of learning and denoising, and the claims: their parts against other ways, on pictures of a few pixels."""

from __future__ import annotations

import json
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from learn_cases import residual_cost, texture

from benchmarks import __main__ as command
from benchmarks import claims
from benchmarks.claims import acceleration, flat
from benchmarks.options import Options
from benchmarks.pictures import Picture, middle
from benchmarks.races import learn
from benchmarks.record import Claim, Memory, as_json
from benchmarks.rivals import Problem, spams_alternate
from epitomes import Epitome, Patches
from epitomes.coders import Lasso
from epitomes.learn import Moments, cost, smooth_noise
from epitomes.phi import project, windows

PHI = windows((14, 14), (8, 8))
PICTURE = Picture("small", texture((40, 44)).astype(np.float32), "given")


def problem() -> Problem:
    start = smooth_noise(PHI)
    return Problem(PICTURE.pixels, Epitome(start.pixels.astype(np.float32), PHI), threads=1, lam=60.0)


class TestTheGoal:
    def test_first_at_most_is_the_first(self) -> None:
        epitomes = tuple(smooth_noise(PHI, rng=seed) for seed in range(9))
        worth = dict(zip(map(id, epitomes), [90, 80, 70, 60, 50, 40, 30, 20, 10], strict=True))
        for goal, place in ((95, 0), (90, 0), (89, 1), (41, 5), (40, 5), (10, 8), (9, None)):
            assert learn.first_at_most(epitomes, goal, lambda epitome: worth[id(epitome)]) == place

    def test_worth_is_eq_3_by_residuals(self) -> None:
        given = problem()
        D = given.epitome.phi(given.epitome.pixels.astype(np.float64))
        patches = Patches(given.noisy.astype(np.float64), (8, 8))
        X = patches.rows(0, len(patches))[0]
        codes = Lasso(lam=60.0, tol=1e-10).encode(X, Epitome(given.epitome.pixels.astype(np.float64), PHI).dictionary)
        expected = residual_cost(X, codes, D, 60.0) / len(X)
        assert learn.worth(given)(given.epitome) == pytest.approx(expected, rel=1e-6)

    def test_a_walk_has_a_time_for_every_epitome(self) -> None:
        course = learn.walk(iter([smooth_noise(PHI)] * 9), 5, "wall")
        assert len(course.epitomes) == len(course.seconds) == 5
        assert list(course.seconds) == sorted(course.seconds)


class TestTheRival:
    """The paper's algorithm on SPAMS, on trial too: a weak rival would make any race worthless."""

    def test_it_goes_down_and_comes_as_low_as_ours(self) -> None:
        pytest.importorskip("spams")
        given = problem()
        value = learn.worth(given)
        runners = learn.competitors(given, learn.Size(crop=None, side=14, iterations=6, rounds=1))
        found = {name: [value(each) for each in islice(make(), 6)] for name, (make, _) in runners.items()}
        theirs = found[learn.PEER]
        assert theirs[0] < value(given.epitome)
        assert all(after < before * (1 + 1e-5) for before, after in pairwise(theirs))
        assert theirs[-1] == pytest.approx(found["epitomes"][-1], rel=0.01)

    def test_its_dictionary_step_ends_at_the_optimum(self) -> None:
        given = problem()
        D = given.epitome.phi(given.epitome.pixels.astype(np.float64))
        codes = Lasso(lam=60.0).encode(given.rows, given.epitome.dictionary)
        moments = Moments.of(given.rows.astype(np.float64), codes)
        found = D
        for _ in range(20):
            found = spams_alternate.fista(found, moments.gram, moments.cross, moments.mass, given)
        np.testing.assert_allclose(found, project(PHI, found), atol=1e-9 * np.abs(found).max())
        from epitomes.learn import PreconditionedFista

        best = PreconditionedFista(n_steps=500, tol=0.0).step(given.epitome, moments, 60.0).epitome
        expected = cost(PHI(best.pixels.astype(np.float64)), moments, 60.0)
        assert cost(found, moments, 60.0) == pytest.approx(expected, rel=1e-4)


def test_rows_as_json() -> None:
    claim = Claim(claim="a", image="b", value=1.0, against=2.0, holds=False, note="c")
    assert json.loads(as_json(claim)) == {
        "claim": "a",
        "image": "b",
        "value": 1.0,
        "against": 2.0,
        "holds": False,
        "note": "c",
    }
    memory = Memory(memory="a", width=2, height=3, peak_mb=9.0, before_mb=4.0, bytes_per_pixel=5.0, threads=2)
    assert json.loads(as_json(memory))["peak_mb"] == 9.0


@pytest.mark.parametrize("claim", [acceleration, flat])
def test_claims_yield_rows_and_draw(claim: object, tmp_path: Path) -> None:
    rows = list(claim.run([PICTURE], Options(quick=True, output=tmp_path / "new")))  # type: ignore[attr-defined]
    assert rows
    for row in rows:
        assert row.holds and row.image == "small"
        assert row.figure is not None and (tmp_path / "new" / row.figure).stat().st_size > 1000
        as_json(row)


def test_a_file_is_no_folder_for_drawings(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(SystemExit, match="pass a folder for the plots"):
        next(claims.run(Options(output=tmp_path / "file")))


def test_the_middle() -> None:
    pixels = np.arange(30, dtype=np.float32).reshape(5, 6)
    np.testing.assert_array_equal(middle(pixels, 2), [[8, 9], [14, 15]])
    np.testing.assert_array_equal(middle(pixels, 99), pixels)
    assert middle(np.zeros((6, 8, 3), np.float32), 2).shape == (2, 2, 3)


def test_names() -> None:
    for name in ("race-learn", "race-denoise", "claims"):
        assert command.parser().parse_args([name]).name == name
    assert "claims" not in command.RACES
