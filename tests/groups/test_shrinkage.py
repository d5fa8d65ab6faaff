"""Groups shrunk together: the specification's estimates, the rule in its docstring, and its limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from group_cases import NATIVE, Doubles, agree, estimates, many_groups, one_group, orthonormal, shrunk
from hypothesis import given, settings
from hypothesis import strategies as st

from epitomes import kernels
from epitomes.groups import LowRank, SharedAtoms
from epitomes.kernels import Shrinkage, _native
from epitomes.kernels.protocol import NO_GRAM


@pytest.mark.parametrize("isa", NATIVE)
class TestSpecification:
    @pytest.mark.parametrize("n_matches", [1, 2, 7, 16, 33, 70])
    @pytest.mark.parametrize("m", [1, 2, 9, 16, 25, 36, 64])
    def test_low_rank(self, m: int, n_matches: int, isa: str, rng: np.random.Generator) -> None:
        """More pixels than members, fewer, and as many."""
        groups = many_groups(m, n_matches, rng)
        for strength in (0.3, 2.83):
            shrinkage = LowRank(strength=strength).shrinkage(m, 1)
            agree(shrunk(isa, groups, shrinkage), shrunk("reference", groups, shrinkage))

    @pytest.mark.parametrize("by_rank", [False, True])
    @pytest.mark.parametrize("n_matches", [1, 5, 16, 40])
    @pytest.mark.parametrize(("m", "channels"), [(2, 1), (9, 1), (16, 2), (25, 1), (27, 3), (64, 1), (75, 3)])
    def test_atoms(
        self, m: int, channels: int, n_matches: int, by_rank: bool, isa: str, rng: np.random.Generator
    ) -> None:
        atoms = rng.standard_normal((3 * m, m))
        for bound, n_selecting, most in ((1.0, 16, 20), (0.1, 3, 5), (0.02, 50, m)):
            groups = many_groups(m, n_matches, rng)
            shrinker = SharedAtoms(
                atoms=atoms, bound=bound, selection_size=n_selecting, most_atoms=most, by_rank=by_rank
            )
            shrinkage = shrinker.shrinkage(m, channels)
            agree(shrunk(isa, groups, shrinkage), shrunk("reference", groups, shrinkage))

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(
        m=st.integers(2, 40),
        n_matches=st.integers(1, 45),
        n_atoms=st.integers(0, 50),
        n_base=st.integers(1, 3),
        most=st.integers(1, 12),
        strength=st.floats(0.05, 5.0),
        edge=st.sampled_from([0.0, 0.8]),
        bound=st.floats(0.05, 2.0),
        by_rank=st.booleans(),
        seed=st.integers(0, 10_000),
    )
    def test_any_sizes(
        self,
        isa: str,
        m: int,
        n_matches: int,
        n_atoms: int,
        n_base: int,
        most: int,
        strength: float,
        edge: float,
        bound: float,
        by_rank: bool,
        seed: int,
    ) -> None:
        rng = np.random.default_rng(seed)
        turn, _ = np.linalg.qr(rng.standard_normal((m, m)))
        base = turn[: min(n_base, m - 1)].astype(np.float32)
        atoms = rng.standard_normal((n_atoms, m))
        atoms -= atoms @ base.T @ base
        atoms = (atoms / np.sqrt((atoms**2).sum(axis=1, keepdims=True))).astype(np.float32)
        shrinkage = Shrinkage(base, atoms, 6, min(most, m - len(base)), bound * m, strength, edge, by_rank)
        groups = many_groups(m, n_matches, rng, n=5)
        total, weight = shrunk(isa, groups, shrinkage)
        total_0, weight_0 = shrunk("reference", groups, shrinkage)
        wrong = np.abs(total - total_0) > 1e-4 * np.abs(total_0).max()
        assert not (wrong | (np.abs(weight - weight_0) > 1e-4)).any()

    def test_atoms_that_are_each_other(self, isa: str, rng: np.random.Generator) -> None:
        """Copies, opposites and sums of others add nothing: as many directions, and the same span."""
        few = rng.standard_normal((6, 25))
        copies = np.concatenate([few, few, -few, few[:3] + few[3:], np.ones((2, 25)), few])
        members = rng.standard_normal((20, 6)) @ few + 40
        settings: dict[str, Any] = {"bound": 0.0, "most_atoms": 20, "strength": 0.0}
        for atoms in (few, copies, few[rng.permutation(6)]):
            got = estimates(isa, members, SharedAtoms(atoms=atoms, **settings), 1.0)
            np.testing.assert_allclose(got, members, rtol=0, atol=1e-3)
        noise = 3 * rng.standard_normal(members.shape)
        groups = one_group(members + noise, 3.0)
        shrinkage = SharedAtoms(atoms=copies, bound=1.0).shrinkage(25, 1)
        agree(shrunk(isa, groups, shrinkage), shrunk("reference", groups, shrinkage))

    @pytest.mark.parametrize("n_atoms", [1, 31, 32, 33, 100])
    def test_products_of_the_atoms(self, isa: str, n_atoms: int, rng: np.random.Generator) -> None:
        """Given or made by the kernel itself, they give the same bits."""
        atoms = rng.standard_normal((n_atoms, 25)).astype(np.float32)
        gram = np.full((n_atoms, -(-n_atoms // 32) * 32), np.nan, np.float32)
        _native.atom_products(kernels.isas.index(isa), atoms, gram)
        expected = np.einsum("im,jm->ij", atoms.astype(float), atoms.astype(float))
        np.testing.assert_allclose(gram[:, :n_atoms], expected, rtol=0, atol=1e-4)

        given = SharedAtoms(atoms=atoms, bound=0.02).shrinkage(25, 1)
        own = np.zeros((n_atoms, gram.shape[1]), np.float32)
        _native.atom_products(kernels.isas.index(isa), given.atoms, own)
        groups = many_groups(25, 20, rng)
        sums = [shrunk(isa, groups, given._replace(gram=each)) for each in (own, NO_GRAM)]
        for one, other in zip(*sums, strict=True):
            np.testing.assert_array_equal(one, other)

    def test_products_of_other_atoms_are_refused(self, isa: str, rng: np.random.Generator) -> None:
        shrinkage = SharedAtoms(atoms=rng.standard_normal((40, 25)), bound=1.0).shrinkage(25, 1)
        groups = many_groups(25, 20, rng)
        for gram in (np.zeros((39, 64), np.float32), np.zeros((40, 32), np.float32), np.zeros((40, 40), np.float32)):
            with pytest.raises(ValueError, match="atoms and their products do not agree"):
                shrunk(isa, groups, shrinkage._replace(gram=gram))

    def test_the_wrapper(self, isa: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
        groups = many_groups(12, 8, rng)
        for array in groups:
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        shrinkage = SharedAtoms(atoms=rng.standard_normal((20, 12)), bound=1.0).shrinkage(12, 1)
        answers = []
        for name in (isa, "reference"):
            monkeypatch.setattr(kernels, "isa", name)
            total, weight = np.zeros(400, np.float32), np.zeros(400, np.float32)
            kernels.shrink_groups(groups, shrinkage, total, weight, np.zeros(1, np.uint8))
            answers.append((total, weight))
        agree(*answers)


@pytest.mark.parametrize("isa", NATIVE)
class TestRule:
    """`x = (y + sqrt(y^2 - 4 C)) / 2`, or 0 if `y^2 < 4 C`, in other ways.

    `4 C = (8 strength sqrt(n) + edge (sqrt(m) + sqrt(n))^2) level^2`.
    """

    @pytest.mark.parametrize(("n", "m"), [(30, 12), (9, 40), (16, 16)])
    @pytest.mark.parametrize(("strength", "edge"), [(2.0, 0.0), (0.0, 1.0), (0.5, 0.7)])
    def test_a_single_singular_value(
        self, n: int, m: int, strength: float, edge: float, isa: str, rng: np.random.Generator
    ) -> None:
        """x solves `x^2 - x y + C = 0`, and is the larger solution."""
        left, right = orthonormal(1, n, rng)[0], orthonormal(1, m, rng)[0]
        level = 1.5
        C = 2 * strength * np.sqrt(n) * level**2 + edge * (np.sqrt(m) + np.sqrt(n)) ** 2 * level**2 / 4
        for y in 2 * np.sqrt(C) * np.array([0.5, 0.99, 1.01, 1.5, 4.0, 30.0]):
            got = estimates(isa, 7 + y * np.outer(left, right), LowRank(strength=strength, edge=edge), level)
            x = left @ (got - 7) @ right
            np.testing.assert_allclose(got - 7, x * np.outer(left, right), rtol=0, atol=1e-6 * (7 + y))
            if y**2 < 4 * C:
                assert abs(x) < 1e-5 * y
            else:
                assert abs(x**2 - x * y + C) < 1e-5 * y**2
                assert x > y / 2

    @pytest.mark.parametrize(("n", "m"), [(40, 20), (15, 30)])
    def test_iterated_weights_come_to_rest_there(self, n: int, m: int, isa: str, rng: np.random.Generator) -> None:
        """Soft thresholds by weights `C / x`, again and again from `x = y`."""
        members = 50 + 12 * rng.standard_normal((n, 4)) @ rng.standard_normal((4, m)) + 3 * rng.standard_normal((n, m))
        level, strength = 1.2, 1.0
        C = 2 * strength * np.sqrt(n) * level**2
        mean = members.mean(axis=0)
        left, y, right = np.linalg.svd(members - mean, full_matrices=False)
        x = y.copy()
        for _ in range(3000):
            x = np.where(x > 1e-9, np.maximum(y - C / np.maximum(x, 1e-9), 0), 0)
        assert 3 < np.count_nonzero(x) < len(x)
        got = estimates(isa, members, LowRank(strength=strength), level)
        np.testing.assert_allclose(got, mean + (left * x) @ right, rtol=0, atol=5e-3)

    def test_no_other_group_has_a_lower_weighted_nuclear_norm(self, isa: str, rng: np.random.Generator) -> None:
        """`|Y - X|^2 / 2 + sum of w s(X)`, with `w = C / x` at the answer, and w above y where nothing is left."""
        n, m, level = 20, 12, 1.0
        Y = 5 * rng.standard_normal((n, 3)) @ rng.standard_normal((3, m)) + 0.7 * rng.standard_normal((n, m))
        Y -= Y.mean(axis=0)
        X = estimates(isa, Y, LowRank(strength=1.0), level)
        C = 2 * np.sqrt(n) * level**2
        x, y = (np.linalg.svd(group, compute_uv=False) for group in (X, Y))
        kept = int((x > 1e-3).sum())
        assert kept == 3
        weights = np.append(C / x[:kept], y[kept:].max() + 0 * y[kept:])
        assert (np.diff(weights) >= 0).all()  # so the problem has one minimum

        def cost(group: Doubles) -> float:
            return float(((Y - group) ** 2).sum() / 2 + weights @ np.linalg.svd(group, compute_uv=False))

        least = cost(X)
        assert cost(Y) > least and cost(0 * Y) > least
        for size in (0.01, 0.1, 1.0):
            for _ in range(30):
                assert cost(X + size * rng.standard_normal((n, m))) > least
                assert cost(X * (1 + size * rng.choice([-1, 1]))) > least

    def test_strength_grows_with_the_root_of_members(self, isa: str, rng: np.random.Generator) -> None:
        """Members twice over have squares of singular values larger by 2, but a C larger by sqrt(2): they keep more."""
        members = 10 * rng.standard_normal((12, 2)) @ rng.standard_normal((2, 9)) + rng.standard_normal((12, 9))
        once = estimates(isa, members, LowRank(), 1.0)
        twice = estimates(isa, np.tile(members, (2, 1)), LowRank(strength=2.83 * np.sqrt(2)), 1.0)
        np.testing.assert_allclose(twice[:12], once, rtol=0, atol=1e-4)
        np.testing.assert_allclose(twice[12:], once, rtol=0, atol=1e-4)


@pytest.mark.parametrize("isa", NATIVE)
class TestLimits:
    @pytest.mark.parametrize(("n", "m"), [(1, 8), (5, 30), (30, 5), (17, 17), (64, 64)])
    def test_nothing_to_shrink(self, n: int, m: int, isa: str, rng: np.random.Generator) -> None:
        """Level zero, or strength zero: every member comes back."""
        members = 100 + 30 * rng.standard_normal((n, m))
        for shrinker, level in ((LowRank(), 0.0), (LowRank(strength=0.0), 9.0)):
            np.testing.assert_allclose(estimates(isa, members, shrinker, level), members, rtol=0, atol=1e-3)

    @pytest.mark.parametrize("level", [1e4, 1e15, 1e19, 3e38])
    def test_nothing_but_noise(self, level: float, isa: str, rng: np.random.Generator) -> None:
        """A huge level: the mean patch is left, and with atoms the mean of the means."""
        members = 100 + 30 * rng.standard_normal((20, 12))
        got = estimates(isa, members, LowRank(), level)
        np.testing.assert_allclose(got, np.tile(members.mean(axis=0), (20, 1)), rtol=1e-5)
        atoms = rng.standard_normal((40, 12))
        got = estimates(isa, members, SharedAtoms(atoms=atoms, bound=1.0), level)
        np.testing.assert_allclose(got, members.mean(), rtol=1e-5)

    @pytest.mark.parametrize("shrinker", ["low rank", "atoms"])
    def test_equal_members(self, shrinker: str, isa: str, rng: np.random.Generator) -> None:
        """One member, or copies of it: nothing differs from the mean."""
        row = rng.integers(0, 256, 16).astype(np.float64)
        by = LowRank() if shrinker == "low rank" else SharedAtoms(atoms=np.eye(16), bound=0.0, most_atoms=15)
        for n in (1, 2, 8, 13, 64):
            for level in (0.0, 0.5, 40.0):
                got = estimates(isa, np.tile(row, (n, 1)), by, level)
                np.testing.assert_allclose(
                    got, np.tile(row, (n, 1)), rtol=0, atol=0 if shrinker == "low rank" else 1e-3
                )

    @pytest.mark.parametrize("tone", [0.0, 1.0, 0.1, 1 / 3, 1e-3, 1e-9, 12345.678, 1e12])
    def test_constant_groups(self, tone: float, isa: str, rng: np.random.Generator) -> None:
        """What is left of equal pixels is rounding, and rounding must not grow."""
        atoms = rng.standard_normal((60, 25))
        for n in (3, 20, 30, 61):
            for by in (LowRank(), LowRank(strength=0.0), SharedAtoms(atoms=atoms, bound=0.0)):
                for level in (0.0, 0.1 * tone):
                    got = estimates(isa, np.full((n, 25), tone), by, level)
                    np.testing.assert_allclose(got, tone, rtol=3e-6)

    @pytest.mark.parametrize("rank", [1, 2])
    def test_groups_of_few_directions(self, rank: int, isa: str) -> None:
        """Flat members of different tones, and steps: products of low rank, exact ones among them."""
        step = (np.arange(12) >= 6).astype(np.float64)
        for n in (3, 9, 12, 20, 33, 64):
            tones = np.arange(n, dtype=np.float64)[:, None]
            members = tones * np.ones(12) + (rank == 2) * (tones % 3) * step
            for size in (1.0, 1e-3, 1e-2, 100.0):
                for level in (0.0, 1e-3):
                    got = estimates(isa, size * members, LowRank(), size * level)
                    np.testing.assert_allclose(got, size * members, rtol=0, atol=2e-4 * size * n)

    def test_grey_levels_may_be_shifted(self, isa: str, rng: np.random.Generator) -> None:
        members = 20 * rng.standard_normal((20, 2)) @ rng.standard_normal((2, 16)) + 5 * rng.standard_normal((20, 16))
        atoms = rng.standard_normal((50, 16))
        for by in (LowRank(), SharedAtoms(atoms=atoms, bound=1.0)):
            low, high = (estimates(isa, members + tone, by, 5.0) - tone for tone in (0.0, 1000.0))
            np.testing.assert_allclose(low, high, rtol=0, atol=2e-3)

    def test_order_of_members_does_not_matter_to_low_rank(self, isa: str, rng: np.random.Generator) -> None:
        members = 20 * rng.standard_normal((20, 2)) @ rng.standard_normal((2, 16)) + 5 * rng.standard_normal((20, 16))
        order = rng.permutation(20)
        np.testing.assert_allclose(
            estimates(isa, members, LowRank(), 4.0)[order],
            estimates(isa, members[order], LowRank(), 4.0),
            rtol=0,
            atol=1e-3,
        )


@pytest.mark.parametrize("isa", NATIVE)
class TestScale:
    """Units are free: values may be as small as 1e-20 and as large as 1e15."""

    def members(self, rng: np.random.Generator) -> Doubles:
        return (
            100 + 20 * rng.standard_normal((24, 3)) @ rng.standard_normal((3, 16)) + 5 * rng.standard_normal((24, 16))
        )

    @pytest.mark.parametrize("power", [-36, -30, -20, -10, 10, 20, 30, 36])
    def test_estimates_scale_with_the_image(self, power: int, isa: str, rng: np.random.Generator) -> None:
        members, atoms, scale = self.members(rng), rng.standard_normal((50, 16)), 2.0**power
        for by in (LowRank(), SharedAtoms(atoms=atoms, bound=1.0), SharedAtoms(atoms=atoms, bound=0.5, by_rank=True)):
            for some in (members, members[:9]):
                expected = estimates(isa, some, by, 5.0)
                got = estimates(isa, some * scale, by, 5.0 * scale) / scale
                np.testing.assert_allclose(got, expected, rtol=0, atol=5e-3)

    @pytest.mark.parametrize("size", [1e-20, 1e-15, 1e-10, 1e-6, 1e-3, 1e6, 1e10, 1e13])
    def test_always_finite(self, size: float, isa: str, rng: np.random.Generator) -> None:
        """And never far outside of what came in, at any level."""
        members, atoms = self.members(rng) * size, rng.standard_normal((50, 16))
        reach = np.abs(members).max()
        for by in (LowRank(), SharedAtoms(atoms=atoms, bound=1.0), SharedAtoms(atoms=atoms, bound=0.0)):
            for level in (0.0, 1e-3 * size, 5 * size, 1e3 * size):
                for some in (members, members[:9], members[:1], members - members[0], np.zeros_like(members)):
                    got = estimates(isa, some, by, level)
                    assert np.isfinite(got).all()
                    assert np.abs(got).max() <= 4 * reach

    def test_a_wide_range_in_one_group(self, isa: str) -> None:
        members = np.zeros((12, 16))
        members[0], members[1, 3], members[2, ::2] = 1e15, 1e-20, 1.0
        for by in (LowRank(), SharedAtoms(atoms=np.eye(16), bound=1.0)):
            for level in (0.0, 1e-20, 1.0, 1e15):
                assert np.isfinite(estimates(isa, members, by, level)).all()


@pytest.mark.parametrize("isa", NATIVE)
class TestAtoms:
    @pytest.mark.parametrize("k", [1, 2, 5])
    def test_what_atoms_explain_comes_back(self, k: int, isa: str, rng: np.random.Generator) -> None:
        """A group without noise in the span of k atoms, and means of its own, with strength 0."""
        atoms = orthonormal(24, 36, rng)
        used = rng.choice(24, k, replace=False)
        members = 80 + 5 * rng.standard_normal((15, 1)) + 30 * rng.standard_normal((15, k)) @ atoms[used]
        by = SharedAtoms(atoms=9 * atoms + 4, bound=0.0, most_atoms=k, strength=0.0)
        np.testing.assert_allclose(estimates(isa, members, by, 10.0), members, rtol=0, atol=1e-3)

    def test_strength_zero_is_a_projection(self, isa: str, rng: np.random.Generator) -> None:
        """Onto the mean and few atoms: again it changes nothing, and the rest is orthogonal to it."""
        members = 100 + 20 * rng.standard_normal((18, 25))
        by = SharedAtoms(atoms=rng.standard_normal((60, 25)), bound=0.05, most_atoms=7, strength=0.0)
        got = estimates(isa, members, by, 25.0)
        np.testing.assert_allclose(got.mean(axis=1), members.mean(axis=1), rtol=1e-5)
        np.testing.assert_allclose(((members - got) @ got.T) / 25, 0, atol=0.05)
        spread = np.linalg.svd(got - got.mean(axis=1, keepdims=True), compute_uv=False)
        assert np.count_nonzero(spread > 1e-3) <= 7
        again = estimates(isa, got, by, 25.0, guide=members)
        np.testing.assert_allclose(again, got, rtol=0, atol=1e-3)

    @pytest.mark.parametrize("bound", [0.002, 0.02, 0.04, 0.08])
    def test_voters_are_explained_up_to_the_bound(self, bound: float, isa: str, rng: np.random.Generator) -> None:
        """No more atoms are taken than that needs: with the last one left out, the bound is missed."""
        level, members = 30.0, 100 + 20 * rng.standard_normal((16, 25))
        atoms = orthonormal(24, 25, rng)

        def error(most: int) -> float:
            by = SharedAtoms(atoms=atoms, bound=bound, most_atoms=most, strength=0.0)
            return float(((members - estimates(isa, members, by, level)) ** 2).mean())

        errors = [error(most) for most in range(1, 25)]
        goal = bound * level**2
        needed = next(most for most, left in enumerate(errors, start=1) if left <= goal * (1 + 1e-5))
        assert all(left > goal for left in errors[: needed - 1])
        np.testing.assert_allclose(errors[needed:], errors[needed - 1], rtol=1e-5)  # more are allowed, and not taken

    def test_atoms_with_the_most_energy_come_first(self, isa: str, rng: np.random.Generator) -> None:
        atoms = orthonormal(8, 16, rng)
        sizes = np.array([3.0, 20, 1, 9, 40, 2, 5, 14])
        members = 50 + (sizes * rng.standard_normal((12, 8))) @ atoms
        energy = ((members @ atoms.T) ** 2).sum(axis=0)
        for most in range(1, 8):
            by = SharedAtoms(atoms=atoms, bound=0.0, most_atoms=most, strength=0.0)
            chosen = atoms[np.argsort(-energy)[:most]]
            expected = members.mean(axis=1, keepdims=True) + members @ chosen.T @ chosen
            np.testing.assert_allclose(estimates(isa, members, by, 60.0), expected, rtol=0, atol=1e-3)

    def test_a_group_that_is_none_of_the_dictionarys_keeps_its_own_directions(
        self, isa: str, rng: np.random.Generator
    ) -> None:
        """Atoms that leave more error than noise has would take the image away: the group is shrunk without them."""
        atoms = orthonormal(8, 36, rng)
        members = 100 + 40 * rng.standard_normal((20, 2)) @ orthonormal(2, 36, rng) + rng.standard_normal((20, 36))
        by = SharedAtoms(atoms=atoms, bound=0.0, most_atoms=3, strength=1.5)
        got = estimates(isa, members, by, 1.0)
        np.testing.assert_array_equal(got, estimates(isa, members, LowRank(strength=1.5), 1.0))
        assert ((got - members) ** 2).mean() < 1.5 < ((estimates(isa, members, by, 60.0) - members) ** 2).mean()

    def test_only_voters_choose_and_only_by_the_guide(self, isa: str, rng: np.random.Generator) -> None:
        members, guide = 100 + 20 * rng.standard_normal((2, 18, 25))
        shrinkage = SharedAtoms(atoms=rng.standard_normal((60, 25)), bound=0.5, selection_size=5).shrinkage(25, 1)
        first = shrunk(isa, one_group(members, 9.0, guide), shrinkage)[0]
        other = guide.copy()
        other[5:] = rng.standard_normal((13, 25))
        np.testing.assert_array_equal(first, shrunk(isa, one_group(members, 9.0, other), shrinkage)[0])
        other[4] += 90 * rng.standard_normal(25)
        assert not np.array_equal(first, shrunk(isa, one_group(members, 9.0, other), shrinkage)[0])
        flat = estimates(isa, members, SharedAtoms(atoms=np.eye(25), bound=0.5), 9.0, guide=0 * guide)
        np.testing.assert_allclose(flat, flat[:, :1].repeat(25, axis=1), rtol=1e-5)  # a flat guide needs no atom

    def test_means_of_channels_are_kept(self, isa: str, rng: np.random.Generator) -> None:
        """Three channels far apart, with members' offsets of their own: their means need no atom."""
        offsets = np.repeat(np.array([10.0, 500.0, -300.0]) + 40 * rng.standard_normal((14, 3)), 9, axis=1)
        members = offsets + 8 * rng.standard_normal((14, 27))
        by = SharedAtoms(atoms=rng.standard_normal((40, 27)), bound=1.0, most_atoms=3, strength=0.0)
        got = estimates(isa, members, by, 8.0, channels=3)
        means = got.reshape(14, 3, 9).mean(axis=2)
        np.testing.assert_allclose(means, members.reshape(14, 3, 9).mean(axis=2), rtol=0, atol=1e-3)
        nothing = SharedAtoms(atoms=rng.standard_normal((40, 27)), bound=1e6, strength=0.0)
        np.testing.assert_allclose(
            estimates(isa, members, nothing, 8.0, channels=3), np.repeat(means, 9, axis=1), rtol=0, atol=1e-3
        )

    def test_a_whole_basis_leaves_low_rank(self, isa: str, rng: np.random.Generator) -> None:
        """With all directions allowed and nothing to stop at, atoms only turn the group: singular values stay."""
        members = 20 * rng.standard_normal((20, 2)) @ rng.standard_normal((2, 16)) + 5 * rng.standard_normal((20, 16))
        by = SharedAtoms(atoms=np.eye(16), bound=0.0, most_atoms=16, strength=1.7)
        alone = estimates(isa, members, LowRank(strength=1.7), 5.0)
        np.testing.assert_allclose(estimates(isa, members, by, 5.0), alone, rtol=0, atol=2e-3)
