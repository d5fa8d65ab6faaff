"""Block matching: the places and distances of the specification, whatever stands beside a reference, and who may join.

Images of small whole numbers have exact distances in float32, so there even ties must fall as in the specification.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from epitomes import kernels
from epitomes.groups import Matching
from epitomes.groups.matching import Reference, matches, references
from epitomes.kernels import _native, reference_groups

Found = tuple[NDArray[np.int32], NDArray[np.float32]]
Sizes = tuple[int, int, int]

NATIVE = [isa for isa in kernels.isas if kernels.isa != "reference"]


def go() -> NDArray[np.uint8]:
    return np.zeros(1, np.uint8)


def found(isa: str, image: Any, patch: Sizes, reach: Sizes, plane: int, tops: Any, lefts: Any, n_matches: int) -> Found:
    """Matches by an instruction set, or by the specification."""
    rows, columns = np.asarray(tops, np.int64), np.asarray(lefts, np.int64)
    shape = (len(rows) * len(columns), n_matches)
    places, distances = np.full(shape, -7, np.int32), np.full(shape, np.nan, np.float32)
    if isa == "reference":
        reference_groups.match(image, patch, reach, plane, rows, columns, places, distances)
    else:
        number = kernels.isas.index(isa)
        _native.match(number, image, patch, reach, plane, rows, columns, go(), places, distances)
    return places, distances


def same(one: Found, other: Found) -> None:
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1], other[1])


def whole_numbers(shape: tuple[int, ...], rng: np.random.Generator, n_tones: int = 256) -> NDArray[np.float32]:
    return rng.integers(0, n_tones, shape).astype(np.float32)


def real_numbers(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float32]:
    return rng.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("isa", NATIVE)
class TestSpecification:
    @pytest.mark.slow
    @settings(max_examples=200, deadline=None, derandomize=True)
    @given(
        axes=st.tuples(
            *(st.tuples(st.integers(1, most), st.integers(0, room)) for most, room in ((2, 2), (8, 9), (9, 30)))
        ),
        reach=st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 40)),
        channels=st.integers(1, 3),
        n_tones=st.sampled_from([1, 2, 5, 256]),
        n_matches=st.integers(1, 90),
        seed=st.integers(0, 10_000),
    )
    def test_any_shape(
        self, isa: str, axes: Any, reach: Sizes, channels: int, n_tones: int, n_matches: int, seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        patch = tuple(side for side, _ in axes)
        image = whole_numbers((channels, *(side + room for side, room in axes)), rng, n_tones)
        plane = int(rng.integers(axes[0][1] + 1))
        tops, lefts = (rng.integers(room + 1, size=3) for _, room in axes[1:])
        given = (image, patch, reach, plane, tops, lefts, n_matches)
        same(found(isa, *given), found("reference", *given))

    @pytest.mark.parametrize("width", [*range(1, 18), 31, 32, 33])
    def test_patches_of_every_width(self, width: int, isa: str, rng: np.random.Generator) -> None:
        image = whole_numbers((1, 1, 6, width + 20), rng, 16)
        given = (image, (1, 2, width), (0, 3, 12), 0, [0, 3, 4], [0, 1, 10, 20], 40)
        same(found(isa, *given), found("reference", *given))

    def test_constant_images_are_all_ties(self, isa: str) -> None:
        """The reference, then the places of the window in their order."""
        image = np.full((2, 3, 10, 12), 0.3, np.float32)
        places, distances = found(isa, image, (1, 3, 3), (1, 2, 2), 1, [4], [5], 75)
        there = np.ravel_multi_index(np.mgrid[0:3, 2:7, 3:8].reshape(3, -1), (3, 10, 12))
        itself = (1 * 10 + 4) * 12 + 5
        np.testing.assert_array_equal(places[0], [itself, *there[there != itself]])
        np.testing.assert_array_equal(distances, 0)

    def test_periodic_images(self, isa: str, rng: np.random.Generator) -> None:
        """Every period is a match at distance zero, in the order of places; nothing else is."""
        image = np.tile(whole_numbers((1, 1, 5, 7), rng), (1, 1, 6, 6))
        places, distances = found(isa, image, (1, 6, 6), (0, 12, 15), 0, [12], [16], 60)
        rows, columns = np.meshgrid([2, 7, 12, 17, 22], [2, 9, 16, 23, 30], indexing="ij")
        periods = (rows * 42 + columns).ravel()
        itself = 12 * 42 + 16
        np.testing.assert_array_equal(places[0, :25], [itself, *periods[periods != itself]])
        np.testing.assert_array_equal(distances[0, :25], 0)
        assert (distances[0, 25:] > 0).all()
        given = (image, (1, 6, 6), (0, 12, 15), 0, [12], [16], 60)
        same(found(isa, *given), found("reference", *given))

    @pytest.mark.parametrize("shape", [(1, 1, 1), (1, 5, 9), (3, 4, 2), (1, 1, 40), (2, 17, 1)])
    def test_patch_as_large_as_the_image(self, shape: Sizes, isa: str, rng: np.random.Generator) -> None:
        image = real_numbers((2, *shape), rng)
        for reach in ((0, 0, 0), (2, 3, 50)):
            places, distances = found(isa, image, shape, reach, 0, [0], [0], 4)
            np.testing.assert_array_equal(places, 0)
            np.testing.assert_array_equal(distances, [[0, np.inf, np.inf, np.inf]])

    def test_too_few_patches_repeat_the_last(self, isa: str, rng: np.random.Generator) -> None:
        image = real_numbers((1, 2, 7, 8), rng)
        places, distances = found(isa, image, (1, 4, 4), (1, 1, 30), 0, [0, 2], [0, 4], 50)
        for row, n in enumerate((2 * 2 * 5, 2 * 2 * 5, 2 * 3 * 5, 2 * 3 * 5)):
            assert np.isfinite(distances[row, :n]).all() and (np.diff(distances[row, :n]) >= 0).all()
            assert len(set(places[row, :n].tolist())) == n
            np.testing.assert_array_equal(distances[row, n:], np.inf)
            np.testing.assert_array_equal(places[row, n:], places[row, n - 1])

    @pytest.mark.parametrize("channels", [1, 3])
    @pytest.mark.parametrize("patch", [(1, 8, 8), (1, 5, 11), (2, 3, 4)])
    def test_real_numbers(self, patch: Sizes, channels: int, isa: str, rng: np.random.Generator) -> None:
        """Distances up to rounding; a place may differ only where two patches are equally near."""
        image = 100 + 30 * real_numbers((channels, 3, 26, 37), rng)
        given = (image, patch, (1, 6, 7), 1, [0, 9, 26 - patch[1]], [0, 3, 20, 37 - patch[2]], 80)
        (places, distances), (places_0, distances_0) = found(isa, *given), found("reference", *given)
        np.testing.assert_allclose(distances, distances_0, rtol=1e-5)
        assert (np.diff(distances) >= 0).all()
        assert (places == places_0).mean() > 0.999

    def test_windows_end_where_the_image_ends(self, isa: str, rng: np.random.Generator) -> None:
        """A window far larger than the image is the image."""
        image = whole_numbers((1, 2, 9, 11), rng, 9)
        for plane in (0, 1):
            just = found(isa, image, (1, 3, 4), (1, 6, 7), plane, [0, 2, 6], [0, 5, 7], 120)
            same(just, found(isa, image, (1, 3, 4), (5, 90, 200), plane, [0, 2, 6], [0, 5, 7], 120))

    def test_a_single_match_is_the_reference(self, isa: str, rng: np.random.Generator) -> None:
        places, distances = found(isa, real_numbers((1, 1, 9, 9), rng), (1, 3, 3), (0, 3, 3), 0, [0, 5], [1, 6], 1)
        np.testing.assert_array_equal(places, [[1], [6], [46], [51]])
        np.testing.assert_array_equal(distances, 0)

    def test_no_references(self, isa: str) -> None:
        for tops, lefts in (([], [0]), ([0], []), ([], [])):
            places, _ = found(isa, np.zeros((1, 1, 4, 4), np.float32), (1, 2, 2), (0, 1, 1), 0, tops, lefts, 3)
            assert places.shape == (0, 3)

    def test_the_wrapper(self, isa: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
        image = whole_numbers((2, 2, 12, 15), rng)
        image.flags.writeable = False
        tops, lefts = np.array([0, 7]), np.array([2, 3, 10])
        answers = []
        for name in (isa, "reference"):
            monkeypatch.setattr(kernels, "isa", name)
            answers.append(kernels.match(image, (2, 5, 4), (1, 4, 4), 0, tops, lefts, 9, go()))
            assert answers[-1][0].dtype == np.int32 and answers[-1][1].dtype == np.float32
            assert answers[-1][0].shape == answers[-1][1].shape == (6, 9)
        same(*answers)


@pytest.mark.parametrize("isa", NATIVE)
class TestBits:
    """A reference has the same matches, to the last bit, whatever is asked beside it."""

    patch, reach = (1, 5, 7), (1, 4, 6)

    def test_any_lines_and_columns_at_once(self, isa: str, rng: np.random.Generator) -> None:
        image = real_numbers((2, 2, 23, 45), rng)
        tops, lefts = np.arange(19), np.arange(39)
        places, distances = (
            a.reshape(19, 39, 30) for a in found(isa, image, self.patch, self.reach, 1, tops, lefts, 30)
        )
        for _ in range(20):
            some, others = rng.permutation(19)[: rng.integers(1, 6)], rng.permutation(39)[: rng.integers(1, 9)]
            part = found(isa, image, self.patch, self.reach, 1, some, others, 30)
            chosen = np.ix_(some, others)
            same(part, (places[chosen].reshape(-1, 30), distances[chosen].reshape(-1, 30)))
        twice = found(isa, image, self.patch, self.reach, 1, [3, 3], [4, 4], 30)
        same(twice, (np.tile(places[3, 4], (4, 1)), np.tile(distances[3, 4], (4, 1))))

    def test_fewer_matches_are_the_first_of_more(self, isa: str, rng: np.random.Generator) -> None:
        image = whole_numbers((1, 1, 20, 20), rng, 3)
        places, distances = found(isa, image, (1, 3, 3), (0, 8, 8), 0, [2, 9], [0, 9], 200)
        for n in (1, 2, 17, 64, 199):
            same(found(isa, image, (1, 3, 3), (0, 8, 8), 0, [2, 9], [0, 9], n), (places[:, :n], distances[:, :n]))

    def test_only_the_window_matters(self, isa: str, rng: np.random.Generator) -> None:
        image = real_numbers((2, 5, 30, 40), rng)
        other = np.full_like(image, 1e9)
        top, left, plane = 12, 17, 2
        window = np.s_[:, 1:4, top - 4 : top + 5 + 4, left - 6 : left + 7 + 6]
        other[window] = image[window]
        given = (self.patch, self.reach, plane, [top], [left], 200)
        same(found(isa, image, *given), found(isa, other, *given))

    def test_position_in_the_image_does_not_matter(self, isa: str, rng: np.random.Generator) -> None:
        """The same content further right, and in a wider image, has the same distances."""
        content = real_numbers((1, 1, 12, 16), rng)
        rows, columns = np.divmod(found(isa, content, (1, 5, 5), (0, 3, 3), 0, [4], [6], 49)[0], 16)
        distances = found(isa, content, (1, 5, 5), (0, 3, 3), 0, [4], [6], 49)[1]
        for before in range(6):
            for after in range(10):
                image = np.pad(content, ((0, 0), (0, 0), (0, 0), (before, after)), constant_values=50.0)
                goal = found(isa, image, (1, 5, 5), (0, 3, 3), 0, [4], [6 + before], 49)
                same((rows * image.shape[3] + columns + before, distances), goal)

    def test_grey_levels_may_be_shifted(self, isa: str, rng: np.random.Generator) -> None:
        image = whole_numbers((1, 1, 20, 20), rng, 50)
        given = ((1, 4, 4), (0, 6, 6), 0, [0, 8], [3, 16], 40)
        same(found(isa, image, *given), found(isa, image + 1000, *given))
        same(found(isa, image, *given), found(isa, -image, *given))

    def test_a_raised_flag_ends_the_work(self, isa: str, rng: np.random.Generator) -> None:
        places, distances = np.full((4, 3), -7, np.int32), np.full((4, 3), 5, np.float32)
        lines = np.array([0, 1])
        image = real_numbers((1, 1, 9, 9), rng)
        number, raised = kernels.isas.index(isa), np.ones(1, np.uint8)
        _native.match(number, image, (1, 3, 3), (0, 2, 2), 0, lines, lines, raised, places, distances)
        assert (places == -7).all() and (distances == 5).all()


@pytest.mark.skipif(not NATIVE, reason="tests the native bindings")
class TestWrongCalls:
    """The bindings check what Python should have checked: a wrong call is an error, never a wrong read."""

    def call(self, **changed: Any) -> None:
        given: dict[str, Any] = {
            "isa": 0,
            "image": np.zeros((1, 2, 20, 30), np.float32),
            "patch": (1, 4, 5),
            "reach": (0, 3, 3),
            "plane": 0,
            "tops": np.array([0, 16]),
            "lefts": np.array([0, 25]),
            "stop": go(),
            "places": np.zeros((4, 6), np.int32),
            "distances": np.zeros((4, 6), np.float32),
        }
        _native.match(**given | changed)

    def test_right_call(self) -> None:
        self.call()
        self.call(plane=1)

    @pytest.mark.parametrize(
        "changed",
        [
            {"tops": np.array([0, 17])},
            {"tops": np.array([-1, 0])},
            {"tops": np.array([0, 2**63 - 1])},
            {"lefts": np.array([0, 26])},
            {"lefts": np.array([-1, 0])},
            {"lefts": np.array([-(2**63), 0])},
            {"plane": 2},
            {"plane": 1, "patch": (2, 4, 5)},
            {"plane": 2**64 - 1},
        ],
        ids=str,
    )
    def test_references_that_leave_the_image(self, changed: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="leaves the image"):
            self.call(**changed)

    @pytest.mark.parametrize("patch", [(3, 4, 5), (1, 21, 5), (1, 4, 31), (0, 4, 5), (1, 0, 5), (1, 4, 0)])
    def test_patches(self, patch: Sizes) -> None:
        with pytest.raises(ValueError, match="patch is larger than the image"):
            self.call(patch=patch)

    def test_sizes(self) -> None:
        for changed in (
            {"places": np.zeros((3, 6), np.int32)},
            {"distances": np.zeros((3, 6), np.float32)},
            {"distances": np.zeros((4, 5), np.float32)},
            {"places": np.zeros((4, 0), np.int32), "distances": np.zeros((4, 0), np.float32)},
        ):
            with pytest.raises(ValueError, match="do not agree"):
                self.call(**changed)
        with pytest.raises(ValueError, match="stop flag"):
            self.call(stop=np.zeros(2, np.uint8))
        with pytest.raises(ValueError, match="too large"):
            self.call(reach=(0, 2**20, 3))
        with pytest.raises(ValueError, match="no such instruction set"):
            self.call(isa=len(kernels.isas))

    def test_types_and_layouts(self) -> None:
        image = np.zeros((1, 2, 20, 30), np.float32)
        for changed in (
            {"image": image.astype(np.float64)},
            {"image": image[0]},
            {"image": np.zeros((1, 2, 20, 60), np.float32)[..., ::2]},
            {"tops": np.array([0, 16], np.int32)},
            {"places": np.zeros((4, 6), np.int64)},
            {"patch": (4, 5)},
            {"reach": (0, -1, 3)},
            {"plane": -1},
        ):
            with pytest.raises(TypeError):
                self.call(**changed)


class TestGrid:
    @settings(max_examples=80, deadline=None, derandomize=True)
    @given(
        axes=st.tuples(*(st.tuples(st.integers(1, 6), st.integers(0, 12), st.integers(1, 8)) for _ in range(3))),
        n_lines=st.integers(1, 9),
    )
    def test_every_stride(self, axes: Any, n_lines: int) -> None:
        """Steps of one stride from the first position, and the last position; in lines, all of them, in order."""
        patch, room, stride = (tuple(column) for column in zip(*axes, strict=True))
        bands = list(references(Matching(patch=patch, stride=stride), tuple(np.add(patch, room)), n_lines))
        wanted = [sorted({*range(0, last + 1, step), last}) for last, step in zip(room, stride, strict=True)]
        got = [(band.plane, top) for band in bands for top in band.tops.tolist()]
        assert got == [(plane, top) for plane in wanted[0] for top in wanted[1]]
        for band in bands:
            assert band.lefts.tolist() == wanted[2]
            assert 1 <= len(band.tops) <= n_lines and len(band) == len(band.tops) * len(wanted[2])

    def test_all_is_covered_where_the_stride_is_no_longer_than_the_patch(self) -> None:
        matching = Matching(patch=(2, 4, 5), stride=(2, 4, 5))
        seen = np.zeros((5, 23, 31), int)
        for band in references(matching, seen.shape, 3):
            for top in band.tops:
                for left in band.lefts:
                    seen[band.plane : band.plane + 2, top : top + 4, left : left + 5] += 1
        assert seen.min() == 1


class TestMembers:
    """How many of the nearest patches belong to a group."""

    image = np.zeros((2, 1, 8, 40), np.float32)
    image[0, :, :, 8:] = np.repeat(
        [3, 5, 9, 20], 8
    )  # distances of flat patches: 9, 25, 81, 400, halved by a second channel
    first = Reference(0, np.array([0]), np.array([0]))

    def members(self, **settings: Any) -> int:
        matching = Matching(patch=(1, 8, 8), search_radius=(0, 0, 40), **settings)
        places, counts = matches(self.image, matching, self.first, go())
        assert places.dtype == counts.dtype == np.int32 and places.shape == (1, matching.group_size)
        return int(counts[0])

    def test_without_a_threshold_all_that_are_there(self) -> None:
        assert self.members(group_size=5) == 5
        assert self.members(group_size=33) == 33
        assert self.members(group_size=50) == 33  # the image has no more

    def test_threshold_is_a_mean_of_squares(self) -> None:
        """Patches 0, 1, ... to the right: k columns of 3, so `9 k / 8` in one of two channels."""
        for k in range(1, 9):
            threshold = 9 * k / 8 / 2
            assert (
                self.members(group_size=33, least_members=1, threshold=threshold) == k + 1
            )  # a distance equal to the threshold is near
            assert self.members(group_size=33, least_members=1, threshold=threshold - 0.01) == k

    def test_threshold_and_least(self) -> None:
        assert self.members(group_size=33, least_members=4, threshold=0.0) == 4
        assert self.members(group_size=33, least_members=1, threshold=0.0) == 1
        assert self.members(group_size=33, least_members=4, threshold=9 / 2) == 9  # enough are near
        assert self.members(group_size=3, least_members=7, threshold=0.0) == 3  # no more than are asked for
        assert self.members(group_size=50, least_members=48, threshold=0.0) == 33  # nor than there are
        assert self.members(group_size=6, least_members=1, threshold=1e6) == 6

    def test_identical_patches_are_near_at_threshold_zero(self, rng: np.random.Generator) -> None:
        image = np.tile(rng.random((1, 1, 6, 6), np.float32), (1, 1, 3, 3))
        matching = Matching(patch=(1, 6, 6), search_radius=(0, 6, 6), group_size=30, least_members=1, threshold=0.0)
        places, counts = matches(image, matching, Reference(0, np.array([6]), np.array([0, 6])), go())
        assert counts.tolist() == [6, 9]
        assert sorted(places[0, :6].tolist()) == [0, 6, 108, 114, 216, 222]

    @pytest.mark.filterwarnings("ignore:overflow")
    def test_a_threshold_beyond_float32(self) -> None:
        """Nothing is too far, but a patch that only fills the row is no member."""
        for threshold in (1e30, 1e38, 1e300):
            assert self.members(group_size=50, least_members=1, threshold=threshold) == 33

    def test_more_channels_than_are_needed(self) -> None:
        """A channel that is the same everywhere halves the mean: the threshold is for each value of a patch."""
        matching = Matching(patch=(1, 8, 8), search_radius=(0, 0, 40), group_size=33, least_members=1, threshold=9.0)
        alone = matches(self.image[:1].copy(), matching, self.first, go())[1][0]
        beside = matches(self.image, matching, self.first, go())[1][0]
        assert alone == 9 and beside > alone


class TestSettings:
    def test_size(self) -> None:
        assert Matching(patch=(2, 3, 5)).size == 30

    @pytest.mark.parametrize(
        ("wrong", "error", "text"),
        [
            ({"patch": (1, 0, 8)}, ValueError, "patch must be at least 1, got 0"),
            ({"patch": (1, 8.0, 8)}, TypeError, "patch must be a whole number, got 8.0"),
            ({"stride": (1, 4, 0)}, ValueError, "stride must be at least 1, got 0"),
            ({"stride": (True, 4, 4)}, TypeError, "stride must be a whole number, got True"),
            ({"search_radius": (0, -1, 3)}, ValueError, "search_radius must be at least 0, got -1"),
            ({"group_size": 0}, ValueError, "group_size must be at least 1, got 0"),
            ({"least_members": 0}, ValueError, "least_members must be at least 1, got 0"),
            ({"threshold": -0.1}, ValueError, r"threshold must be a finite number >= 0, got -0\.1"),
            ({"threshold": np.inf}, ValueError, "threshold must be a finite number >= 0, got inf"),
            ({"threshold": np.nan}, ValueError, "threshold must be a finite number >= 0, got nan"),
            ({"threshold": "1"}, TypeError, "threshold must be a number, got '1'"),
            ({"patch": (8, 8)}, ValueError, "patch"),
            ({"search_radius": (18, 18)}, ValueError, "search_radius"),
            ({"stride": (1, 1, 4, 4)}, ValueError, "stride"),
        ],
        ids=str,
    )
    def test_wrong_settings_are_named(self, wrong: dict[str, Any], error: type[Exception], text: str) -> None:
        with pytest.raises(error, match=text):
            Matching(**{"patch": (1, 8, 8)} | wrong)
