"""Collaborative filtering: the specification's estimates, its transforms, and the filter in other ways."""

from __future__ import annotations

import numpy as np
import pytest
from group_cases import NATIVE, agree, estimates, many_groups, one_group, shrunk
from scipy.fft import dctn, idctn

from epitomes.groups import Collaborative, Matching, estimate
from epitomes.groups.collaborative import HIGH_PASS, LOW_PASS, haar_matrix, transform_matrix


@pytest.mark.parametrize("isa", NATIVE)
class TestSpecification:
    @pytest.mark.parametrize("n_matches", [1, 2, 7, 16, 40])
    @pytest.mark.parametrize("patch", [(1, 1), (2, 4), (8, 8), (5, 7)])
    @pytest.mark.parametrize("threshold", [None, 2.7])
    def test_any_size(
        self, patch: tuple[int, int], n_matches: int, threshold: float | None, isa: str, rng: np.random.Generator
    ) -> None:
        for transform in ("dct", "bior1.5") if patch != (5, 7) else ("dct",):
            shrinker = Collaborative(patch=patch, transform=transform, threshold=threshold)
            for depth in (1, 2) if patch == (2, 4) else (1,):
                m = depth * patch[0] * patch[1]
                groups = many_groups(m, n_matches, rng)
                agree(*(shrunk(by, groups, shrinker.shrinkage(m, depth)) for by in (isa, "reference")), 3e-5)

    def test_more_members_than_transforms(self, isa: str, rng: np.random.Generator) -> None:
        groups, settings = many_groups(16, 150, rng), Collaborative(patch=(4, 4)).shrinkage(16, 1)
        agree(*(shrunk(by, groups, settings) for by in (isa, "reference")), 3e-5)


@pytest.mark.parametrize("isa", NATIVE)
class TestFormula:
    def test_hard_threshold_of_cosines(self, isa: str, rng: np.random.Generator) -> None:
        """Two members: sums and differences, times cosines of the patches."""
        members, level = 20 + 5 * rng.standard_normal((2, 64)), 3.0
        pair = np.stack([members[0] + members[1], members[0] - members[1]]) / np.sqrt(2)
        found = dctn(pair.reshape(2, 8, 8), axes=(1, 2), norm="ortho")
        cut = np.where(np.abs(found) > 2.0 * level, found, 0)
        cut[0, 0, 0] = found[0, 0, 0]
        back = idctn(cut, axes=(1, 2), norm="ortho").reshape(2, 64)
        expected = np.stack([back[0] + back[1], back[0] - back[1]]) / np.sqrt(2)
        shrinker = Collaborative(patch=(8, 8), threshold=2.0, beta=0.0)
        np.testing.assert_allclose(estimates(isa, members, shrinker, level), expected, atol=1e-4)
        _, weight = shrunk(isa, one_group(members, level), shrinker.shrinkage(64, 1))
        np.testing.assert_allclose(weight, 1 / np.count_nonzero(cut), rtol=1e-6)

    def test_wiener_factors(self, isa: str, rng: np.random.Generator) -> None:
        """One member: cosines times g^2 / (g^2 + level^2), but the mean is kept; pixels weigh by a Kaiser window."""
        member, guide, level = 5 * rng.standard_normal((1, 64)), 5 * rng.standard_normal((1, 64)), 4.0
        g = dctn(guide.reshape(8, 8), norm="ortho")
        factors = g**2 / (g**2 + level**2)
        factors[0, 0] = 1
        expected = idctn(factors * dctn(member.reshape(8, 8), norm="ortho"), norm="ortho").reshape(1, 64)
        shrinker = Collaborative(patch=(8, 8), beta=2.0)
        np.testing.assert_allclose(estimates(isa, member, shrinker, level, guide=guide), expected, atol=1e-5)
        _, weight = shrunk(isa, one_group(member, level, guide), shrinker.shrinkage(64, 1))
        window = np.outer(np.kaiser(8, 2.0), np.kaiser(8, 2.0)).ravel()
        np.testing.assert_allclose(weight, window / (factors**2).sum(), rtol=1e-5)

    def test_no_threshold_gives_members_back(self, isa: str, rng: np.random.Generator) -> None:
        members = 100 + 30 * rng.standard_normal((16, 64))
        for transform in ("dct", "bior1.5"):
            shrinker = Collaborative(patch=(8, 8), transform=transform, threshold=0.0)
            np.testing.assert_allclose(estimates(isa, members, shrinker, 5.0), members, rtol=2e-5)


class TestTransforms:
    @pytest.mark.parametrize("n", [1, 2, 4, 8, 16, 32])
    def test_haar_is_orthonormal(self, n: int) -> None:
        matrix = haar_matrix(n)
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(n), atol=1e-12)
        np.testing.assert_allclose(matrix[0], n**-0.5)
        assert np.count_nonzero(matrix[-1]) == min(n, 2)  # the finest details last

    @pytest.mark.parametrize("n", [2, 4, 8, 16])
    def test_the_wavelet_is_that_of_pywavelets(self, n: int) -> None:
        pywt = pytest.importorskip("pywt")
        wavelet = pywt.Wavelet("bior1.5")
        np.testing.assert_allclose(np.abs(wavelet.dec_lo), np.abs(LOW_PASS), atol=1e-12)
        np.testing.assert_allclose(np.sort(np.trim_zeros(wavelet.dec_hi)), np.sort(HIGH_PASS), atol=1e-12)
        columns = pywt.wavedec(np.eye(n), wavelet, mode="periodization", level=n.bit_length() - 1, axis=0)
        theirs = np.concatenate(columns)
        theirs /= np.linalg.norm(theirs, axis=1, keepdims=True)
        ours = transform_matrix("bior1.5", n)
        shifts = [np.abs(np.abs(np.roll(theirs, shift, axis=1)) - np.abs(ours)).max() for shift in range(n)]
        assert min(shifts) < 1e-9

    @pytest.mark.parametrize(("name", "n"), [("dct", 8), ("dct", 11), ("bior1.5", 8)])
    def test_constants_are_in_the_first_coefficient(self, name: str, n: int) -> None:
        matrix = transform_matrix(name, n)
        np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-12)
        np.testing.assert_allclose((matrix @ np.ones(n))[1:], 0, atol=1e-12)
        assert np.linalg.cond(matrix) < 3


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match=r"sides 1, 2, 4, 8, \.\.\., got \(8, 6\): use 'dct'"):
        Collaborative(patch=(8, 6), transform="bior1.5")
    with pytest.raises(ValueError, match="transform must be"):
        Collaborative(patch=(8, 8), transform="fft")
    with pytest.raises(ValueError, match="threshold"):
        Collaborative(patch=(8, 8), threshold=-1.0)
    noisy = np.zeros((1, 1, 16, 16), np.float32)
    with pytest.raises(ValueError, match=r"patch \(8, 8\) does not match patches of 36 values"):
        estimate(noisy, matching=Matching(patch=(1, 6, 6)), shrinker=Collaborative(patch=(8, 8)), level=1.0)
