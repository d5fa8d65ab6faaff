"""Channels estimated one by one with common groups, progress, and averages that are finished row by row."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from group_cases import correlated

from epitomes import kernels
from epitomes.groups import LowRank, Matching, SharedAtoms, Shrinker, Wiener, estimate
from epitomes.groups._bands import RunningAverage
from epitomes.groups.matching import Planar

MATCHING = Matching(patch=(1, 5, 5), search_radius=(0, 6, 6), stride=(1, 3, 3), group_size=20)
VOLUME = Matching(patch=(2, 4, 4), search_radius=(1, 3, 3), stride=(1, 3, 3), group_size=12)
SHAPES: dict[str, tuple[tuple[int, ...], Matching]] = {
    "one channel": ((1, 1, 30, 22), MATCHING),
    "colour": ((3, 1, 60, 22), MATCHING),
    "two planes": ((2, 2, 30, 20), MATCHING),
    "volume": ((2, 5, 13, 12), VOLUME),
}


def picture(shape: tuple[int, ...], rng: np.random.Generator) -> Planar:
    c, t, y, x = np.indices(shape)
    clean = 120 + 60 * np.sin((x + 2 * y + 3 * t) / 4 + c) + 30 * (y > x)
    return np.rint(clean + 12 * rng.standard_normal(shape)).astype(np.float32)


def shrinkers(matching: Matching, rng: np.random.Generator) -> list[Shrinker]:
    return [
        LowRank(),
        SharedAtoms(atoms=rng.standard_normal((90, matching.size)), bound=0.5, by_rank=True),
        Wiener(covariance=correlated(matching.size)),
    ]


class TestByChannel:
    @pytest.mark.parametrize("name", SHAPES)
    def test_each_channel_with_the_groups_of_all(self, name: str, rng: np.random.Generator) -> None:
        shape, matching = SHAPES[name]
        noisy, guide = picture(shape, rng), picture(shape, rng)
        levels = [8.0 + 2 * c for c in range(shape[0])]
        for shrinker in shrinkers(matching, rng):
            together = estimate(
                noisy, matching=matching, shrinker=shrinker, level=levels, guide=guide, match_on=noisy, by_channel=True
            )
            for c, level in enumerate(levels):
                part = slice(c, c + 1)
                alone = estimate(
                    noisy[part], matching=matching, shrinker=shrinker, level=level, guide=guide[part], match_on=noisy
                )
                np.testing.assert_array_equal(together[part], alone)

    def test_groups_are_found_on_all_channels_by_default(self, rng: np.random.Generator) -> None:
        noisy = picture((3, 1, 26, 25), rng)
        given: dict[str, Any] = {"matching": MATCHING, "shrinker": LowRank(), "level": [9.0] * 3, "by_channel": True}
        np.testing.assert_array_equal(estimate(noisy, **given), estimate(noisy, **given, match_on=noisy))
        assert not np.array_equal(estimate(noisy, **given), estimate(noisy, **given, match_on=noisy[:1]))

    def test_they_are_found_once(self, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[int] = []
        match = kernels.match
        monkeypatch.setattr(kernels, "match", lambda *given: calls.append(1) or match(*given))
        counts = []
        for channels in (1, 4):
            calls.clear()
            noisy = picture((channels, 1, 60, 22), rng)
            estimate(noisy, matching=MATCHING, shrinker=LowRank(), level=[9.0] * channels, by_channel=True)
            counts.append(len(calls))
        assert counts[0] == counts[1] > 1

    def test_a_level_for_each_channel_and_place(self, rng: np.random.Generator) -> None:
        noisy = picture((2, 1, 26, 25), rng)
        maps = [np.full((1, 22, 21), level, np.float32) for level in (7, 11)]
        given: dict[str, Any] = {"matching": MATCHING, "shrinker": LowRank(), "by_channel": True}
        expected = estimate(noisy, **given, level=[7.0, 11.0])
        np.testing.assert_array_equal(estimate(noisy, **given, level=maps), expected)
        np.testing.assert_array_equal(estimate(noisy, **given, level=(7.0, maps[1])), expected)

    def test_one_channel_is_the_whole_image(self, rng: np.random.Generator) -> None:
        noisy = picture((1, 1, 26, 25), rng)
        given: dict[str, Any] = {"matching": MATCHING, "shrinker": LowRank()}
        expected = estimate(noisy, **given, level=9.0)
        np.testing.assert_array_equal(estimate(noisy, **given, level=[9.0], by_channel=True), expected)
        np.testing.assert_array_equal(estimate(noisy, **given, level=[9.0]), expected)

    @pytest.mark.parametrize("threads", [2, 3, 5])
    def test_threads(self, threads: int, rng: np.random.Generator) -> None:
        noisy = picture((3, 1, 120, 22), rng)
        for shrinker in shrinkers(MATCHING, rng):
            given: dict[str, Any] = {"matching": MATCHING, "shrinker": shrinker, "level": [9.0] * 3}
            one, other = (estimate(noisy, **given, by_channel=True, threads=n) for n in (1, threads))
            np.testing.assert_array_equal(one, other)

    def test_wrong_levels(self, rng: np.random.Generator) -> None:
        noisy = picture((3, 1, 26, 25), rng)
        given: dict[str, Any] = {"matching": MATCHING, "shrinker": LowRank()}
        for level, by_channel, needed in (([9.0] * 2, True, 3), (9.0, True, 3), ([9.0] * 3, False, 1)):
            with pytest.raises(ValueError, match=f"level needs {needed} entries, one for each estimate"):
                estimate(noisy, **given, level=level, by_channel=by_channel)
        with pytest.raises(ValueError, match="level must be a finite number >= 0"):
            estimate(noisy, **given, level=[9.0, -1.0, 9.0], by_channel=True)

    def test_atoms_have_the_pixels_of_one_channel(self, rng: np.random.Generator) -> None:
        with pytest.raises(ValueError, match="atoms need 25 pixels"):
            estimate(
                picture((3, 1, 26, 25), rng),
                matching=MATCHING,
                shrinker=SharedAtoms(atoms=rng.standard_normal((90, 75)), bound=0.5),
                level=[9.0] * 3,
                by_channel=True,
            )


class TestCallback:
    @pytest.mark.parametrize("at_once", [1, 2, 1000])
    def test_fractions_grow_to_one(
        self, at_once: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys.modules[estimate.__module__], "BANDS_PER_THREAD", at_once)
        noisy, told = picture((1, 1, 150, 14), rng), list[float]()
        given: dict[str, Any] = {"matching": MATCHING, "shrinker": LowRank(), "level": 9.0, "threads": 1}
        heard = estimate(noisy, **given, callback=told.append)
        assert told[-1] == 1 and all(0 < fraction <= 1 for fraction in told)
        assert np.all(np.diff(told) > 0) and len(told) == 7  # 49 lines + 1 of references, 8 in a band
        np.testing.assert_array_equal(heard, estimate(noisy, **given))

    def test_an_error_in_it_is_heard(self, rng: np.random.Generator) -> None:
        def stop(fraction: float) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            estimate(picture((1, 1, 30, 30), rng), matching=MATCHING, shrinker=LowRank(), level=9.0, callback=stop)


class TestRunningAverage:
    def parts(self, rng: np.random.Generator) -> list[tuple[slice, Planar, Planar]]:
        """Overlapping bands in order, as those of references are."""
        bands = [(0, 9), (2, 14), (7, 20), (11, 20)]
        return [
            (
                slice(*band),
                rng.standard_normal((2, band[1] - band[0], 5)).astype(np.float32),
                rng.uniform(0.5, 2, (2, band[1] - band[0], 5)).astype(np.float32),
            )
            for band in bands
        ]

    @pytest.mark.parametrize("finished", [(), (2,), (2, 7, 11), (2, 2, 1)])
    def test_sums_are_complete_when_they_are_finished(
        self, finished: tuple[int, ...], rng: np.random.Generator
    ) -> None:
        parts = self.parts(rng)
        total, weight = np.zeros((2, 20, 5)), np.zeros((2, 20, 5))
        for rows, sums, weights in parts:
            total[:, rows] += sums
            weight[:, rows] += weights
        average, done = RunningAverage(2, (5,)), []
        for number, (rows, *sums) in enumerate(parts):
            average.add(rows, (slice(None),), *sums)
            if number < len(finished):
                done.append(average.finish(finished[number]))
                assert sum(part.shape[1] for part, _ in done) == max(finished[: number + 1])
        done.append(average.finish(20))
        np.testing.assert_array_equal(np.concatenate([part for part, _ in done], axis=1), total)
        np.testing.assert_array_equal(np.concatenate([part for _, part in done], axis=1), weight)
        assert average.total.shape[1] == 0  # nothing is kept

    def test_memory_is_that_of_unfinished_rows(self, rng: np.random.Generator) -> None:
        average = RunningAverage(2, (5,))
        parts = self.parts(rng)
        for rows, *sums in parts[:2]:
            average.add(rows, (slice(None),), *sums)
        assert average.total.shape[1] == 14
        average.finish(7)
        assert average.total.shape[1] == 7
        for rows, *sums in parts[2:]:
            average.add(rows, (slice(None),), *sums)
        assert average.total.shape[1] == 13


def test_large_images_hold_a_few_bands(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of the size of the image would be 16 bytes for each of its values."""
    module = sys.modules[estimate.__module__]
    monkeypatch.setattr(module, "BANDS_PER_THREAD", 1)
    rows: list[int] = []

    class Watched(RunningAverage):
        def add(self, *part: Any) -> None:
            super().add(*part)
            rows.append(self.total.shape[1])

    monkeypatch.setattr(module, "RunningAverage", Watched)
    estimate(picture((1, 1, 400, 12), rng), matching=MATCHING, shrinker=LowRank(), level=9.0, threads=1)
    assert max(rows) <= 2 * (8 * 3 + 2 * 6 + 5) and len(rows) > 10
