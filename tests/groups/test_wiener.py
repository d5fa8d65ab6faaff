"""Groups passed through a Wiener filter: the specification's estimates, the formula in other ways, and its limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from group_cases import NATIVE, Doubles, agree, correlated, estimates, many_groups, one_group, shrunk
from scipy.linalg import eigh

from epitomes.groups import LowRank, Matching, Shrinker, Wiener, estimate
from epitomes.kernels import _native

TRIANGLE = np.maximum(0, 1 - np.abs(np.subtract.outer(np.arange(6), np.arange(6))) / 3)
BOX = np.kron(TRIANGLE, TRIANGLE)  # covariance in patches 6 x 6 of white noise under a mean of 3 x 3, at variance 1


def blurred(shape: tuple[int, int], rng: np.random.Generator) -> Doubles:
    """Noise with the covariance `BOX`."""
    white = rng.standard_normal((shape[0] + 2, shape[1] + 2))
    return np.lib.stride_tricks.sliding_window_view(white, (3, 3)).sum(axis=(2, 3)) / 3


def covariance_of(rows: Doubles) -> Doubles:
    return np.cov(np.asarray(rows, np.float32).astype(np.float64), rowvar=False, bias=True).reshape(
        2 * (rows.shape[1],)
    )


@pytest.mark.parametrize("isa", NATIVE)
class TestSpecification:
    @pytest.mark.parametrize("n_matches", [1, 2, 7, 33, 80])
    @pytest.mark.parametrize("m", [1, 2, 9, 16, 25, 48, 75])
    def test_any_size(self, m: int, n_matches: int, isa: str, rng: np.random.Generator) -> None:
        groups = many_groups(m, n_matches, rng)
        for covariance in (np.eye(m), correlated(m), 0.1 * np.eye(m) + 0.9):
            settings = Wiener(covariance=covariance).shrinkage(m, 1)
            for factor in (0.01, 1.0, 100.0):
                scaled = groups._replace(levels=groups.levels * np.float32(factor))
                agree(shrunk(isa, scaled, settings), shrunk("reference", scaled, settings))

    @pytest.mark.parametrize("contrast", [10, 1000])
    def test_contrast_far_above_the_noise(self, contrast: float, isa: str, rng: np.random.Generator) -> None:
        """A thousandth of the noise is the error, although the covariance is that of images with a millionth of it."""
        m, n, root = 36, 80, np.linalg.cholesky(BOX + 1e-9 * np.eye(36))
        members, guide = (
            contrast * (1 + rng.standard_normal((n, 5)) @ rng.random((5, m))) + rng.standard_normal((n, m)) @ root.T
            for _ in range(2)
        )
        got, expected = (estimates(by, members, Wiener(covariance=BOX), 1.0, guide=guide) for by in (isa, "reference"))
        np.testing.assert_allclose(got, expected, rtol=3e-7, atol=1e-4)


@pytest.mark.parametrize("isa", NATIVE)
class TestFormula:
    """`mean Y + (Y - mean Y) A` with `A = (C + N)^-1 C`, and the weight `1 / (1 + trace A)`, in other ways."""

    @pytest.mark.parametrize(("n", "m"), [(60, 12), (9, 20), (25, 25)])
    @pytest.mark.parametrize("level", [0.3, 4.0])
    def test_in_the_generalised_eigenvectors(
        self, level: float, n: int, m: int, isa: str, rng: np.random.Generator
    ) -> None:
        """`C v = g N v` with `V' N V = I`: each of these directions keeps `g / (1 + g)`."""
        members, guide = 50 + 6 * rng.standard_normal((2, n, m))
        C = covariance_of(guide)
        N = level**2 * (correlated(m) + 1e-5 * np.eye(m))
        gains, V = eigh(C, N)
        kept = gains / (1 + gains)
        mean = members.mean(axis=0)
        total, weight = shrunk(isa, one_group(members, level, guide), Wiener(covariance=correlated(m)).shrinkage(m, 1))
        np.testing.assert_allclose(weight, 1 / (1 + kept.sum()), rtol=1e-5)
        expected = mean + (members - mean) @ (V * kept) @ V.T @ N
        np.testing.assert_allclose((total / weight).reshape(n, m), expected, rtol=0, atol=1e-4)

    def test_no_other_linear_map_has_less_error(self, isa: str, rng: np.random.Generator) -> None:
        """With an image of covariance C and noise of covariance N, A errs by `|image - image A|^2 + |noise A|^2`."""
        n, m, level = 40, 12, 1.5
        members, guide = 6 * rng.standard_normal((2, n, m)) @ rng.standard_normal((m, m))
        C, N = covariance_of(guide), level**2 * correlated(m)
        got = estimates(isa, members, Wiener(covariance=correlated(m)), level, guide=guide)
        mean = members.mean(axis=0)
        A = np.linalg.lstsq(members - mean, got - mean, rcond=None)[0]

        def error(A: Doubles) -> float:
            left = np.eye(m) - A
            return float(np.trace(left.T @ C @ left) + np.trace(A.T @ N @ A))

        least = error(A)
        for size in (0.03, 0.1, 1.0):
            for _ in range(30):
                assert error(A + size * rng.standard_normal((m, m))) > least

    def test_a_turn_of_the_pixels(self, isa: str, rng: np.random.Generator) -> None:
        """Patches, guide and covariance in another basis: the estimates in that basis."""
        members, guide = 30 * rng.standard_normal((2, 30, 12))
        turn, _ = np.linalg.qr(rng.standard_normal((12, 12)))
        one = estimates(isa, members, Wiener(covariance=correlated(12)), 20.0, guide=guide)
        by = Wiener(covariance=turn.T @ correlated(12) @ turn)
        other = estimates(isa, members @ turn, by, 20.0, guide=guide @ turn)
        np.testing.assert_allclose(other, one @ turn, rtol=0, atol=1e-3)


@pytest.mark.parametrize("isa", NATIVE)
class TestLimits:
    @pytest.mark.parametrize(("n", "m"), [(1, 8), (5, 30), (30, 5), (64, 48)])
    def test_no_noise(self, n: int, m: int, isa: str, rng: np.random.Generator) -> None:
        """Level zero, or a covariance of zero: every member comes back, and a group weighs what m directions do."""
        members = 100 + 30 * rng.standard_normal((n, m))
        for covariance, level in ((correlated(m), 0.0), (np.zeros((m, m)), 9.0)):
            for guide in (members, 0 * members):
                settings = Wiener(covariance=covariance).shrinkage(m, 1)
                total, weight = shrunk(isa, one_group(members, level, guide), settings)
                np.testing.assert_allclose((total / weight).reshape(n, m), members, rtol=1e-6)
                np.testing.assert_array_equal(weight, np.float32(1 / (1 + m)))

    @pytest.mark.parametrize("level", [1e-30, 1e-12, 1e-6])
    def test_noise_too_faint_to_be_seen(self, level: float, isa: str, rng: np.random.Generator) -> None:
        """The covariance of few members has no inverse but for the noise, and rounding hides that."""
        members = 1000 * rng.standard_normal((6, 40))
        got = estimates(isa, members, Wiener(covariance=correlated(40)), level)
        np.testing.assert_allclose(got, members, rtol=1e-4, atol=1e-2)

    @pytest.mark.parametrize("level", [1e6, 1e15, 3e38])
    def test_nothing_but_noise(self, level: float, isa: str, rng: np.random.Generator) -> None:
        members = 100 + 30 * rng.standard_normal((20, 12))
        settings = Wiener(covariance=correlated(12)).shrinkage(12, 1)
        total, weight = shrunk(isa, one_group(members, level), settings)
        np.testing.assert_allclose((total / weight).reshape(20, 12), np.tile(members.mean(axis=0), (20, 1)), rtol=1e-5)
        np.testing.assert_allclose(weight, 1.0, rtol=1e-5)

    @pytest.mark.parametrize("tone", [0.0, 1.0, 1 / 3, 1e-9, 12345.678, 1e12])
    def test_constant_groups(self, tone: float, isa: str) -> None:
        for n in (1, 3, 20, 61):
            for level in (0.0, 0.1 * tone):
                got = estimates(isa, np.full((n, 25), tone), Wiener(covariance=correlated(25)), level)
                np.testing.assert_allclose(got, tone, rtol=1e-6)


class TestImages:
    MATCHING = Matching(patch=(1, 6, 6), search_radius=(0, 10, 10), stride=(1, 3, 3), group_size=60)

    def estimates(self, noisy: Any, level: float, *shrinkers: Shrinker) -> list[Any]:
        """Each on the groups, and with the guide, of a first estimate that is too smooth."""
        first = estimate(noisy, matching=self.MATCHING, shrinker=LowRank(), level=2 * level)
        given: dict[str, Any] = {"matching": self.MATCHING, "level": level, "guide": first, "match_on": first}
        return [estimate(noisy, shrinker=shrinker, **given) for shrinker in shrinkers]

    def test_white_noise_on_a_flat_image(self, rng: np.random.Generator) -> None:
        noisy = (100 + 10 * rng.standard_normal((1, 1, 48, 48))).astype(np.float32)
        (got,) = self.estimates(noisy, 10.0, Wiener(covariance=np.eye(36)))
        assert np.sqrt(((got - 100) ** 2).mean()) < 0.15 * 10

    def test_correlated_noise(self, rng: np.random.Generator) -> None:
        """Low rank takes it for texture; who knows its covariance does not."""
        y, x = np.indices((64, 64))
        clean = 120 + 60 * np.sin((x + 2 * y) / 9) + 30 * (y > x)
        noisy = (clean + 10 * blurred((64, 64), rng)).astype(np.float32)[None, None]
        known, white, low_rank = (
            np.sqrt(((got[0, 0] - clean) ** 2).mean())
            for got in self.estimates(noisy, 10.0, Wiener(covariance=BOX), Wiener(covariance=np.eye(36)), LowRank())
        )
        assert known < 0.85 * low_rank
        assert known < 0.95 * white

    def test_noise_that_channels_share(self, rng: np.random.Generator) -> None:
        """The difference of the channels is almost free of noise, and stays."""
        y, x = np.indices((40, 40))
        clean = np.stack([100 + 40 * np.sin((x + y) / 3), 100 + 40 * np.cos((x - y) / 2)])[:, None]
        common, own = rng.standard_normal((1, 1, 40, 40)), rng.standard_normal((2, 1, 40, 40))
        noisy = (clean + 15 * (np.sqrt(0.95) * common + np.sqrt(0.05) * own)).astype(np.float32)
        shared = np.kron([[1, 0.95], [0.95, 1]], np.eye(36))
        known, white = (
            np.abs(np.diff(got - clean, axis=0)).mean()
            for got in self.estimates(noisy, 15.0, Wiener(covariance=shared), Wiener(covariance=np.eye(72)))
        )
        assert known < 0.8 * white

    def test_level_for_each_place(self, rng: np.random.Generator) -> None:
        """A level twice as high is a covariance four times as large."""
        noisy = (100 + 10 * rng.standard_normal((1, 1, 30, 30))).astype(np.float32)
        levels = np.full((1, 25, 25), 10, np.float32)
        one = estimate(noisy, matching=self.MATCHING, shrinker=Wiener(covariance=BOX), level=levels)
        other = estimate(noisy, matching=self.MATCHING, shrinker=Wiener(covariance=4 * BOX), level=5.0)
        np.testing.assert_allclose(one, other, rtol=1e-6)


class TestSettings:
    def test_the_ridge_is_a_share_of_the_mean_variance(self) -> None:
        covariance = np.diag([1.0, 2.0, 6.0])
        for ridge in (1e-5, 0.1):
            settings = Wiener(covariance=covariance, ridge=ridge).shrinkage(3, 1)
            np.testing.assert_allclose(settings.noise, covariance + 3 * ridge * np.eye(3), rtol=1e-12)
        np.testing.assert_array_equal(covariance, np.diag([1.0, 2.0, 6.0]))

    def test_covariances_that_are_rounded(self) -> None:
        """In float32 they are symmetric and positive up to rounding."""
        single = BOX.astype(np.float32)
        single[0, 1] *= np.float32(1 + 2e-7)
        noise = Wiener(covariance=single).shrinkage(36, 1).noise
        np.testing.assert_array_equal(noise, noise.T)
        assert noise.dtype == np.float64 and np.linalg.eigvalsh(noise)[0] > 0

    @pytest.mark.parametrize(
        ("wrong", "error", "text"),
        [
            (
                {"covariance": np.eye(4)[:3]},
                ValueError,
                r"covariance needs as many rows as columns.* got shape \(3, 4\)",
            ),
            ({"covariance": np.ones(4)}, ValueError, r"covariance needs 2 axes, got shape \(4,\)"),
            ({"covariance": np.triu(np.ones((4, 4)))}, ValueError, r"must be symmetric.* differ by 1 .*: give \(cov"),
            ({"covariance": np.diag([1, np.nan])}, ValueError, "covariance holds 1 NaN or infinite values"),
            ({"covariance": np.diag([1, np.inf])}, ValueError, "covariance holds 1 NaN or infinite values"),
            ({"covariance": -np.eye(3)}, ValueError, "no negative eigenvalues, got -1: set them to zero, or raise"),
            ({"covariance": np.array([[1.0, 2], [2, 1]])}, ValueError, "no negative eigenvalues, got -1"),
            ({"covariance": np.eye(2) * 1j}, TypeError, "covariance must hold real numbers"),
            ({"ridge": 0.0}, ValueError, "ridge must be a finite number > 0, got 0"),
            ({"ridge": np.nan}, ValueError, "ridge must be a finite number > 0, got nan"),
        ],
        ids=str,
    )
    def test_wrong_settings_are_named(self, wrong: dict[str, Any], error: type[Exception], text: str) -> None:
        with pytest.raises(error, match=text):
            Wiener(**{"covariance": np.eye(4)} | wrong)

    @pytest.mark.parametrize(("by_channel", "needed"), [(False, 48), (True, 16)])
    def test_a_covariance_of_other_patches(self, by_channel: bool, needed: int, rng: np.random.Generator) -> None:
        with pytest.raises(
            ValueError, match=rf"covariance needs shape \({needed}, {needed}\).* got \(20, 20\): compute"
        ):
            estimate(
                rng.standard_normal((3, 1, 20, 20)).astype(np.float32),
                matching=Matching(patch=(1, 4, 4)),
                shrinker=Wiener(covariance=np.eye(20)),
                level=[1.0] * 3 if by_channel else 1.0,
                by_channel=by_channel,
            )


@pytest.mark.skipif(not NATIVE, reason="tests the native bindings")
class TestWrongCalls:
    def call(self, **changed: Any) -> None:
        groups = one_group(np.ones((5, 4)), 1.0)._asdict() | Wiener(covariance=np.eye(4)).shrinkage(4, 1)._asdict()
        sums = {name: np.zeros(20, np.float32) for name in ("total", "weight")}
        _native.shrink_groups(**{"isa": 0, "stop": np.zeros(1, np.uint8)} | groups | sums | changed)

    def test_right_call(self) -> None:
        self.call()

    @pytest.mark.parametrize("shape", [(4, 3), (3, 4), (5, 5), (0, 0)])
    def test_covariances_of_other_patches(self, shape: tuple[int, int]) -> None:
        with pytest.raises(ValueError, match="differ in length"):
            self.call(noise=np.zeros(shape))

    def test_groups_are_checked(self) -> None:
        for changed, text in (
            ({"places": np.array([[0, 17]], np.int32), "counts": np.array([2], np.int32)}, "leaves the image"),
            ({"counts": np.array([6], np.int32)}, "more than places"),
            ({"stop": np.zeros(2, np.uint8)}, "stop flag"),
            ({"isa": 99}, "no such instruction set"),
        ):
            with pytest.raises(ValueError, match=text):
                self.call(**changed)

    def test_types_and_layouts(self) -> None:
        for changed in ({"noise": np.eye(4, dtype=np.float32)}, {"noise": np.asfortranarray(np.ones((4, 4)))[:, ::2]}):
            with pytest.raises(TypeError):
                self.call(**changed)


@pytest.mark.parametrize("isa", NATIVE)
class TestNoisyGuides:
    """The first step of NL-Bayes: the guide is the noisy image, and the noise is taken off its covariance."""

    @pytest.mark.parametrize("m", [9, 25])
    def test_specification(self, m: int, isa: str, rng: np.random.Generator) -> None:
        groups = many_groups(m, 70, rng)
        groups = groups._replace(counts=np.maximum(groups.counts, 2 * m).astype(np.int32))
        settings = Wiener(covariance=np.eye(m), in_guide=1.0, flat=1.1, even=True).shrinkage(m, 1)
        agree(shrunk(isa, groups, settings), shrunk("reference", groups, settings), 1e-4)

    def test_the_noise_is_taken_off(self, isa: str, rng: np.random.Generator) -> None:
        """`mean + (y - mean) (I - C^-1 sigma^2)` with the covariance C of the noisy members."""
        members, level = rng.standard_normal((80, 12)) @ rng.standard_normal((12, 12)), 0.7
        C = covariance_of(members)
        mean = members.mean(axis=0)
        expected = mean + (members - mean) @ (np.eye(12) - level**2 * (1 + 1e-5) * np.linalg.inv(C))
        got = estimates(isa, members, Wiener(covariance=np.eye(12), in_guide=1.0), level)
        np.testing.assert_allclose(got, expected, atol=1e-3)

    @pytest.mark.parametrize("spread", [0.9, 1.2])
    def test_flat_groups_become_their_mean(self, spread: float, isa: str, rng: np.random.Generator) -> None:
        members = rng.standard_normal((40, 16))
        members = 50 + spread * (members - members.mean()) / members.std()
        got = estimates(isa, members, Wiener(covariance=np.eye(16), flat=1.0), 1.0)
        assert np.allclose(got, members.mean(), atol=1e-4) == (spread < 1)
