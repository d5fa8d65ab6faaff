"""Estimates of groups added up: what they weigh, in which order, what shrinkers ask for, and calls that are refused."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from group_cases import NATIVE, correlated, many_groups, one_group, shrunk

from epitomes import kernels
from epitomes.groups import LowRank, SharedAtoms, Shrinker, Wiener
from epitomes.kernels import Groups, _native


def shrinkers(m: int, rng: np.random.Generator) -> list[Shrinker]:
    return [
        LowRank(),
        SharedAtoms(atoms=rng.standard_normal((3 * m, m)), bound=0.5),
        Wiener(covariance=correlated(m)),
    ]


@pytest.mark.parametrize("isa", NATIVE)
class TestSums:
    def test_weights_count_estimates(self, isa: str, rng: np.random.Generator) -> None:
        groups = many_groups(16, 30, rng)
        counted = np.zeros(400)
        for row, count in zip(groups.places, groups.counts, strict=True):
            np.add.at(counted, row[:count, None] + groups.offsets, 1.0)
        for by in (LowRank(), SharedAtoms(atoms=rng.standard_normal((40, 16)), bound=1.0)):
            np.testing.assert_array_equal(shrunk(isa, groups, by.shrinkage(16, 1))[1], counted)

    def test_weights_by_rank(self, isa: str, rng: np.random.Generator) -> None:
        """One over one more than the directions kept, which the estimates show."""
        atoms = rng.standard_normal((40, 25))
        seen = set()
        for n_directions in (0, 1, 2, 4, 7):
            parts = 30 * rng.standard_normal((20, n_directions)) @ rng.standard_normal((n_directions, 25))
            members = 100 + parts + rng.standard_normal((20, 25))
            shrinkage = SharedAtoms(atoms=atoms, bound=0.1, by_rank=True).shrinkage(25, 1)
            total, weight = shrunk(isa, one_group(members, 1.0), shrinkage)
            got = (total.astype(np.float64) / weight).reshape(20, 25)
            rank = np.count_nonzero(np.linalg.svd(got - got.mean(axis=0), compute_uv=False) > 1e-2)
            np.testing.assert_allclose(weight, 1 / (1 + rank), rtol=1e-6)
            seen.add(rank)
        assert len(seen) >= 4

    @pytest.mark.parametrize("which", range(3))
    def test_sums_are_added_to(self, which: int, isa: str, rng: np.random.Generator) -> None:
        groups, shrinkage = many_groups(16, 10, rng), shrinkers(16, rng)[which].shrinkage(16, 1)
        total, weight = shrunk(isa, groups, shrinkage)
        more, heavier = np.full(400, 1e4, np.float32), np.full(400, 3, np.float32)
        number = kernels.isas.index(isa)
        _native.shrink_groups(number, *groups, *shrinkage, np.zeros(1, np.uint8), more, heavier)
        np.testing.assert_allclose(more, total + 1e4, rtol=1e-5)
        np.testing.assert_allclose(heavier, weight + 3, rtol=1e-6)

    def test_sums_of_another_layout(self, isa: str, rng: np.random.Generator) -> None:
        """Rows of an image that is as wide, but begins further down: the same bits in other places."""
        image = rng.standard_normal((2, 20, 15)).astype(np.float32)
        offsets, below = (
            (np.arange(3) + 15 * np.arange(3)[:, None] + 15 * tall * np.arange(2)[:, None, None]).ravel()
            for tall in (20, 9)
        )
        places = (15 * rng.integers(8, 14, (4, 7)) + rng.integers(0, 13, (4, 7))).astype(np.int32)
        counts, levels = np.array([7, 1, 4, 6], np.int32), np.full(4, 0.3, np.float32)
        groups = Groups(image.ravel(), image.ravel(), offsets, offsets, 0, places, counts, levels)
        shrinkage = LowRank().shrinkage(18, 2)
        whole = [sums.reshape(2, 20, 15) for sums in shrunk(isa, groups, shrinkage)]
        part = shrunk(isa, groups._replace(sum_offsets=below, shift=7 * 15), shrinkage, size=2 * 9 * 15)
        for one, other in zip(whole, part, strict=True):
            np.testing.assert_array_equal(one[:, 7:16], other.reshape(2, 9, 15))
            assert not one[:, :7].any() and not one[:, 16:].any()

    @pytest.mark.parametrize("which", range(3))
    def test_groups_do_not_depend_on_each_other(self, which: int, isa: str, rng: np.random.Generator) -> None:
        """One after another, in any order, alone or with more room in the rows: the same bits."""
        m, n = 18, 12
        noisy = (100 + 30 * rng.standard_normal(n * 40 * m)).astype(np.float32)
        places = (m * np.arange(n * 40, dtype=np.int32)).reshape(n, 40)
        counts = rng.integers(1, 41, n).astype(np.int32)
        levels = rng.uniform(0, 20, n).astype(np.float32)
        groups = Groups(noisy, noisy, np.arange(m), np.arange(m), 0, places, counts, levels)
        shrinkage = shrinkers(m, rng)[which].shrinkage(m, 1)
        total, _ = shrunk(isa, groups, shrinkage)
        order = rng.permutation(n)
        mixed = groups._replace(places=places[order], counts=counts[order], levels=levels[order])
        np.testing.assert_array_equal(shrunk(isa, mixed, shrinkage)[0], total)
        alone = np.zeros_like(total)
        for i, count in enumerate(counts):
            just = np.ascontiguousarray(places[i : i + 1, :count])
            only = groups._replace(places=just, counts=counts[i : i + 1], levels=levels[i : i + 1])
            alone += shrunk(isa, only, shrinkage)[0]
        np.testing.assert_array_equal(alone, total)

    def test_a_group_that_is_not_a_number_spoils_no_other(self, isa: str, rng: np.random.Generator) -> None:
        m = 7
        noisy = (100 + 30 * rng.standard_normal((20, m))).astype(np.float32)
        places = (m * np.arange(20, dtype=np.int32)).reshape(4, 5)
        shrinkages = [by.shrinkage(m, 1) for by in shrinkers(m, rng)]
        for bad in (np.nan, np.inf, 3e38):
            spoiled = noisy.copy()
            spoiled[5:10] = bad
            for shrinkage in shrinkages:
                clean, dirty = (
                    Groups(
                        image.ravel(),
                        image.ravel(),
                        np.arange(m),
                        np.arange(m),
                        0,
                        places,
                        np.full(4, 5, np.int32),
                        np.full(4, 9, np.float32),
                    )
                    for image in (noisy, spoiled)
                )
                one, other = (shrunk(isa, groups, shrinkage)[0].reshape(20, m) for groups in (clean, dirty))
                np.testing.assert_array_equal(one[:5], other[:5])
                np.testing.assert_array_equal(one[10:], other[10:])

    def test_a_raised_flag_ends_the_work(self, isa: str, rng: np.random.Generator) -> None:
        groups, number = many_groups(9, 10, rng), kernels.isas.index(isa)
        total, weight = np.zeros(400, np.float32), np.zeros(400, np.float32)
        for by in shrinkers(9, rng):
            _native.shrink_groups(number, *groups, *by.shrinkage(9, 1), np.ones(1, np.uint8), total, weight)
            assert not total.any() and not weight.any()

    def test_no_groups(self, isa: str, rng: np.random.Generator) -> None:
        groups = many_groups(9, 10, rng)
        none = groups._replace(places=groups.places[:0], counts=groups.counts[:0], levels=groups.levels[:0])
        for by in shrinkers(9, rng):
            assert not shrunk(isa, none, by.shrinkage(9, 1))[1].any()


class TestShrinkers:
    def test_base_and_atoms(self, rng: np.random.Generator) -> None:
        given = rng.standard_normal((30, 24)) * np.logspace(-2, 2, 30)[:, None] + 50
        shrinkage = SharedAtoms(
            atoms=given, bound=0.5, selection_size=7, most_atoms=9, strength=1.5, by_rank=True
        ).shrinkage(24, 2)
        base, atoms = shrinkage.base.astype(np.float64), shrinkage.atoms.astype(np.float64)
        assert shrinkage.base.dtype == shrinkage.atoms.dtype == np.float32
        np.testing.assert_allclose(base @ base.T, np.eye(2), atol=1e-6)
        assert (np.ptp(base.reshape(2, 2, 12), axis=2) == 0).all()
        np.testing.assert_allclose((atoms**2).sum(axis=1), 1, rtol=1e-6)
        np.testing.assert_allclose(atoms @ base.T, 0, atol=1e-6)
        wanted = given - given.reshape(30, 2, 12).mean(axis=2).repeat(12, axis=1)
        np.testing.assert_allclose((atoms * wanted).sum(axis=1), np.sqrt((wanted**2).sum(axis=1)), rtol=1e-5)
        assert shrinkage[2:-1] == (7, 9, 0.5 * 24, 1.5, 0.0, True)
        np.testing.assert_allclose(shrinkage.gram[:, : len(atoms)], atoms @ atoms.T, atol=1e-5)

    def test_no_more_atoms_than_directions(self, rng: np.random.Generator) -> None:
        assert (
            SharedAtoms(atoms=rng.standard_normal((9, 12)), bound=1.0, most_atoms=50).shrinkage(12, 3).most_atoms == 9
        )

    def test_low_rank_has_no_atoms(self) -> None:
        shrinkage = LowRank(strength=1.25).shrinkage(10, 2)
        assert shrinkage.base.shape == shrinkage.atoms.shape == (0, 10)
        assert shrinkage.strength == 1.25 and not shrinkage.by_rank

    def test_atoms_that_means_explain_are_dropped(self, rng: np.random.Generator) -> None:
        atoms = np.concatenate([np.full((3, 49), 0.3), rng.standard_normal((5, 49)), np.zeros((2, 49))])
        assert len(SharedAtoms(atoms=atoms, bound=1.0).shrinkage(49, 1).atoms) == 5
        given = atoms.copy()
        SharedAtoms(atoms=given, bound=1.0).shrinkage(49, 1)
        np.testing.assert_array_equal(given, atoms)

    @pytest.mark.parametrize("tone", [0.0, 1.0, 0.3, 1 / 3, 1e6])
    def test_a_dictionary_without_contrast_is_refused(self, tone: float) -> None:
        for m, channels in ((49, 1), (36, 1), (64, 1), (75, 3), (108, 3)):
            with pytest.raises(ValueError, match="every atom is constant"):
                SharedAtoms(atoms=np.full((3, m), tone), bound=1.0).shrinkage(m, channels)

    def test_small_atoms_are_atoms(self, rng: np.random.Generator) -> None:
        """Contrast is judged by the atom's own size: its neighbours may be larger."""
        atoms = rng.standard_normal((4, 16)) * np.array([[1e-9], [1.0], [1e9], [1e-20]])
        assert len(SharedAtoms(atoms=atoms, bound=1.0).shrinkage(16, 1).atoms) == 4

    def test_atoms_of_another_length(self, rng: np.random.Generator) -> None:
        for shape in ((20, 15), (20, 17), (16,), (2, 8, 16)):
            with pytest.raises(ValueError, match=r"atoms need 16 pixels, as the patches, got shape"):
                SharedAtoms(atoms=rng.standard_normal(shape), bound=1.0).shrinkage(16, 1)

    @pytest.mark.parametrize(
        ("wrong", "error", "text"),
        [
            ({"bound": -1.0}, ValueError, r"bound must be a finite number >= 0, got -1\.0"),
            ({"bound": np.nan}, ValueError, "bound must be a finite number >= 0, got nan"),
            ({"strength": -1.0}, ValueError, r"strength must be a finite number >= 0, got -1\.0"),
            ({"strength": np.inf}, ValueError, "strength must be a finite number >= 0, got inf"),
            ({"selection_size": 0}, ValueError, "selection_size must be at least 1, got 0"),
            ({"selection_size": 2.0}, TypeError, "selection_size must be a whole number"),
            ({"most_atoms": 0}, ValueError, "most_atoms must be at least 1, got 0"),
            ({"most_atoms": True}, TypeError, "most_atoms must be a whole number, got True"),
        ],
        ids=str,
    )
    def test_wrong_settings_are_named(self, wrong: dict[str, Any], error: type[Exception], text: str) -> None:
        with pytest.raises(error, match=text):
            SharedAtoms(**{"atoms": np.eye(4), "bound": 1.0} | wrong)

    def test_wrong_strength(self) -> None:
        for strength in (-1.0, np.nan, np.inf):
            with pytest.raises(ValueError, match="strength must be a finite number >= 0"):
                LowRank(strength=strength)


@pytest.mark.skipif(not NATIVE, reason="tests the native bindings")
class TestWrongCalls:
    """The bindings check what Python should have checked: a wrong call is an error, never a wrong read or write."""

    def call(self, **changed: Any) -> None:
        given: dict[str, Any] = {
            "isa": 0,
            "noisy": np.ones(20, np.float32),
            "guide": np.ones(20, np.float32),
            "offsets": np.arange(4),
            "sum_offsets": np.arange(4),
            "shift": 0,
            "places": np.array([[0, 16, 3], [5, 7, 99]], np.int32),
            "counts": np.array([3, 2], np.int32),
            "levels": np.ones(2, np.float32),
            "base": np.eye(4, dtype=np.float32)[:1],
            "atoms": np.eye(4, dtype=np.float32)[1:],
            "n_voters": 2,
            "most_atoms": 2,
            "bound": 1.0,
            "strength": 1.0,
            "edge": 0.0,
            "by_rank": False,
            "gram": np.zeros((0, 0), np.float32),
            "stop": np.zeros(1, np.uint8),
            "total": np.zeros(20, np.float32),
            "weight": np.zeros(20, np.float32),
        }
        _native.shrink_groups(**given | changed)

    def test_right_call(self) -> None:
        self.call()
        self.call(shift=-5, total=np.zeros(25, np.float32), weight=np.zeros(25, np.float32))

    @pytest.mark.parametrize(
        "changed",
        [
            {"places": np.array([[0, 17, 3], [5, 7, 0]], np.int32)},
            {"places": np.array([[0, -1, 3], [5, 7, 0]], np.int32)},
            {"counts": np.array([3, 3], np.int32)},
            {"offsets": np.array([0, 1, 2, 4])},
            {"offsets": np.array([-1, 1, 2, 3])},
            {"sum_offsets": np.array([0, 1, 2, 4])},
            {"sum_offsets": np.array([-1, 1, 2, 3])},
            {"shift": 1},
            {"shift": -1},
            {"shift": 2**63 - 1},
            {"shift": -(2**63)},
            {"offsets": np.array([0, 1, 2, -(2**63)])},
            {"total": np.zeros(19, np.float32), "weight": np.zeros(19, np.float32)},
            {"noisy": np.ones(19, np.float32), "guide": np.ones(19, np.float32)},
        ],
        ids=str,
    )
    def test_places_that_leave_the_image(self, changed: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="leaves the image"):
            self.call(**changed)

    @pytest.mark.parametrize("counts", [[0, 2], [3, 0], [3, -1], [4, 2], [-(2**31), 2]])
    def test_counts(self, counts: list[int]) -> None:
        with pytest.raises(ValueError, match="no members, or more than places"):
            self.call(counts=np.array(counts, np.int32))

    @pytest.mark.parametrize(
        ("changed", "text"),
        [
            ({"guide": np.ones(21, np.float32)}, "images differ in size"),
            ({"weight": np.zeros(21, np.float32)}, "images differ in size"),
            ({"sum_offsets": np.arange(3)}, "differ in length"),
            ({"offsets": np.arange(3)}, "differ in length"),
            ({"offsets": np.arange(0), "sum_offsets": np.arange(0)}, "differ in length"),
            ({"base": np.zeros((1, 5), np.float32)}, "differ in length"),
            ({"atoms": np.zeros((1, 3), np.float32)}, "differ in length"),
            ({"counts": np.array([3], np.int32)}, "differ in number"),
            ({"levels": np.ones(3, np.float32)}, "differ in number"),
            ({"stop": np.zeros(0, np.uint8)}, "stop flag"),
            ({"n_voters": 0}, "basis is empty"),
            ({"most_atoms": 4}, "larger than the patch"),
            ({"most_atoms": 2**64 - 1}, "larger than the patch"),
            ({"base": np.zeros((0, 4), np.float32), "most_atoms": 0}, "basis is empty"),
            ({"isa": 99}, "no such instruction set"),
        ],
        ids=str,
    )
    def test_sizes(self, changed: dict[str, Any], text: str) -> None:
        with pytest.raises(ValueError, match=text):
            self.call(**changed)

    def test_types_and_layouts(self) -> None:
        locked = np.zeros(20, np.float32)
        locked.flags.writeable = False
        for changed in (
            {"noisy": np.ones(20)},
            {"guide": np.ones(40, np.float32)[::2]},
            {"places": np.zeros((2, 3), np.int64)},
            {"counts": np.array([3, 2])},
            {"levels": np.ones(2)},
            {"total": np.zeros(20)},
            {"total": locked},
            {"n_voters": -1},
        ):
            with pytest.raises(TypeError):
                self.call(**changed)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "changed",
        [
            "offsets=np.array([0, 1, 2, 2**63 - 1])",
            "sum_offsets=np.array([0, 1, 2, 2**63 - 1])",
            "base=f(100_000, 4), atoms=f(0, 4)",
            "base=f(0, 4)",
        ],
    )
    def test_calls_that_could_end_the_process(self, changed: str) -> None:
        """Sums beyond whole numbers, a base with more rows than a patch has pixels, and one with none."""
        code = f"""
import numpy as np
from epitomes.kernels import _native
f = lambda *shape: np.zeros(shape, np.float32)
given = dict(
    isa=0, noisy=f(20), guide=f(20), offsets=np.arange(4), sum_offsets=np.arange(4), shift=0,
    places=np.array([[0, 5]], np.int32), counts=np.full(1, 2, np.int32), levels=f(1), base=f(1, 4), atoms=f(3, 4),
    n_voters=2, most_atoms=2, bound=1.0, strength=1.0, edge=0.0, by_rank=False, gram=f(0, 0),
    stop=np.zeros(1, np.uint8),
)
for _ in range(100):
    total, weight = f(20), f(20)
    try:
        _native.shrink_groups(**given | dict({changed}), total=total, weight=weight)
    except ValueError as error:
        assert any(text in str(error) for text in ("leaves the image", "basis", "larger than the patch"))
    else:
        assert {"base" in changed} and not total.any() and sorted(set(weight.tolist())) == [0, 1]
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
