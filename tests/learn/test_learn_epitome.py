"""learn_epitome: the same steps as its learners take, for images of every kind, and no argument without effect."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learn_cases import Doubles, numbers, same_bits, texture

import epitomes
from epitomes import Epitome, Patches
from epitomes.cli.learn import Start
from epitomes.coders import Lasso
from epitomes.learn import (
    Fit,
    Step,
    _learn_epitome,
    alternate,
    cosines,
    learn_epitome,
    multiscale,
    natural,
    online,
    random_windows,
    run,
    scales,
    smooth_noise,
)
from epitomes.model_file import ModelError
from epitomes.phi import turned, windows

PHI = windows((12, 12), (5, 5))
SMALL: dict[str, Any] = {"epitome_shape": 12, "patch_shape": 5, "lam": 20.0, "n_steps": 3, "start": "noise"}


def image(seed: int = 0, shape: tuple[int, ...] = (30, 34)) -> Doubles:
    return texture(shape, seed)


def same(fit: Fit, other: Fit) -> bool:
    steps = [[numbers(progress) for progress in each.history] for each in (fit, other)]
    return same_bits(fit.epitome, other.epitome) and steps[0] == steps[1]


def test_it_is_at_the_top_level() -> None:
    assert epitomes.learn_epitome is learn_epitome


# ---- the same bits as the learners


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("noise", smooth_noise(PHI, rng=4)),
        ("data", random_windows(PHI, texture((30, 34)), rng=4)),
        ("dct", cosines(PHI)),
    ],
    ids=["noise", "data", "dct"],
)
def test_alternate_from_each_start(name: str, start: Epitome) -> None:
    fit = learn_epitome(image(), **SMALL | {"start": name}, rng=4)
    assert same(fit, run(alternate(Patches(image(), (5, 5)), start, coder=Lasso(lam=20.0), rng=4), max_steps=3))


def test_the_natural_start_is_the_default() -> None:
    fit = learn_epitome(image(), lam=20.0, n_steps=1)
    start = natural(windows((42, 42), (8, 8)))
    assert same(fit, run(alternate(Patches(image(), (8, 8)), start, coder=Lasso(lam=20.0)), max_steps=1))
    with pytest.raises(ValueError, match="no natural epitome of shape"):
        learn_epitome(image(), epitome_shape=(12, 12), lam=20.0)


def test_samples_and_batches() -> None:
    start, patches, coder = smooth_noise(PHI, rng=2), Patches(image(), (5, 5)), Lasso(lam=20.0)
    fit = learn_epitome(image(), **SMALL, sample=200, rng=2)
    assert same(fit, run(alternate(patches, start, coder=coder, sample=200, rng=2), max_steps=3))
    fit = learn_epitome(image(), **SMALL, sample=200, online=True, rng=2)
    assert same(fit, run(online(patches, start, coder=coder, batch=200, rng=2), max_steps=3))
    fit = learn_epitome(image(), **SMALL, online=True, rng=2)
    assert same(fit, run(online(patches, start, coder=coder, batch=2048, rng=2), max_steps=3))


@pytest.mark.parametrize("name", ["noise", "data"])
def test_scales_share_the_steps(name: str) -> None:
    fit = learn_epitome(image(), **SMALL | {"n_steps": 8, "start": name}, n_scales=3, rng=1)
    plan = scales((12, 12), (5, 5), lam=20.0, n_steps=(4, 2, 2))
    coarsest = windows(plan[0].epitome_shape, plan[0].patch_shape)
    start = smooth_noise(coarsest, rng=1) if name == "noise" else random_windows(PHI, image(), rng=1)
    assert same(fit, run(multiscale(image(), start, scales=plan, rng=1), max_steps=8))
    assert [progress.scale for progress in fit.history] == [0] * 4 + [1] * 2 + [2] * 2


def test_an_epitome_of_ones_own() -> None:
    """Its phi is used, whatever it is."""
    phi = turned(windows((2, 9, 9), (4, 4)))
    start = smooth_noise(phi)
    fit = learn_epitome(image(), lam=20.0, n_steps=2, start=start)
    assert fit.epitome.phi is phi
    assert same(fit, run(alternate(Patches(image(), (4, 4)), start, coder=Lasso(lam=20.0)), max_steps=2))


def test_patches_of_a_form_of_their_own() -> None:
    support = np.ones((4, 4), bool)
    support[1:3, 1:3] = False
    start = smooth_noise(windows((9, 9), (4, 4), support=support))
    fit = learn_epitome(image(), lam=20.0, n_steps=2, start=start)
    patches = Patches(image(), (4, 4), support=support)
    assert same(fit, run(alternate(patches, start, coder=Lasso(lam=20.0)), max_steps=2))


def test_sigma_sets_lam() -> None:
    assert same(learn_epitome(image(), **SMALL), learn_epitome(image(), **SMALL | {"lam": None, "sigma": 5.0}))


def test_whoever_watches_sees_every_step() -> None:
    seen: list[Step] = []
    fit = learn_epitome(image(), **SMALL, callback=seen.append)
    assert tuple(step.progress for step in seen) == fit.history


def test_stopping() -> None:
    assert "tol" in learn_epitome(image(), **SMALL, tol=0.9).reason
    assert "seconds are over" in learn_epitome(image(), **SMALL, seconds=1e-9).reason


# ---- images


def test_several_images_are_learned_from_together() -> None:
    """Their patches as rows, each drawn once, so that the order of the rows is all that the draw decides."""
    images = [image(1), image(2, (20, 26))]
    fit = learn_epitome(images, **SMALL)
    sources = [Patches(each, (5, 5)) for each in images]
    rows = np.concatenate([source.rows(0, len(source))[0] for source in sources])
    expected = run(alternate(rows, smooth_noise(PHI), coder=Lasso(lam=20.0)), max_steps=3)
    assert same(fit, expected)
    assert not same(fit, learn_epitome(images[0], **SMALL))
    assert same(learn_epitome(images[:1], **SMALL), learn_epitome(images[0], **SMALL))
    assert same(learn_epitome(tuple(images), **SMALL), fit)


def test_too_many_patches_of_several_images_are_drawn_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_learn_epitome, "MAX_ROWS", 500)
    images = [image(1), image(2, (20, 26))]
    with pytest.warns(UserWarning, match="500 of the 1132 patches are used") as caught:
        fit = learn_epitome(images, **SMALL)
    assert caught[0].filename == __file__
    assert fit.epitome.pixels.shape == (12, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn_epitome(images[0], **SMALL)  # a single image is never cut


def test_channels_may_be_any_axis() -> None:
    colour = np.stack([image(seed) for seed in range(3)], axis=-1)
    last = learn_epitome(colour, **SMALL, channel_axis=-1)
    assert last.epitome.pixels.shape == (12, 12, 3) and last.epitome.phi.patch_shape == (5, 5, 3)
    assert same(last, learn_epitome(np.moveaxis(colour, -1, 0), **SMALL, channel_axis=0))
    assert learn_epitome(colour, **SMALL | {"n_steps": 1}, count=2, channel_axis=2).epitome.pixels.shape == (
        2,
        12,
        12,
        3,
    )
    grey = learn_epitome(image(), **SMALL)
    assert same(grey, learn_epitome(image()[..., None], **SMALL, channel_axis=2))  # one channel is grey


def test_signals_and_volumes() -> None:
    rng = np.random.default_rng(0)
    how = {"lam": 1.0, "start": "noise", "n_steps": 1}
    signal = learn_epitome(rng.standard_normal(80), epitome_shape=20, patch_shape=6, **how)
    volume = learn_epitome(rng.standard_normal((9, 10, 11)), epitome_shape=(6, 7, 8), patch_shape=3, **how)
    assert signal.epitome.pixels.shape == (20,) and volume.epitome.pixels.shape == (6, 7, 8)


def test_integers_and_layouts_do_not_matter() -> None:
    whole = np.rint(image()).astype(np.uint8)
    expected = learn_epitome(whole.astype(np.float32), **SMALL)
    assert same(learn_epitome(whole, **SMALL), expected)
    assert same(learn_epitome(np.asfortranarray(whole), **SMALL), expected)


# ---- checkpoints


@pytest.mark.parametrize("how", [{}, {"n_scales": 3}, {"online": True, "sample": 100}], ids=str)
def test_resumed_is_uninterrupted(how: dict[str, Any], tmp_path: Path) -> None:
    settings = SMALL | {"n_steps": 6} | how
    whole = learn_epitome(image(), **settings)
    file = tmp_path / "checkpoint"
    for done in range(1, 7):
        learn_epitome(image(), **settings, seconds=1e-9, checkpoint=file, resume=True)  # one step, then time is up
        fit = learn_epitome(image(), **settings, seconds=1e-9, checkpoint=file, resume=True) if done == 6 else None
    assert fit is not None and same(fit, whole)
    assert fit.reason == "6 steps were done before"


def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint"
    learn_epitome(image(), **SMALL, checkpoint=file)
    with pytest.raises(ModelError, match="another phi"):
        learn_epitome(image(), **SMALL | {"patch_shape": 4}, checkpoint=file, resume=True)
    assert learn_epitome(image(), **SMALL | {"patch_shape": 4}, checkpoint=file).history  # without resume: replaced


# ---- refusals, each before any work


COLOUR = np.zeros((30, 34, 3))


@pytest.mark.parametrize(
    ("images", "settings", "words"),
    [
        (COLOUR, {"epitome_shape": None}, "3 spatial axes: pass one length for each, or channel_axis"),
        (COLOUR, {"patch_shape": (5, 5)}, "3 spatial axes: pass one length for each, or channel_axis"),
        (image(), {"lam": None}, "lam is needed"),
        (image(), {"sigma": 3.0}, "lam and sigma exclude each other"),
        (image(), {"lam": -1.0}, "lam must be"),
        (image(), {"lam": None, "sigma": 0.0}, "sigma must be"),
        (image(), {"start": "zero"}, "start must be one of 'natural', 'noise', 'data', 'dct'"),
        (image(), {"patch_shape": 13}, "does not fit"),
        (image(), {"epitome_shape": (12, 12, 12)}, "2 spatial axes: pass one length for each"),
        (image(), {"count": 0}, "count must be at least 1"),
        (image(), {"n_steps": 0}, "n_steps must be at least 1"),
        (image(), {"n_scales": 0}, "n_scales must be at least 1"),
        (image(), {"sample": 0}, "sample must be at least 1"),
        (image(), {"resume": True}, "resume=True needs checkpoint"),
        (image(), {"n_scales": 2, "online": True}, "online=True learns at one scale"),
        (image(), {"n_scales": 4}, "less than one step for each"),
        ([image(), image()], {"n_scales": 2}, "needs a single image, got 2"),
        (image(), {"tol": -1.0}, "tol must be"),
        (image(), {"channel_axis": 2}, "channel_axis 2 is out of range"),
        ([], {}, "images is empty"),
        ([image(), image().astype(np.float32)], {}, "same dtype"),
        ([image(), image()[0]], {}, "same number of axes"),
        (image(shape=(4, 40)), {}, "does not fit in the image"),
        (image(), {"start": smooth_noise(PHI)}, "epitome_shape is given by the start"),
    ],
)
def test_refused(images: Any, settings: dict[str, Any], words: str) -> None:
    def never(step: Step) -> None:
        raise AssertionError("a step was taken")

    with pytest.raises(ValueError, match=words):
        learn_epitome(images, **{**SMALL, **settings, "callback": never})


def test_starts_that_do_not_fit() -> None:
    own = {"lam": 20.0, "n_steps": 4}
    with pytest.raises(ValueError, match="use an epitome whose patches have 3 axes"):
        learn_epitome(COLOUR, **own, channel_axis=-1, start=smooth_noise(PHI))
    with pytest.raises(ValueError, match="several scales need a start whose phi is windows"):
        learn_epitome(image(), **own, n_scales=2, start=smooth_noise(turned(PHI)))
    for name, value in (("patch_shape", 5), ("count", 1)):
        with pytest.raises(ValueError, match=f"{name} is given by the start"):
            learn_epitome(image(), **own, **{name: value}, start=smooth_noise(PHI))


def test_the_command_line_has_the_same_starts() -> None:
    assert tuple(Start) == _learn_epitome.STARTS
