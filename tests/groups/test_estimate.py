"""From an image to its estimate: against a plain loop, whatever the threads, the bands and what is far away."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from group_cases import correlated
from numpy.typing import NDArray

from epitomes import kernels
from epitomes.groups import LowRank, Matching, SharedAtoms, Shrinker, Wiener, estimate
from epitomes.groups.matching import Planar

Doubles = NDArray[np.float64]

NATIVE = [isa for isa in kernels.isas if kernels.isa != "reference"]
SMALL = Matching(patch=(1, 5, 5), search_radius=(0, 6, 6), stride=(1, 3, 3), group_size=20)


@pytest.fixture(params=NATIVE)
def isa(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(kernels, "isa", request.param)
    return str(request.param)


def picture(shape: tuple[int, ...], rng: np.random.Generator, noise: float = 12.0) -> tuple[Doubles, Planar]:
    """Waves and an edge, and the same with noise, rounded: distances of whole numbers are exact, so ties are, too."""
    c, t, y, x = np.indices(shape)
    clean = 120 + 60 * np.sin((x + 2 * y + 3 * t) / 4 + c) + 30 * (y > x)
    return clean, np.rint(clean + noise * rng.standard_normal(shape)).astype(np.float32)


def atoms(m: int, rng: np.random.Generator) -> Doubles:
    return rng.standard_normal((4 * m, m))


def shrinkers(m: int, rng: np.random.Generator) -> list[Shrinker]:
    dictionary = atoms(m, rng)
    return [
        LowRank(),
        SharedAtoms(atoms=dictionary, bound=1.0),
        Wiener(covariance=correlated(m)),
        SharedAtoms(atoms=dictionary, bound=0.5, selection_size=5, most_atoms=6, by_rank=True),
    ]


def by_hand(noisy: Planar, matching: Matching, strength: float, level: float) -> Doubles:
    """Low rank, one reference and one patch after another."""
    image = noisy.astype(np.float64)
    ends = [size - side for size, side in zip(image.shape[1:], matching.patch, strict=True)]
    steps = [sorted({*range(0, end + 1, by), end}) for end, by in zip(ends, matching.stride, strict=True)]
    total, weight = np.zeros_like(image), np.zeros_like(image)

    def patch(at: tuple[int, ...]) -> tuple[slice, ...]:
        return (slice(None), *(slice(a, a + side) for a, side in zip(at, matching.patch, strict=True)))

    for centre in ((t, y, x) for t in steps[0] for y in steps[1] for x in steps[2]):
        window = [
            range(max(0, a - far), min(end, a + far) + 1)
            for a, far, end in zip(centre, matching.search_radius, ends, strict=True)
        ]
        near = [(t, y, x) for t in window[0] for y in window[1] for x in window[2] if (t, y, x) != centre]
        distances = [float(((image[patch(at)] - image[patch(centre)]) ** 2).mean()) for at in near]
        order = np.argsort(distances, kind="stable")[: matching.group_size - 1]
        limit = np.inf if matching.threshold is None else matching.threshold
        count = max(sum(distances[i] <= limit for i in order), min(len(order), matching.least_members - 1))
        members = [centre, *(near[i] for i in order[:count])]
        group = np.stack([image[patch(at)].ravel() for at in members])
        mean = group.mean(axis=0)
        left, values, right = np.linalg.svd(group - mean, full_matrices=False)
        four_c = 8 * strength * np.sqrt(len(group)) * level**2
        kept = np.where(values**2 > four_c, (values + np.sqrt(np.maximum(values**2 - four_c, 0))) / 2, 0)
        for at, row in zip(members, mean + (left * kept) @ right, strict=True):
            total[patch(at)] += row.reshape(total[patch(at)].shape)
            weight[patch(at)] += 1
    return total / weight


CASES: dict[str, tuple[tuple[int, ...], Matching]] = {
    "grey": ((1, 1, 21, 26), SMALL),
    "many bands": ((1, 1, 60, 12), Matching(patch=(1, 4, 3), search_radius=(0, 5, 4), stride=(1, 2, 3), group_size=12)),
    "one line": ((1, 1, 5, 40), Matching(patch=(1, 5, 4), search_radius=(0, 3, 9), stride=(1, 4, 4), group_size=9)),
    "one patch": ((2, 2, 6, 5), Matching(patch=(2, 6, 5), group_size=7)),
    "single pixels": ((1, 1, 9, 8), Matching(patch=(1, 1, 1), search_radius=(0, 2, 2), stride=(1, 1, 1), group_size=6)),
    "colour": ((3, 1, 17, 19), Matching(patch=(1, 4, 5), search_radius=(0, 5, 6), stride=(1, 3, 4), group_size=16)),
    "wide window": (
        (1, 1, 14, 13),
        Matching(patch=(1, 6, 6), search_radius=(0, 50, 40), stride=(1, 5, 2), group_size=200),
    ),
    "limit": (
        (2, 1, 19, 20),
        Matching(patch=(1, 4, 4), search_radius=(0, 6, 6), group_size=25, threshold=400.0, least_members=3),
    ),
    "planes alone": (
        (1, 3, 13, 15),
        Matching(patch=(1, 5, 5), search_radius=(0, 4, 4), stride=(1, 3, 3), group_size=12),
    ),
    "video": ((1, 5, 13, 14), Matching(patch=(1, 5, 4), search_radius=(2, 3, 3), stride=(1, 3, 4), group_size=24)),
    "volume": ((1, 6, 11, 12), Matching(patch=(3, 4, 4), search_radius=(2, 3, 2), stride=(2, 3, 3), group_size=15)),
    "colour video": (
        (3, 4, 10, 11),
        Matching(patch=(2, 4, 3), search_radius=(1, 3, 3), stride=(2, 3, 2), group_size=10),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_low_rank_by_hand(name: str, isa: str, rng: np.random.Generator) -> None:
    shape, matching = CASES[name]
    _, noisy = picture(shape, rng)
    got = estimate(noisy, matching=matching, shrinker=LowRank(strength=1.0), level=9.0)
    assert got.dtype == np.float32 and got.shape == shape
    np.testing.assert_allclose(got, by_hand(noisy, matching, 1.0, 9.0), rtol=0, atol=2e-3)


@pytest.mark.parametrize("name", CASES)
def test_shrinkers_by_the_specification(
    name: str, isa: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, matching = CASES[name]
    m = shape[0] * matching.size
    if m == 1:
        return  # a pixel has no atoms
    _, noisy = picture(shape, rng)
    _, guide = picture(shape, rng, noise=5.0)
    for shrinker in shrinkers(m, rng):
        given: dict[str, Any] = {"matching": matching, "shrinker": shrinker, "level": 9.0, "guide": guide}
        got = estimate(noisy, **given)
        with monkeypatch.context() as slow:
            slow.setattr(kernels, "isa", "reference")
            expected = estimate(noisy, **given)
        np.testing.assert_allclose(got, expected, rtol=0, atol=5e-3)


class TestExact:
    @pytest.mark.parametrize("shape", [(1, 1, 30, 31), (3, 1, 20, 20), (1, 3, 12, 12)])
    def test_constant_images(self, shape: tuple[int, ...], isa: str, rng: np.random.Generator) -> None:
        """Whole tones come back to the last bit, others up to rounding."""
        for tone in (0.0, 100.0, -3.0, 65535.0):
            image = np.full(shape, tone, np.float32)
            for level in (0.0, 1.0, 50.0):
                got = estimate(image, matching=SMALL, shrinker=LowRank(), level=level)
                np.testing.assert_array_equal(got, image)
        for tone in (0.1, 0.01, 1 / 3, 1e-6, 12345.678):
            image = np.full(shape, tone, np.float32)
            for shrinker in shrinkers(25 * shape[0], rng):
                for level in (0.0, 0.2 * tone):
                    got = estimate(image, matching=SMALL, shrinker=shrinker, level=level)
                    np.testing.assert_allclose(got, image, rtol=1e-5)

    @pytest.mark.parametrize("name", CASES)
    def test_nothing_to_shrink(self, name: str, isa: str, rng: np.random.Generator) -> None:
        shape, matching = CASES[name]
        _, noisy = picture(shape, rng)
        for strength, level in ((2.83, 0.0), (0.0, 10.0)):
            got = estimate(noisy, matching=matching, shrinker=LowRank(strength=strength), level=level)
            np.testing.assert_allclose(got, noisy, rtol=0, atol=2e-3)

    def test_steps_without_noise_stay(self, isa: str) -> None:
        """Flat on both sides of an edge: products of low rank, at all the scales of real images."""
        image = np.zeros((1, 1, 32, 32), np.float32)
        image[..., 13:] = 1
        matching = Matching(patch=(1, 8, 8), search_radius=(0, 8, 8), group_size=30)
        for size in (1e-4, 1e-2, 1.0, 255.0, 65535.0):
            for level in (0.0, 1e-3):
                got = estimate(image * np.float32(size), matching=matching, shrinker=LowRank(), level=level * size)
                np.testing.assert_allclose(got / size, image, rtol=0, atol=1e-4)

    def test_noise_goes(self, isa: str, rng: np.random.Generator) -> None:
        clean, noisy = picture((1, 1, 48, 48), rng)
        matching = Matching(patch=(1, 6, 6), search_radius=(0, 10, 10), stride=(1, 3, 3), group_size=40)
        before = ((noisy - clean) ** 2).mean()
        waves = np.cos(np.pi * np.outer(np.arange(6), np.arange(6) + 0.5) / 6)
        smooth = np.kron(waves, waves)
        for shrinker in (LowRank(), *(SharedAtoms(atoms=smooth, bound=1.0, by_rank=by) for by in (False, True))):
            got = estimate(noisy, matching=matching, shrinker=shrinker, level=12.0)
            assert ((got - clean) ** 2).mean() < 0.15 * before

    def test_inputs_stay_as_they_are(self, isa: str, rng: np.random.Generator) -> None:
        images = [picture((1, 1, 20, 20), rng)[1] for _ in range(3)]
        kept = [image.copy() for image in images]
        levels = np.full((1, 16, 16), 9, np.float32)
        for array in (*images, levels):
            array.flags.writeable = False
        noisy, match_on, guide = images
        shrinker = SharedAtoms(atoms=atoms(25, rng), bound=1.0)
        got = estimate(noisy, matching=SMALL, shrinker=shrinker, level=levels, match_on=match_on, guide=guide)
        assert got.flags.writeable and not any(np.shares_memory(got, image) for image in images)
        for image, copy in zip(images, kept, strict=True):
            np.testing.assert_array_equal(image, copy)


class TestBits:
    @pytest.mark.parametrize("name", ["grey", "many bands", "colour", "video", "volume"])
    def test_threads(self, name: str, isa: str, rng: np.random.Generator) -> None:
        shape, matching = CASES[name]
        shape = (*shape[:2], 4 * shape[2], shape[3])
        _, noisy = picture(shape, rng)
        for shrinker in shrinkers(shape[0] * matching.size, rng)[:3]:
            one, *others = (
                estimate(noisy, matching=matching, shrinker=shrinker, level=10.0, threads=threads)
                for threads in (1, 2, 3, 5)
            )
            for other in others:
                np.testing.assert_array_equal(one, other)

    def test_bands_that_wait_together(
        self, isa: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """How many bands are in memory at once changes nothing."""
        _, noisy = picture((1, 1, 80, 14), rng)
        expected = estimate(noisy, matching=SMALL, shrinker=LowRank(), level=10.0)
        for at_once in (1, 2, 3, 100):
            monkeypatch.setattr(sys.modules[estimate.__module__], "BANDS_PER_THREAD", at_once)
            np.testing.assert_array_equal(estimate(noisy, matching=SMALL, shrinker=LowRank(), level=10.0), expected)

    def test_far_content_does_not_matter(self, isa: str, rng: np.random.Generator) -> None:
        """Two members of a group are at most two reaches apart, and each as long as a patch."""
        _, noisy = picture((1, 1, 60, 60), rng)
        other = noisy.copy()
        other[..., 28:33, 27:31] = 255 * rng.random((5, 4))
        rows, columns = np.abs(np.arange(60) - 30), np.abs(np.arange(60) - 28.5)
        far = np.maximum(rows[:, None] - 2, columns - 1.5) > 2 * 6 + 5 - 1
        for shrinker in shrinkers(25, rng):
            one, two = (estimate(image, matching=SMALL, shrinker=shrinker, level=12.0) for image in (noisy, other))
            np.testing.assert_array_equal(one[0, 0][far], two[0, 0][far])
            assert not np.array_equal(one[..., 28:33, 27:31], two[..., 28:33, 27:31])

    def test_far_planes_do_not_matter(self, isa: str, rng: np.random.Generator) -> None:
        matching = Matching(patch=(2, 4, 4), search_radius=(1, 3, 3), stride=(1, 3, 3), group_size=12)
        _, noisy = picture((1, 10, 12, 12), rng)
        other = noisy.copy()
        other[:, 9] = 0
        one, two = (estimate(image, matching=matching, shrinker=LowRank(), level=12.0) for image in (noisy, other))
        np.testing.assert_array_equal(one[:, :6], two[:, :6])  # 9 - (2 * 1 + 2 - 1) = 6 is the first that may change
        assert not np.array_equal(one[:, 6:], two[:, 6:])

    def test_crops(self, isa: str, rng: np.random.Generator) -> None:
        """Whole bands off the top, whole strides off the left, anything off the other sides: what is far stays."""
        _, noisy = picture((1, 1, 90, 70), rng)
        top, left, bottom, right = 8 * 3, 3 * 3, 13, 10
        crop = np.ascontiguousarray(noisy[..., top : 90 - bottom, left : 70 - right])
        edge = 2 * 6 + 2 * 5
        for shrinker in shrinkers(25, rng):
            whole = estimate(noisy, matching=SMALL, shrinker=shrinker, level=12.0)
            part = estimate(crop, matching=SMALL, shrinker=shrinker, level=12.0)
            inner = np.s_[..., top + edge : 90 - bottom - edge, left + edge : 70 - right - edge]
            np.testing.assert_array_equal(part[..., edge:-edge, edge:-edge], whole[inner])
            assert part[..., edge:-edge, edge:-edge].size > 50

    def test_planes_alone_are_images(self, isa: str, rng: np.random.Generator) -> None:
        """Without reach from plane to plane a volume is a pile of images."""
        _, noisy = picture((2, 3, 30, 22), rng)
        whole = estimate(noisy, matching=SMALL, shrinker=LowRank(), level=12.0)
        for plane in range(3):
            alone = estimate(
                np.ascontiguousarray(noisy[:, plane : plane + 1]), matching=SMALL, shrinker=LowRank(), level=12.0
            )
            np.testing.assert_array_equal(alone[:, 0], whole[:, plane])


class TestUnits:
    @pytest.mark.parametrize("which", range(4))
    def test_shifted_grey_levels(self, which: int, isa: str, rng: np.random.Generator) -> None:
        _, noisy = picture((1, 1, 30, 33), rng)
        shrinker = shrinkers(25, rng)[which]
        low, high = (
            estimate(noisy + np.float32(tone), matching=SMALL, shrinker=shrinker, level=12.0) - tone
            for tone in (0, 1000)
        )
        np.testing.assert_allclose(low, high, rtol=0, atol=0.02)

    @pytest.mark.parametrize("which", range(4))
    def test_negatives(self, which: int, isa: str, rng: np.random.Generator) -> None:
        _, noisy = picture((1, 1, 30, 33), rng)
        shrinker = shrinkers(25, rng)[which]
        one, other = (estimate(image, matching=SMALL, shrinker=shrinker, level=12.0) for image in (noisy, -noisy))
        np.testing.assert_array_equal(one, -other)

    @pytest.mark.parametrize("which", range(4))
    @pytest.mark.parametrize("power", [-40, -24, -8, 8, 16, 24, 40])
    def test_scale(self, power: int, which: int, isa: str, rng: np.random.Generator) -> None:
        """Images of 8 and 16 bits, of parts of one, and of physical units."""
        _, noisy = picture((1, 1, 24, 24), rng)
        shrinker, scale = shrinkers(25, rng)[which], np.float32(2.0**power)
        expected = estimate(noisy, matching=SMALL, shrinker=shrinker, level=12.0)
        got = estimate(noisy * scale, matching=SMALL, shrinker=shrinker, level=12.0 * float(scale)) / scale
        np.testing.assert_allclose(got, expected, rtol=0, atol=0.01)


class TestChannels:
    def test_grey_copies(self, isa: str, rng: np.random.Generator) -> None:
        """The same in all channels has the groups of one; a singular value is larger by sqrt(channels)."""
        _, noisy = picture((1, 1, 26, 25), rng)
        one = estimate(noisy, matching=SMALL, shrinker=LowRank(strength=1.0), level=10.0)
        four = estimate(np.repeat(noisy, 4, axis=0), matching=SMALL, shrinker=LowRank(strength=4.0), level=10.0)
        np.testing.assert_allclose(four, np.repeat(one, 4, axis=0), rtol=0, atol=2e-3)

    def test_a_flat_channel_changes_nothing(self, isa: str, rng: np.random.Generator) -> None:
        _, noisy = picture((1, 1, 26, 25), rng)
        beside = np.concatenate([np.full_like(noisy, 40), noisy])
        one = estimate(noisy, matching=SMALL, shrinker=LowRank(), level=10.0)
        two = estimate(beside, matching=SMALL, shrinker=LowRank(), level=10.0)
        np.testing.assert_array_equal(two[0], 40)
        np.testing.assert_allclose(two[1], one[0], rtol=0, atol=2e-3)

    def test_order_of_channels(self, isa: str, rng: np.random.Generator) -> None:
        _, noisy = picture((3, 1, 22, 20), rng)
        one = estimate(noisy, matching=SMALL, shrinker=LowRank(), level=10.0)
        two = estimate(np.ascontiguousarray(noisy[::-1]), matching=SMALL, shrinker=LowRank(), level=10.0)
        np.testing.assert_allclose(two[::-1], one, rtol=0, atol=2e-3)

    def test_groups_found_on_more_channels(self, isa: str, rng: np.random.Generator) -> None:
        """One channel may be estimated by the groups of all; its own copy as a second one finds the same groups."""
        _, noisy = picture((1, 1, 26, 25), rng)
        alone = estimate(noisy, matching=SMALL, shrinker=LowRank(), level=10.0)
        twice = np.repeat(noisy, 2, axis=0)
        np.testing.assert_array_equal(
            estimate(noisy, matching=SMALL, shrinker=LowRank(), level=10.0, match_on=twice), alone
        )
        _, other = picture((3, 1, 26, 25), rng)
        third = estimate(noisy, matching=SMALL, shrinker=LowRank(), level=10.0, match_on=other)
        assert not np.array_equal(third, alone)


class TestImages:
    def test_by_default_the_noisy_image_does_all(self, isa: str, rng: np.random.Generator) -> None:
        _, noisy = picture((1, 1, 26, 25), rng)
        given: dict[str, Any] = {"matching": SMALL, "shrinker": shrinkers(25, rng)[1], "level": 10.0}
        np.testing.assert_array_equal(
            estimate(noisy, **given), estimate(noisy, **given, match_on=noisy.copy(), guide=noisy.copy())
        )

    def test_what_each_image_is_for(self, isa: str, rng: np.random.Generator) -> None:
        _, noisy = picture((1, 1, 26, 25), rng)
        _, other = picture((1, 1, 26, 25), rng, noise=30.0)
        low, shared = shrinkers(25, rng)[:2]
        given: dict[str, Any] = {"matching": SMALL, "level": 10.0}
        plain = estimate(noisy, shrinker=low, **given)
        np.testing.assert_array_equal(estimate(noisy, shrinker=low, **given, guide=other), plain)  # there are no atoms
        assert not np.array_equal(estimate(noisy, shrinker=low, **given, match_on=other), plain)
        plain = estimate(noisy, shrinker=shared, **given)
        assert not np.array_equal(estimate(noisy, shrinker=shared, **given, guide=other), plain)
        # Grey levels of the image that finds groups are free: only differences count.
        moved = estimate(noisy, shrinker=shared, **given, match_on=noisy + 500, guide=noisy)
        np.testing.assert_array_equal(moved, plain)


class TestLevels:
    @pytest.mark.parametrize("name", ["grey", "many bands", "colour", "video", "volume"])
    def test_a_map_of_one_level(self, name: str, isa: str, rng: np.random.Generator) -> None:
        shape, matching = CASES[name]
        _, noisy = picture(shape, rng)
        levels = np.full([size - side + 1 for size, side in zip(shape[1:], matching.patch, strict=True)], 7, np.float32)
        for shrinker in shrinkers(shape[0] * matching.size, rng):
            one, other, third = (
                estimate(noisy, matching=matching, shrinker=shrinker, level=level)
                for level in (7.0, levels, levels.astype(np.float64))
            )
            np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(one, third)

    def test_a_map_is_read_at_references(self, isa: str, rng: np.random.Generator) -> None:
        """Levels elsewhere do not matter, and where the level is zero nothing is shrunk."""
        _, noisy = picture((1, 2, 40, 41), rng)
        levels = np.full((2, 36, 37), 1e6, np.float32)
        grid = np.ix_([0, 1], [*range(0, 36, 3), 35], range(0, 37, 3))
        levels[grid] = 12
        whole = estimate(noisy, matching=SMALL, shrinker=LowRank(), level=12.0)
        np.testing.assert_array_equal(estimate(noisy, matching=SMALL, shrinker=LowRank(), level=levels), whole)
        levels[:, :, :21] = 0
        levels[1] = 0
        got = estimate(noisy, matching=SMALL, shrinker=LowRank(), level=levels)
        np.testing.assert_allclose(
            got[..., :15], noisy[..., :15], rtol=0, atol=2e-3
        )  # 15 = 21 - 6: no group from beyond
        np.testing.assert_allclose(got[:, 1], noisy[:, 1], rtol=0, atol=2e-3)
        np.testing.assert_array_equal(got[:, 0, :, 31:], whole[:, 0, :, 31:])


class TestWrongCalls:
    image = np.zeros((1, 1, 20, 24), np.float32)

    def call(self, **changed: Any) -> None:
        given: dict[str, Any] = {"noisy": self.image, "matching": SMALL, "shrinker": LowRank(), "level": 1.0}
        given |= changed
        estimate(given.pop("noisy"), **given)

    def test_right_call(self) -> None:
        self.call()
        self.call(matching=Matching(patch=(1, 20, 24)))

    @pytest.mark.parametrize("patch", [(2, 5, 5), (1, 21, 5), (1, 5, 25)])
    def test_patch_larger_than_the_image(self, patch: tuple[int, int, int]) -> None:
        with pytest.raises(
            ValueError, match=r"the image needs at least \(.*\) planes, rows and columns, got \(1, 20, 24\)"
        ):
            self.call(matching=Matching(patch=patch))

    def test_atoms_of_another_length(self, rng: np.random.Generator) -> None:
        with pytest.raises(ValueError, match="atoms need 25 pixels"):
            self.call(shrinker=SharedAtoms(atoms=rng.standard_normal((40, 24)), bound=1.0))
        with pytest.raises(ValueError, match="atoms need 50 pixels"):
            self.call(
                noisy=np.zeros((2, 1, 20, 24), np.float32),
                shrinker=SharedAtoms(atoms=rng.standard_normal((40, 25)), bound=1.0),
            )

    def test_threads(self) -> None:
        for threads in (0, -1):
            with pytest.raises(ValueError, match="threads must be at least 1"):
                self.call(threads=threads)

    @pytest.mark.filterwarnings("ignore:invalid value")
    @pytest.mark.parametrize("stride", [(1, 6, 5), (1, 5, 6), (2, 5, 5)])
    def test_strides_that_leave_gaps(self, stride: tuple[int, int, int]) -> None:
        """A pixel that no reference covers would have no estimate."""
        with pytest.raises(ValueError, match="stride"):
            self.call(noisy=np.zeros((1, 4, 20, 24), np.float32), matching=Matching(patch=(1, 5, 5), stride=stride))

    @pytest.mark.parametrize("level", [-1.0, np.nan, np.inf])
    def test_levels(self, level: float) -> None:
        with pytest.raises(ValueError, match="level"):
            self.call(level=level)

    @pytest.mark.parametrize("shape", [(1, 20, 24), (16, 20), (1, 15, 20), (2, 16, 20), (1, 20, 16)])
    def test_maps_of_another_shape(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(ValueError, match=r"level.*\(1, 16, 20\)"):
            self.call(level=np.ones(shape, np.float32))

    @pytest.mark.parametrize("name", ["match_on", "guide"])
    @pytest.mark.parametrize("shape", [(1, 1, 24, 20), (1, 1, 25, 24), (1, 1, 20, 23), (1, 2, 20, 24)])
    def test_images_of_another_shape(self, shape: tuple[int, ...], name: str) -> None:
        with pytest.raises(ValueError, match=name):
            self.call(**{name: np.zeros(shape, np.float32)})
