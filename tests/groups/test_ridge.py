"""Members as linear combinations of each other: the specification's estimates, and the formula in other ways."""

from __future__ import annotations

import numpy as np
import pytest
from group_cases import NATIVE, agree, estimates, many_groups, one_group, shrunk

from epitomes.groups import Ridge

SHRINKERS = [Ridge(), Ridge(affine=True), Ridge(in_guide=1.0, extra=0.05), Ridge(in_guide=0.5, extra=0.2, affine=True)]


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.parametrize("shrinker", SHRINKERS, ids=repr)
class TestSpecification:
    @pytest.mark.parametrize("n_matches", [1, 2, 7, 33])
    @pytest.mark.parametrize("m", [1, 9, 49])
    def test_any_size(self, m: int, n_matches: int, shrinker: Ridge, isa: str, rng: np.random.Generator) -> None:
        groups = many_groups(m, n_matches, rng)
        groups = groups._replace(noisy=groups.noisy - 100, guide=groups.guide - 100)
        settings = shrinker.shrinkage(m, 1)
        agree(*(shrunk(by, groups, settings) for by in (isa, "reference")), 1e-4)


@pytest.mark.parametrize("isa", NATIVE)
class TestFormula:
    def test_no_other_combination_has_less_error(self, isa: str, rng: np.random.Generator) -> None:
        """With clean patches X as guide, `T Y` errs by `|X - T X|^2 + m level^2 |T|^2` on average."""
        n, m, level = 6, 30, 2.0
        clean = rng.standard_normal((n, 2)) @ rng.standard_normal((2, m)) * 3
        noisy = clean + level * rng.standard_normal((n, m))
        got = estimates(isa, noisy, Ridge(), level, guide=clean)
        T = np.linalg.lstsq(noisy.T, got.T, rcond=None)[0].T

        def error(T: np.ndarray) -> float:
            return float(((clean - T @ clean) ** 2).sum() + m * level**2 * (T**2).sum())

        least = error(T)
        for size in (0.02, 0.1, 1.0):
            for _ in range(30):
                assert error(T + size * rng.standard_normal((n, n))) > least

    def test_weights_are_inverse_variances(self, isa: str, rng: np.random.Generator) -> None:
        n, m, level = 12, 40, 1.0
        clean = np.tile(rng.standard_normal(m) * 4, (n, 1))
        noisy = clean + level * rng.standard_normal((n, m))
        total, weight = shrunk(isa, one_group(noisy, level, clean), Ridge().shrinkage(m, 1))
        T = np.linalg.lstsq(noisy.T, (total / weight).reshape(n, m).T.astype(np.float64), rcond=None)[0].T
        expected = 1 / np.clip((T**2).sum(axis=1), 1 / n, 1)
        np.testing.assert_allclose(weight.reshape(n, m), np.repeat(expected[:, None], m, axis=1), rtol=1e-3)

    def test_affine_combinations_keep_an_offset(self, isa: str, rng: np.random.Generator) -> None:
        noisy, guide = rng.standard_normal((2, 10, 36))
        one, other = (
            estimates(isa, noisy + offset, Ridge(affine=True), 1.0, guide=guide) - offset for offset in (0.0, 1000.0)
        )
        np.testing.assert_allclose(one, other, atol=2e-3)

    def test_no_noise(self, isa: str, rng: np.random.Generator) -> None:
        members = 10 * rng.standard_normal((5, 30))
        np.testing.assert_allclose(estimates(isa, members, Ridge(), 0.0), members, rtol=1e-5)


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="at most 1"):
        Ridge(in_guide=1.5)
    with pytest.raises(ValueError, match="extra must be above 0"):
        Ridge(in_guide=1.0)
