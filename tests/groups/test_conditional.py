"""Groups with unknown pixels: the specification's estimates, the formula in another way, and its limits."""

from __future__ import annotations

import numpy as np
import pytest
from group_cases import NATIVE, Doubles, agree, many_groups, one_group, shrunk

from epitomes.groups import Matching, estimate
from epitomes.groups.conditional import Conditional
from epitomes.kernels import ConditionalMean, Groups, _native


def hidden(groups: Groups, share: float, rng: np.random.Generator, most: int = 99) -> ConditionalMean:
    """Variances of which a share is infinite."""
    variances = rng.uniform(0.5, 30, len(groups.noisy))
    variances[rng.random(len(variances)) < share] = np.inf
    return ConditionalMean(variances.astype(np.float32), most)


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.parametrize("n_matches", [1, 7, 33, 80])
@pytest.mark.parametrize("m", [1, 2, 9, 16, 25, 48, 75])
def test_specification(m: int, n_matches: int, isa: str, rng: np.random.Generator) -> None:
    groups = many_groups(m, n_matches, rng)
    for share in (0.0, 0.1, 0.5, 0.95, 1.0):
        settings = hidden(groups, share, rng, most=99 if share < 0.5 else 5)
        agree(shrunk(isa, groups, settings), shrunk("reference", groups, settings))


@pytest.mark.parametrize("isa", NATIVE)
class TestFormula:
    def completed(self, isa: str, members: Doubles, guide: Doubles, variances: Doubles, level: float) -> Doubles:
        settings = ConditionalMean(variances.astype(np.float32).ravel(), 99)
        total, weight = shrunk(isa, one_group(members, level, guide), settings)
        np.testing.assert_array_equal(weight, 1)
        return total.reshape(members.shape).astype(np.float64)

    def test_most_likely_patch(self, isa: str, rng: np.random.Generator) -> None:
        """The conditional mean has the least `(x - mu) C^-1 (x - mu)' + sum (y - x)^2 / v` over known pixels."""
        n, m, level = 30, 12, 3.0
        members, guide = 50 + 6 * rng.standard_normal((2, n, m)) @ rng.standard_normal((m, m))
        variances = np.where(rng.random((n, m)) < 0.5, np.inf, 4.0)
        got = self.completed(isa, members, guide, variances, level)
        guide = guide.astype(np.float32).astype(np.float64)
        mean = guide.mean(axis=0)
        inverse = np.linalg.inv(np.cov(guide, rowvar=False, bias=True) + level**2 * np.eye(m))
        slope = (got - mean) @ inverse - np.where(np.isinf(variances), 0, (members - got) / variances)
        np.testing.assert_allclose(slope, 0, atol=1e-4)

    def test_exact_pixels_stay_and_foretell(self, isa: str, rng: np.random.Generator) -> None:
        """Members in a plane of two dimensions: two exact pixels say all."""
        basis, codes = rng.standard_normal((2, 10)), rng.standard_normal((40, 2))
        members = 100 * codes @ basis
        variances = np.full(members.shape, np.inf)
        variances[:, [3, 8]] = 0
        got = self.completed(isa, members, members, variances, 1e-3)
        np.testing.assert_allclose(got, members, atol=1e-2)

    def test_nothing_known(self, isa: str, rng: np.random.Generator) -> None:
        members, guide = rng.standard_normal((2, 9, 5))
        got = self.completed(isa, members, guide, np.full((9, 5), np.inf), 1.0)
        np.testing.assert_allclose(got, np.tile(guide.mean(axis=0), (9, 1)), atol=1e-6)


def test_unknown_values_do_not_matter(rng: np.random.Generator) -> None:
    image = rng.normal(100, 20, (1, 1, 24, 24)).astype(np.float32)
    unknown = rng.random(image.shape) < 0.4
    shrinker = Conditional(variances=np.where(unknown, np.inf, 1).astype(np.float32))
    one, other = (
        estimate(given, matching=Matching(patch=(1, 5, 5)), shrinker=shrinker, level=3.0, guide=image, match_on=image)
        for given in (image, np.where(unknown, np.float32(1e6), image))
    )
    np.testing.assert_array_equal(one, other)


def test_wrong_variances() -> None:
    with pytest.raises(TypeError, match="must be float32, as the image, got float64"):
        Conditional(variances=np.ones(4))  # type: ignore[arg-type]
    for value in (-1, np.nan):
        with pytest.raises(ValueError, match="at least 0, or infinite where a pixel is unknown"):
            Conditional(variances=np.array([1, value], np.float32))


@pytest.mark.skipif(not NATIVE, reason="tests the native bindings")
def test_variances_of_another_image() -> None:
    groups = one_group(np.ones((5, 4)), 1.0)
    sums = np.zeros((2, 20), np.float32)
    with pytest.raises(ValueError, match="differ in size"):
        _native.shrink_groups(0, *groups, np.zeros(19, np.float32), 5, np.zeros(1, np.uint8), *sums)
