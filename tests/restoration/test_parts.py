"""Parts of an image: settled on the whole, each has the bits that it has within it; how far a method reaches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from restoration_cases import Doubles, MeanOnly, shipped_picture, white_noise, whole_methods, with_noise

from epitomes import Noise
from epitomes.layout import Layout
from epitomes.restoration import NonLocal, Plan
from epitomes.restoration.non_local import RegressionPass, WienerPass
from epitomes.restoration.non_local.passes import AtomsPass, FeedbackPass, mean_squares
from epitomes.restoration.parts import Settled, settle

SIGMA = 20.0


def plan_of(image: Any, method: Any, sigma: float = SIGMA) -> Plan:
    return Plan(method=method, noise=Noise.gaussian(sigma), layout=Layout.of(image.shape))


@pytest.fixture(scope="module")
def noisy() -> Doubles:
    return with_noise(shipped_picture()[20:116, 40:136], SIGMA)


def part_of(settled: Settled, image: Doubles, place: tuple[slice, slice], inner: tuple[slice, slice]) -> Any:
    return settled.plan.run(np.ascontiguousarray(image[place]), threads=1).image[inner]


@whole_methods
@pytest.mark.parametrize(
    "step",
    [AtomsPass(search_radius=4, group_size=16), FeedbackPass(search_radius=4, group_size=16)],
    ids=["atoms", "feedback"],
)
def test_the_halo_suffices_and_is_not_much_too_large(noisy: Doubles, step: Any) -> None:
    """With the halo, a part has the bits of the whole; with half of it, it has not."""
    settled = settle(plan_of(noisy, NonLocal(passes=(step,))), noisy)
    whole = settled.plan.run(noisy, threads=1).image
    (halo, _), (rows, _) = settled.support.halo, settled.support.grid
    assert rows == 20 and 16 < halo < 32
    core = slice(72, 78)

    def same(reach: int) -> bool:
        window = slice((72 - reach) // rows * rows if reach == halo else 72 - reach, 78 + reach)
        inner = slice(72 - window.start, 78 - window.start)
        return np.array_equal(part_of(settled, noisy, (window, slice(None)), (inner, slice(None))), whole[core])

    assert same(halo) and not same(halo // 2)


@whole_methods
@pytest.mark.parametrize("stride", [2, 8])
def test_parts_are_corrected_as_in_the_whole(stride: int) -> None:
    """Strides longer than the patches of the maps count as their side."""
    image = with_noise(np.tile(shipped_picture()[20:116, 40:100], (4, 1))[:340], SIGMA)
    passes = WienerPass(search_radius=4, group_size=16), RegressionPass(stride=stride)
    settled = settle(plan_of(image, NonLocal(passes=passes)), image)
    whole = settled.plan.run(image, threads=1).image
    (halo, _), (rows, _) = settled.support.halo, settled.support.grid
    core = slice(270, 280)
    window = slice((core.start - halo) // rows * rows, core.stop + halo)
    assert window.start > 0 and window.stop < len(image)
    inner = slice(core.start - window.start, core.stop - window.start)
    assert np.array_equal(part_of(settled, image, (window, slice(None)), (inner, slice(None))), whole[core])


@whole_methods
def test_sums_of_parts_do_not_depend_on_their_origin() -> None:
    first, second = (white_noise((1, 40, 50), seed).astype(np.float32) for seed in (0, 1))
    whole = mean_squares(first, second, (7, 7), part=True)
    part = mean_squares(first[:, 5:, 9:], second[:, 5:, 9:], (7, 7), part=True)
    np.testing.assert_array_equal(whole[:, 5:, 9:], part)
    np.testing.assert_allclose(whole, mean_squares(first, second, (7, 7)), rtol=1e-6)


@whole_methods
def test_fields_of_stars_keep_their_fluxes_in_parts() -> None:
    rows, columns = np.mgrid[:120, :120]
    stars = np.full((120, 120), 100.0)
    for y, x, flux in ((30, 40, 900.0), (80, 20, 300.0), (62, 90, 2000.0), (100, 100, 150.0)):
        stars += flux * np.exp(-((rows - y) ** 2 + (columns - x) ** 2) / 8)
    image = with_noise(stars, 5.0)
    settled = settle(plan_of(image, NonLocal(preset="fast"), 5.0), image)
    assert settled.whole is not None and settled.whole.background == pytest.approx(100, abs=2)
    assert settled.support.halo == (23, 23)
    whole = settled.plan.run(image, threads=1).image
    plain = plan_of(image, NonLocal(preset="fast"), 5.0).run(image, threads=1).image
    np.testing.assert_allclose(whole, plain, atol=0.05)  # the background is that of the middle
    window = (slice(27, 103), slice(17, 93))
    part = part_of(settled, image, window, (slice(23, 53), slice(23, 53)))
    np.testing.assert_array_equal(part, whole[50:80, 40:70])


def test_methods_of_others_are_refused(noisy: Doubles) -> None:
    with pytest.raises(ValueError, match="how far mean reaches is not known"):
        settle(plan_of(noisy, MeanOnly()), noisy)


def test_outliers_are_refused(noisy: Doubles) -> None:
    far = noisy.copy()
    far[3, 4] = 1e9
    with pytest.raises(ValueError, match="clip them first"):
        settle(plan_of(far, NonLocal(preset="fast")), far)
    settled = settle(plan_of(noisy, NonLocal(preset="fast")), noisy)
    with pytest.raises(ValueError, match="clip them first"):
        settled.plan.run(far)


def test_without_noise_parts_stay_as_they_are(noisy: Doubles) -> None:
    plan = Plan(method=NonLocal(preset="fast"), noise=Noise(), layout=Layout.of(noisy.shape))
    settled = settle(plan, noisy)
    assert settled.whole is None and settled.support.halo == (0, 0)
    np.testing.assert_array_equal(settled.plan.run(noisy).image, noisy)
