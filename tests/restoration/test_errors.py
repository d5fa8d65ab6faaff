"""Calls that are refused, before any work, by messages that say what was needed, what came, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from restoration_cases import Progress, white_noise

from epitomes import Epitome, Noise, denoise, plan, restore
from epitomes.learn import natural, smooth_noise
from epitomes.phi import windows
from epitomes.restoration import NonLocal, Patchwise, Recipe, _restore
from epitomes.restoration.non_local import method as non_local
from epitomes.restoration.patchwise import coding

IMAGE = 100 + 10 * white_noise((48, 52))
EPITOME = smooth_noise(windows((16, 16), (6, 6)))

VALUES: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "sigma 0": ({"sigma": 0}, ValueError, r"sigma must be a finite number > 0, got 0.0; leave sigma out to estimate"),
    "sigma below 0": ({"sigma": -1.0}, ValueError, r"sigma must be a finite number > 0, got -1.0; leave"),
    "sigma NaN": ({"sigma": np.nan}, ValueError, r"sigma must be a finite number > 0, got nan; leave"),
    "sigma infinite": ({"sigma": np.inf}, ValueError, r"sigma must be a finite number > 0, got inf; leave"),
    "sigma a string": ({"sigma": "5"}, TypeError, r"sigma must be a number, got '5'; leave sigma out"),
    "sigma a list": ({"sigma": [1, 2]}, TypeError, r"one number, got an array of shape \(2,\): pass noise=Noise.gau"),
    "sigma a map": ({"sigma": IMAGE}, TypeError, r"one number, got an array of shape \(48, 52\): .*Noise.map\("),
    "sigma True": ({"sigma": True}, TypeError, r"sigma must be a number, got True"),
    "both": ({"sigma": 5.0, "noise": Noise.gaussian(4)}, ValueError, r"sigma is short for .* leave one of them out"),
    "noise a number": ({"noise": 4.0}, TypeError, r"noise must be a Noise, got float: use Noise.gaussian.* or sigma"),
    "noise per channel": (
        {"noise": Noise.gaussian([1, 2, 3])},
        ValueError,
        r"one value per channel \(3\), but the image of shape \(48, 52\) has no channels: pass channel_axis",
    ),
    "noise map": ({"noise": Noise.map(np.ones((3, 3)))}, ValueError, r"\(3, 3\) does not fit .* \(48, 52\): give one"),
    "spectrum": ({"noise": Noise.from_spectrum(np.ones((3, 3)))}, ValueError, r"\(3, 3\).*another shape: \(48, 52\)"),
    "preset": ({"preset": "slow"}, ValueError, r"preset must be one of 'auto', 'fast', 'balanced', 'best', got 'slow'"),
    "preset None": ({"preset": None}, ValueError, r"preset must be one of 'auto', .*, got None"),
    "method": ({"method": "wavelets"}, ValueError, r"method must be one of 'nonlocal', 'paper', got 'wavelets'"),
    "method a number": ({"method": 3}, TypeError, r"method must be 'nonlocal', 'paper', or an object such as NonLoc"),
    "method a class": ({"method": NonLocal}, TypeError, r"an object such as NonLocal\(\) or Patchwise\(\), got <class"),
    "time and preset": (
        {"time": 3.0, "preset": "fast"},
        ValueError,
        r"time chooses .* preset sets it: leave one of th",
    ),
    "time and method": ({"time": 3.0, "method": "paper"}, ValueError, r"time chooses .* method sets it: leave one"),
    "time and epitome": ({"time": 3.0, "epitome": EPITOME}, ValueError, r"time chooses .* epitome sets it: leave one"),
    "time 0": ({"time": 0}, ValueError, r"time must be a finite number > 0, got 0.0"),
    "time a string": ({"time": "10s"}, TypeError, r"time must be a number, got '10s'"),
    "object and preset": (
        {"method": NonLocal(), "preset": "fast"},
        ValueError,
        r"preset is a setting of the method ob",
    ),
    "object and epitome": ({"method": Patchwise(), "epitome": EPITOME}, ValueError, r"epitome is a setting of the me"),
    "paper and preset": ({"method": "paper", "preset": "best"}, ValueError, r"preset is a setting of the non-local me"),
    "epitome an array": (
        {"epitome": IMAGE},
        TypeError,
        r"epitome must be an Epitome, got ndarray: Epitome\(pixels, ph",
    ),
    "epitome of colours": (
        {"epitome": smooth_noise(windows((10, 10, 3), (5, 5, 3)))},
        ValueError,
        r"two-dimensional patches, got patches of shape \(5, 5, 3\): use method='paper', or leave epitome out",
    ),
    "epitome too flat": (
        {"epitome": Epitome(np.ones((16, 16)), EPITOME.phi)},
        ValueError,
        r"needs atoms with contrast, got \(6, 6\) patches that are all constant: leave epitome out",
    ),
    "epitome too large": (
        {"epitome": smooth_noise(windows((60, 60), (50, 9)))},
        ValueError,
        r"48 x 52 pixels is smaller than a patch of 50 x 9: use an epitome with smaller patches",
    ),
    "no such recipe": (
        {"method": Patchwise(recipe=Recipe(epitome_shape=(9, 9)))},
        ValueError,
        r"no natural epitome of shape \(9, 9\) .*there are: .*smooth_noise",
    ),
    "threads 0": ({"threads": 0}, ValueError, r"threads must be at least 1, got 0"),
    "threads a float": ({"threads": 1.5}, TypeError, r"threads must be a whole number, got 1.5"),
    "rng below 0": ({"rng": -1}, ValueError, r"rng must be at least 0, got -1"),
    "rng a string": (
        {"rng": "a"},
        TypeError,
        r"rng must be a numpy.random.Generator, an integer seed or None, got 'a'",
    ),
    "channel_axis": ({"channel_axis": 5}, ValueError, r"channel_axis 5 is out of range .* between -2 and 1"),
    "channel_axis a string": (
        {"channel_axis": "last"},
        TypeError,
        r"channel_axis must be a whole number or None, got 'l",
    ),
    "spatial": ({"spatial": 4}, ValueError, r"spatial=4 does not fit an array of shape \(48, 52\): .* between 1 and 2"),
    "spatial 0": ({"spatial": 0}, ValueError, r"spatial must be at least 1, got 0"),
    "spatial a float": ({"spatial": 2.0}, TypeError, r"spatial must be a whole number, got 2.0"),
    "mask shape": (
        {"mask": np.zeros((3, 3), bool)},
        ValueError,
        r"mask has shape \(3, 3\), the image \(48, 52\): the mas",
    ),
    "mask of floats": (
        {"mask": np.zeros(IMAGE.shape)},
        TypeError,
        r"mask must hold booleans or integers, non-zero at ",
    ),
    "mask of all": (
        {"mask": np.ones(IMAGE.shape, int)},
        ValueError,
        r"covers a whole plane .* must be 0 at good pixels",
    ),
}

IMAGES: dict[str, tuple[Any, type[Exception], str]] = {
    "a path": (Path("camera.png"), TypeError, r"must be an array or a Picture, got .*camera.png.*epitomes.read"),
    "a name": (
        "camera.png",
        TypeError,
        r"must be an array or a Picture, got 'camera.png': read files with epitomes.read",
    ),
    "complex": (IMAGE + 1j, TypeError, r"image must hold real numbers, got dtype complex128: convert it"),
    "bool": (IMAGE > 100, TypeError, r"image must hold real numbers, got dtype bool: convert it with .astype\(float\)"),
    "objects": (np.array([[1, None]]), TypeError, r"image must hold real numbers, got dtype object"),
    "empty": (np.zeros((0, 9)), ValueError, r"image is empty: its shape is \(0, 9\)"),
    "ragged": ([[1, 2], [3]], ValueError, r"image is not an array of equal rows"),
    "a number": (
        5.0,
        ValueError,
        r"an array of shape \(\) has no spatial axis: pass an image of shape \(height, width\)",
    ),
    "four axes": (
        np.zeros((2, 2, 16, 16)),
        ValueError,
        r"has 4 axes .* pass spatial=2 for a stack of images or spatial=3",
    ),
    "colours": (
        np.zeros((40, 40, 3)),
        ValueError,
        r"\(40, 40, 3\) looks like one with 3 channels: pass channel_axis=-1, or spatial=3 if it is a volume",
    ),
    "many colour images": (
        np.zeros((5, 40, 40, 4)),
        ValueError,
        r"looks like one with 4 channels: pass channel_axis=-1",
    ),
    "NaN alone": (np.full((20, 20), np.nan), ValueError, r"nothing but NaN, 400 times"),
    "infinite": (
        np.where(IMAGE.max() == IMAGE, np.inf, IMAGE),
        ValueError,
        r"1 infinite values, of 2496: leave them out with mask=np.isinf\(image\)",
    ),
    "masked": (np.ma.masked_greater(IMAGE, 110), ValueError, r"masked values, .* fill them .* or pass a mask"),
}


@pytest.fixture(autouse=True)
def _nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: Any, **__: Any) -> None:
        raise AssertionError("work was done before the call was refused")

    monkeypatch.setattr(_restore, "estimate_noise", work)
    monkeypatch.setattr(_restore, "search", work)
    for module, name in ((coding, "averaged"), (non_local, "coded"), (non_local, "to_planar")):
        monkeypatch.setattr(module, name, work)


@pytest.mark.parametrize("function", [denoise, restore, plan])
@pytest.mark.parametrize("name", VALUES)
def test_wrong_arguments(name: str, function: Callable[..., Any]) -> None:
    given, error, words = VALUES[name]
    if function is plan and name in ("noise per channel", "noise map", "spectrum"):
        function = restore  # a plan may be for other images
    progress = Progress()
    if "preset" not in given and "method" not in given and "epitome" not in given and "time" not in given:
        given = {"preset": "fast", **given}
    if "sigma" not in given and "noise" not in given:
        given = {"sigma": 10.0, **given}
    with pytest.raises(error, match=words):
        function(IMAGE, callback=progress, **given)
    assert all(fraction < 0.2 for fraction in progress.fractions)


@pytest.mark.parametrize("function", [denoise, restore, plan])
@pytest.mark.parametrize("name", IMAGES)
def test_wrong_images(name: str, function: Callable[..., Any]) -> None:
    image, error, words = IMAGES[name]
    with pytest.raises(error, match=words):
        function(image, 5.0)


def test_wrong_callbacks() -> None:
    for function in (denoise, restore, plan):
        with pytest.raises(TypeError, match="callback must be a function of a fraction and a stage, got 3"):
            function(IMAGE, 5.0, callback=3)  # type: ignore[operator]


def test_small_images() -> None:
    with pytest.raises(ValueError, match="7 x 52 pixels is smaller than a patch of 8 x 8: use method='paper'"):
        denoise(IMAGE[:7], 5.0, method="nonlocal")
    with pytest.raises(
        ValueError, match=r"two spatial axes at least, got a picture of shape \(52,\): use method='paper'"
    ):
        denoise(IMAGE[0], 5.0, method="nonlocal")


class TestEstimation:
    """What has to be estimated must be large enough for it."""

    @pytest.fixture(autouse=True)
    def _work(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.undo()

    def test_signals_and_tiny_images(self) -> None:
        with pytest.raises(
            ValueError, match=r"cannot be estimated from signals .*give its standard deviation as sigma"
        ):
            denoise(IMAGE[0])
        with pytest.raises(
            ValueError, match=r"at least 7 pixels along both axes, got .* \(6, 52\): give the noise level"
        ):
            denoise(IMAGE[:6])


def test_epitomes_that_learn_nothing_are_not_needed() -> None:
    """An epitome as it is belongs to all methods, a recipe to one."""
    with pytest.raises(TypeError, match="recipe"):
        denoise(IMAGE, 5.0, recipe=Recipe())  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="recipe"):
        NonLocal(recipe=Recipe())  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="blend"):
        NonLocal(blend=1.0)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="exclude each other"):
        Patchwise(epitome=natural(windows((42, 42), (8, 8))), recipe=Recipe())
