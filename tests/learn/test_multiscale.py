"""multiscale: sizes and prices of the scales, what is carried from one to the next, and an end after the last."""

from __future__ import annotations

import math
from itertools import islice, pairwise

import numpy as np
import pytest
from learn_cases import same_bits, same_steps, texture

from epitomes import Epitome, Patches
from epitomes.coders import Lasso
from epitomes.learn import Scale, alternate, multiscale, run, scales, smooth_noise
from epitomes.learn._multiscale import enlarged, reduced
from epitomes.phi import windows

PLAN = scales((14, 14), (6, 6), lam=20.0, n_steps=(3, 2, 2))


def coarsest(plan: tuple[Scale, ...] = PLAN, seed: int = 0) -> Epitome:
    return smooth_noise(windows(plan[0].epitome_shape, plan[0].patch_shape), rng=seed)


@pytest.mark.parametrize(
    ("epitome", "patch", "kept"),
    [
        ((42, 42), (8, 8), ()),
        ((20, 15, 15), (8, 8), (0,)),
        ((46, 30), (12, 9), ()),
        ((16, 16, 3), (6, 6, 3), (2,)),
        ((4, 16, 16, 3), (6, 6, 3), (0, 3)),
        ((50,), (16,), ()),
        ((10, 20, 20), (4, 8, 8), ()),
    ],
    ids=str,
)
@pytest.mark.parametrize("ratio", [math.sqrt(2), 2.0, 1.3])
def test_shapes(epitome: tuple[int, ...], patch: tuple[int, ...], kept: tuple[int, ...], ratio: float) -> None:
    """Coarse to fine by `ratio`; epitome and patch keep their proportion; counts and colours keep their length."""
    made = scales(epitome, patch, lam=7.0, n_steps=(5, 4, 3), ratio=ratio)
    assert [scale.n_steps for scale in made] == [5, 4, 3]
    assert (made[-1].epitome_shape, made[-1].patch_shape, made[-1].lam) == (epitome, patch, 7.0)
    lead = len(epitome) - len(patch)
    for number, scale in enumerate(made):
        windows(scale.epitome_shape, scale.patch_shape)  # they fit
        factor = ratio ** (number - 2)
        for axis, length in enumerate(scale.epitome_shape):
            if axis in kept:
                assert length == epitome[axis]
                continue
            small, full = scale.patch_shape[axis - lead], patch[axis - lead]
            assert abs(small - full * factor) <= 0.5 or small == 2
            assert abs(length - epitome[axis] * small / full) <= 0.5
    for coarse, fine in pairwise(made):
        assert math.prod(coarse.epitome_shape) < math.prod(fine.epitome_shape)


def test_lam_follows_the_length_of_a_patch() -> None:
    """Scaled as the norm of a patch of equal grey levels: the root of the number of its pixels."""
    made = scales((30, 24), (10, 8), lam=40.0)
    flat = [np.linalg.norm(np.full(scale.patch_shape, 3.0)) for scale in made]
    assert [scale.lam / 40.0 for scale in made] == pytest.approx([norm / flat[-1] for norm in flat])


def test_a_flat_dictionary_has_one_size() -> None:
    assert {(scale.epitome_shape, scale.patch_shape) for scale in scales((30, 8, 8), (8, 8), lam=1.0)} == {
        ((30, 8, 8), (8, 8))
    }


def test_steps_and_scales_are_numbered_and_end() -> None:
    steps = list(multiscale(texture((40, 40)), coarsest(), scales=PLAN))
    assert [step.progress.index for step in steps] == [1, 2, 3, 4, 5, 6, 7]
    assert [step.progress.scale for step in steps] == [0, 0, 0, 1, 1, 2, 2]
    for step in steps:
        scale = PLAN[step.progress.scale]
        assert step.epitome.phi.epitome_shape == scale.epitome_shape
        assert step.epitome.phi.patch_shape == scale.patch_shape
    assert steps[-1].epitome.pixels.shape == (14, 14)
    for one, other in pairwise(steps):  # without samples, down at every scale
        if one.progress.scale == other.progress.scale:
            assert other.progress.objective <= one.progress.objective * (1 + 1e-4)
    fit = run(multiscale(texture((40, 40)), coarsest(), scales=PLAN), max_steps=100)
    assert fit.reason == "no steps left"
    assert same_bits(fit.epitome, steps[-1].epitome)


def test_each_scale_is_alternate_from_the_enlarged_epitome() -> None:
    image = texture((40, 40))
    *_, end_of_first, begin_of_second = islice(multiscale(image, coarsest(), scales=PLAN), 4)
    scale = PLAN[1]
    start = enlarged(end_of_first.epitome, scale.epitome_shape, scale.patch_shape)
    small = reduced(image, (4 / 6, 4 / 6))
    assert scale.patch_shape == (4, 4)
    expected = next(alternate(Patches(small, (4, 4)), start, coder=Lasso(lam=scale.lam)))
    assert same_bits(expected.epitome, begin_of_second.epitome)


def test_a_single_scale_is_alternate() -> None:
    image, plan = texture((30, 30)), scales((14, 14), (6, 6), lam=20.0, n_steps=(3,))
    steps = list(multiscale(image, coarsest(plan), scales=plan))
    expected = list(islice(alternate(Patches(image, (6, 6)), coarsest(plan), coder=Lasso(lam=20.0)), 3))
    assert all(same_steps(one, other) for one, other in zip(steps, expected, strict=True))


@pytest.mark.parametrize("sample", [None, 200])
@pytest.mark.parametrize("done", range(1, 7))
def test_going_on_after_any_step(done: int, sample: int | None) -> None:
    """Within a scale and between two of them."""
    image = texture((40, 40))
    whole = list(multiscale(image, coarsest(), scales=PLAN, sample=sample))
    rest = list(multiscale(image, coarsest(), scales=PLAN, sample=sample, after=whole[done - 1]))
    assert all(same_steps(one, other) for one, other in zip(whole[done:], rest, strict=True))


def test_nothing_is_left_after_the_last_step() -> None:
    *_, last = multiscale(texture((40, 40)), coarsest(), scales=PLAN)
    assert list(multiscale(texture((40, 40)), coarsest(), scales=PLAN, after=last)) == []
    with pytest.raises(ValueError, match="gave no step: all steps of its scales are done already"):
        run(multiscale(texture((40, 40)), coarsest(), scales=PLAN, after=last))


def test_threads_change_no_bit() -> None:
    runs = [list(multiscale(texture((40, 40)), coarsest(), scales=PLAN, threads=threads)) for threads in (1, 2, 3)]
    for steps in zip(*runs, strict=True):
        assert same_steps(steps[0], steps[1]) and same_steps(steps[0], steps[2])


def test_several_epitomes_and_colour() -> None:
    several = scales((3, 10, 10), (6, 6), lam=20.0, n_steps=(1, 1))
    *_, last = multiscale(texture((30, 30)), coarsest(several), scales=several)
    assert last.epitome.pixels.shape == (3, 10, 10)
    colour = scales((10, 10, 3), (6, 6, 3), lam=30.0, n_steps=(1, 1))
    *_, last = multiscale(texture((30, 30, 3)), coarsest(colour), scales=colour)
    assert last.epitome.pixels.shape == (10, 10, 3)


class TestResampling:
    def test_a_start_of_any_size_is_taken(self) -> None:
        for start in (smooth_noise(windows((14, 14), (6, 6))), smooth_noise(windows((5, 7), (3, 3)))):
            first = next(multiscale(texture((40, 40)), start, scales=PLAN))
            assert first.epitome.phi.epitome_shape == PLAN[0].epitome_shape

    def test_the_same_size_is_the_same_epitome(self) -> None:
        start = coarsest()
        assert enlarged(start, PLAN[0].epitome_shape, PLAN[0].patch_shape) is start
        other = enlarged(start, PLAN[0].epitome_shape, (2, 2))
        np.testing.assert_array_equal(other.pixels, start.pixels)
        assert other.phi.patch_shape == (2, 2)

    def test_enlarging_keeps_what_is_smooth(self) -> None:
        """A slow wave is the same wave, pixel centres where they belong; pictures do not mix."""

        def waves(side: int) -> np.ndarray:
            x = (np.arange(side) + 0.5) / side
            return np.stack([np.cos(np.pi * x)[:, None] * np.cos(2 * np.pi * x), np.full((side, side), 4.0)])

        small = Epitome(waves(20), windows((2, 20, 20), (4, 4)))
        large = enlarged(small, (2, 30, 30), (6, 6))
        np.testing.assert_allclose(large.pixels[1], 4.0, rtol=1e-12)
        np.testing.assert_allclose(large.pixels[0][3:-3, 3:-3], waves(30)[0][3:-3, 3:-3], atol=5e-3)

    def test_reducing_keeps_level_and_dtype_and_folds_nothing_over(self) -> None:
        image = np.full((40, 60), 7, np.float32)
        assert reduced(image, (1.0, 1.0)) is image
        small = reduced(image, (0.5, 0.7))
        assert small.shape == (20, 42) and small.dtype == np.float32
        np.testing.assert_allclose(small, 7, rtol=1e-6)
        fine = np.cos(np.pi * 0.9 * np.indices((64, 64)).sum(axis=0))  # too fine for half the size
        assert np.abs(reduced(fine, (0.5, 0.5))[4:-4, 4:-4]).max() < 0.05
        slow = np.cos(2 * np.pi * (np.arange(64) + 0.5) / 64)
        kept = reduced(np.outer(slow, slow), (0.5, 0.5))
        assert np.abs(kept).max() > 0.95

    def test_other_axes_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"\(20, 20\) cannot be resampled to shape .* the axes differ"):
            enlarged(smooth_noise(windows((20, 20), (4, 4))), (3, 10, 10), (4, 4))


def test_wrong_parameters() -> None:
    with pytest.raises(ValueError, match="ratio must be above 1, got 1"):
        scales((14, 14), (6, 6), lam=1.0, ratio=1.0)
    with pytest.raises(ValueError, match="lam must be a finite number > 0"):
        scales((14, 14), (6, 6), lam=0.0)
    with pytest.raises(ValueError, match="n_steps must be at least 1, got 0"):
        scales((14, 14), (6, 6), lam=1.0, n_steps=(3, 0))
    with pytest.raises(ValueError, match=r"epitome_shape|patch_shape"):
        scales((14,), (6, 6), lam=1.0)
    with pytest.raises(ValueError, match="at least 6 pixels, got 5"):
        scales((5, 14), (6, 6), lam=1.0)
    with pytest.raises(ValueError, match="scales is empty"):
        multiscale(texture((20, 20)), coarsest(), scales=())
    with pytest.raises(ValueError, match="image holds 1 NaN"):
        multiscale(np.where(np.eye(9)[:1] > 0, np.nan, 1.0), coarsest(), scales=PLAN)


def test_an_image_too_small_for_its_patches_is_refused() -> None:
    with pytest.raises(ValueError, match="patch"):
        next(multiscale(texture((5, 40)), coarsest(), scales=PLAN[2:]))
