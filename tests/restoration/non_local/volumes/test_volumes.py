"""Volumes and clips: better than plane by plane, the same bits in slabs and for any threads, arrangements by trial."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.fft import dctn, idctn
from scipy.ndimage import gaussian_filter

from epitomes import denoise, plan, restore
from epitomes.formats import Picture
from epitomes.restoration import NonLocal
from epitomes.restoration.non_local.volumes.arrangement import (
    ALIGNED,
    ARRANGEMENTS,
    FLAT,
    SHARE,
    SHARED,
    STILL,
    WIDE,
    Arrangement,
    best_of,
    candidates,
    related,
    tried_on,
)
from epitomes.restoration.non_local.volumes.method import (
    attempt,
    chosen,
    coded,
    cosine_dictionary,
    measured,
    noisy_planes,
    stages_of,
    stream,
)
from epitomes.restoration.non_local.volumes.pilot import THRESHOLD, piloted
from epitomes.restoration.non_local.volumes.stages import CLEAR, Search

SIGMA = 20.0

Floats = NDArray[np.float64]


def solid(shape: tuple[int, int, int], rng: np.random.Generator) -> Floats:
    """As smooth along its planes as across them."""
    return np.asarray(100 + 900 * gaussian_filter(rng.standard_normal(shape), 2.5, mode="wrap"))


def panned(n: int, side: int, step: int, rng: np.random.Generator) -> Floats:
    """A camera that moves over a picture with fine detail."""
    scene = 100 + 300 * gaussian_filter(rng.standard_normal((side, side + n * step)), 1.6)
    return np.stack([scene[:, k * step : k * step + side] for k in range(n)])


def noisy(clean: Floats, rng: np.random.Generator, sigma: float = SIGMA) -> Floats:
    return clean + sigma * rng.standard_normal(clean.shape)


def error(estimate: Floats, clean: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(estimate - clean))))


@pytest.mark.slow
def test_better_than_plane_by_plane(rng: np.random.Generator) -> None:
    clean = solid((12, 32, 32), rng)
    volume = noisy(clean, rng)
    single = denoise(volume, SIGMA, method=NonLocal(planes="single"))
    errors = {preset: error(denoise(volume, SIGMA, preset=preset), clean) for preset in ("fast", "balanced", "best")}
    assert errors["balanced"] < 0.75 * error(single, clean)
    assert errors["fast"] < error(single, clean) and errors["best"] < 1.03 * errors["balanced"]


@pytest.mark.slow
def test_motion_is_followed(rng: np.random.Generator) -> None:
    clean = panned(8, 56, 7, rng)
    clip = noisy(clean, rng)
    errors = {name: error(denoise(clip, SIGMA, method=NonLocal(planes=name)), clean) for name in ("still", "aligned")}
    assert errors["aligned"] < 0.9 * errors["still"]


@pytest.mark.slow
def test_arrangements_are_chosen_on_held_out_noise(rng: np.random.Generator) -> None:
    """The choice is hardly worse than the best one, and follows motion where that matters."""
    tried = partial(attempt, preset="balanced", threads=1)
    for clean in (solid((14, 48, 48), rng), panned(12, 48, 7, rng)):
        volume = noisy(clean, rng)
        errors = {
            each.name: error(list(tried(volume, SIGMA, arrangement=each))[-1], clean) for each in ARRANGEMENTS.values()
        }
        assert errors[chosen(volume, SIGMA, "auto", None, "balanced", 0, 1).name] < 1.03 * min(errors.values())
    assert errors["aligned"] < 0.95 * min(errors["flat"], errors["wide"])
    restored = restore(noisy(panned(8, 56, 7, rng), rng), SIGMA, preset="balanced")
    assert restored.how == ALIGNED.words and restored.as_dict()["how"] == ALIGNED.words


def test_held_out_noise_judges_attempts(rng: np.random.Generator) -> None:
    """By their error on tiles; attempts that are surely worse are not tried on more of them."""
    clean = solid((4, 24, 24), rng)
    tiles = [noisy(clean, rng) for _ in range(3)]
    calls = [0, 0, 0]

    def tried(k: int, tile: Floats, sigma: float) -> list[Floats]:
        assert sigma == pytest.approx(SIGMA * np.hypot(1, SHARE))
        calls[k] += 1
        return [clean + (0.02 * (2 - k), 0.01, 3.0)[k] * (tile - clean)]

    assert best_of(tiles, SIGMA, [partial(tried, k) for k in range(3)], 0) == 1
    assert calls[2] == 1 and calls[0] == calls[1] == 3


def test_noise_with_the_seed_of_the_trial_does_not_deceive_it(rng: np.random.Generator) -> None:
    clean = solid((4, 24, 24), rng)
    tile = clean + SIGMA * np.random.default_rng(0).standard_normal(clean.shape)
    attempts = [lambda tile, sigma: [clean], lambda tile, sigma: [clean + 0.5 * (tile - clean)]]
    assert best_of([tile], SIGMA, attempts, 0) == 0


def test_attempts_that_are_far_worse_have_one_stage(rng: np.random.Generator) -> None:
    """Others may be better in the end."""
    clean = solid((4, 24, 24), rng)
    stages = [[0.2, 0.1], [0.2, 0.01], [3.0, 0.0]]
    seen: list[int] = []

    def tried(k: int, tile: Floats, sigma: float) -> Iterator[Floats]:
        for share in stages[k]:
            seen.append(k)
            yield clean + share * (tile - clean)

    assert best_of([noisy(clean, rng)], SIGMA, [partial(tried, k) for k in range(3)], 0) == 1
    assert seen == [0, 1, 2, 0, 1]


def test_spacing_narrows_the_choice() -> None:
    assert candidates(None) == [each for each in ARRANGEMENTS.values() if each is not SHARED]
    assert candidates(1.2) == [each for each in candidates(None) if not each.aligned]
    near, wide = candidates(3.0)
    assert (near.name, wide.name) == (FLAT.name, WIDE.name)
    assert near.search.search_radius == (2, 6, 6) and candidates(20.0)[0].coding.search_radius == (1, 6, 6)
    volume = np.zeros((4, 16, 16))
    assert chosen(volume, 1.0, "flat", 3.0, "balanced", 0, 1) == near
    assert chosen(volume, 1.0, "still", 3.0, "balanced", 0, 1) == STILL


def test_files_say_the_spacing(rng: np.random.Generator) -> None:
    pixels, steps = noisy(solid((4, 16, 18), rng), rng), {"Z": 3.0, "Y": 0.5, "X": 2.0}
    units = {letter: "um" for letter in "ZYX"}

    def told(picture: Picture) -> float | None:
        method = plan(picture, SIGMA, preset="fast").method
        assert isinstance(method, NonLocal)
        return method.spacing

    assert told(Picture(pixels, "ZYX", steps, units)) == 3.0
    assert told(Picture(np.stack([pixels] * 2), "TZYX", {**steps, "T": 9.0}, units)) == 3.0
    for unknown in (
        Picture(pixels, "ZYX", {"Z": 3.0}, units),
        Picture(pixels, "ZYX", steps, {**units, "Z": "mm"}),
        Picture(pixels, "TYX", {"T": 3.0, "Y": 1.0, "X": 1.0}),
    ):
        assert told(unknown) is None
    mine = NonLocal(preset="fast", spacing=1.0)
    assert plan(Picture(pixels, "ZYX", steps, units), SIGMA, method=mine).method == mine
    with pytest.raises(ValueError, match="spacing"):
        NonLocal(spacing=0.0)


def test_patches_grow_where_detail_is_faint() -> None:
    cube, wide = Search(), Search(patch=(2, 8, 8), stride=(1, 5, 5))
    assert cube.fitted(CLEAR) == cube and wide.fitted(10.0) == wide
    assert cube.fitted(CLEAR / 2).patch == (5, 5, 5) and cube.fitted(CLEAR / 2).stride == (3, 3, 3)
    assert wide.fitted(0.8).patch == (2, 10, 10) and wide.fitted(0.8).stride == (1, 6, 6)
    for search in (cube, wide, Search(patch=(2, 3, 5), stride=(1, 1, 1))):
        sparse = search.sparse()
        assert sparse.patch == search.patch and all(
            step <= side for step, side in zip(sparse.stride, sparse.patch, strict=True)
        )


def test_planes_that_have_nothing_in_common(rng: np.random.Generator) -> None:
    pictures = np.stack([100 + 300 * gaussian_filter(rng.standard_normal((60, 62)), 1.6) for _ in range(4)])
    stack = noisy(pictures, rng, 5.0)
    restored = restore(stack, 5.0, preset="fast")
    assert restored.how == "each plane by itself: neighbouring planes have little in common"
    np.testing.assert_array_equal(restored.image, denoise(stack, 5.0, preset="fast", spatial=2))
    assert related(noisy(panned(4, 40, 2, rng), rng), SIGMA) and related(noisy(np.full((4, 9, 9), 7.0), rng), SIGMA)


def test_tiles_hold_a_part_of_the_volume(rng: np.random.Generator) -> None:
    volume = rng.standard_normal((60, 200, 210)).astype(np.float32)
    found = list(tried_on(volume))
    assert len(found) == 2 and len(list(tried_on(volume, 1))) == 1 and all(tile.shape == (16, 96, 96) for tile in found)
    small = tried_on(volume[:3, :20, :21])
    assert [tile.shape for tile in small] == [(3, 20, 21)]


@pytest.mark.slow
@pytest.mark.parametrize("arrangement", ARRANGEMENTS.values(), ids=ARRANGEMENTS)
def test_a_slab_is_as_in_the_whole(arrangement: Arrangement, rng: np.random.Generator) -> None:
    """With planes enough around it that nothing outside can reach it; its first plane is on the grid of patches."""
    volume = noisy(panned(84, 16, 1, rng), rng)
    whole = measured(volume, SIGMA, arrangement)

    def planes(part: Floats) -> list[NDArray[np.float32]]:
        stages = stages_of("balanced", whole, part.shape, None)  # type: ignore[arg-type]
        noisy = noisy_planes(part, SIGMA, whole)
        return [plane.current for plane in stream(noisy, part.shape, whole, stages, 1, lambda share: None)]  # type: ignore[arg-type]

    first, last = 6, 80
    slab, everything = planes(volume[first:last]), planes(volume)
    for k in (41, 42, 43):
        np.testing.assert_array_equal(slab[k - first], everything[k])


@pytest.mark.parametrize("planes", ["still", "aligned"])
def test_threads_change_no_bit(planes: str, rng: np.random.Generator) -> None:
    volume = noisy(panned(5, 36, 2, rng), rng)
    one, three = (denoise(volume, SIGMA, method=NonLocal(planes=planes), threads=n) for n in (1, 3))
    assert one.tobytes() == three.tobytes()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_dtypes_and_inputs_are_kept(dtype: type, rng: np.random.Generator) -> None:
    volume = noisy(solid((5, 20, 22), rng), rng).clip(0, 255).astype(dtype)
    before = volume.copy()
    found = denoise(volume, SIGMA, preset="fast")
    assert found.dtype == dtype and found.shape == volume.shape
    np.testing.assert_array_equal(volume, before)


def test_colours_and_their_axis(rng: np.random.Generator) -> None:
    volume = noisy(np.stack([solid((5, 20, 22), rng)] * 3, axis=-1), rng)
    last = denoise(volume, SIGMA, channel_axis=-1, preset="fast")
    first = denoise(np.moveaxis(volume, -1, 0), SIGMA, channel_axis=0, preset="fast")
    np.testing.assert_array_equal(np.moveaxis(first, 0, -1), last)
    assert error(last, volume) > SIGMA / 2


@pytest.mark.parametrize("shape", [(2, 9, 9), (3, 4, 30), (2, 5, 6), (30, 8, 8)])
@pytest.mark.parametrize("preset", ["fast", "best"])
def test_small_volumes(shape: tuple[int, ...], preset: str, rng: np.random.Generator) -> None:
    found = denoise(100 + rng.standard_normal(shape), 1.0, preset=preset)
    assert np.isfinite(found).all() and np.std(found) < 0.8


def test_progress_rises_to_one(rng: np.random.Generator) -> None:
    told: list[float] = []
    volume = noisy(solid((6, 24, 24), rng), rng)
    restore(volume, SIGMA, preset="balanced", callback=lambda fraction, stage: told.append(fraction))
    assert told == sorted(told) and told[-1] == 1.0 and len(told) > 8


def test_the_pilot_by_its_definition(rng: np.random.Generator) -> None:
    """Every block by itself: coefficients above the threshold, weighted by one over their number."""
    volume = (3 * rng.standard_normal((6, 9, 8))).astype(np.float32)
    sums, weights = np.zeros((2, *volume.shape))
    for place in np.ndindex(2, 3, 3):
        at = tuple(
            slice(min(2 * k, size - 4), min(2 * k, size - 4) + 4) for k, size in zip(place, (6, 9, 8), strict=True)
        )
        blocks = [at] if place[1] < 2 else [at, (at[0], slice(5, 9), at[2])]
        for block in blocks:
            waves = dctn(volume[block], norm="ortho")
            kept = np.abs(waves) > THRESHOLD
            kept[0, 0, 0] = True
            sums[block] += idctn(waves * kept, norm="ortho") / kept.sum()
            weights[block] += 1 / kept.sum()
    found = piloted(iter([plane[None] for plane in volume]), (6, 9, 8), (4, 4, 4), 1, lambda share: None)
    np.testing.assert_allclose([plane.current[0] for plane in found], sums / weights, atol=1e-4)


def test_cosines_are_orthonormal_and_without_mean() -> None:
    atoms = cosine_dictionary(FLAT.coding.patch).dictionary.atoms.astype(np.float64)
    np.testing.assert_allclose(atoms @ atoms.T, np.eye(2 * 5 * 5 - 1), atol=1e-6)
    np.testing.assert_allclose(atoms.sum(axis=1), 0, atol=1e-5)


def test_patches_of_an_epitome_leave_no_pixel_out() -> None:
    """A flat dictionary has patches of one size, here shorter than the usual stride."""
    dictionary = cosine_dictionary((2, 3, 3))
    search, atoms = coded(STILL.search, dictionary)
    assert search.patch == (2, 3, 3) and search.stride == (2, 3, 3) and atoms.shape == (17, 18)
