"""How often the pixels of an image are read: work on one band of lines must not read the whole image again."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from epitomes import Epitome, Patches, blocks, checks, kernels
from epitomes import patches as patches_module
from epitomes.aggregate import Aggregator
from epitomes.coders import OLS
from epitomes.phi import windows
from epitomes.restoration.patchwise.coding import coded

HEIGHT, WIDTH = 8 * 32 + 7, 2048 + 7  # eight bands of 32 lines, of 2048 patches each


class Watched(np.ndarray[Any, Any]):
    """Pixels that count how many of them NumPy's functions read; slices and views of them count, too."""

    read = 0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        Watched.read += max((value.size for value in inputs if isinstance(value, Watched)), default=0)
        plain = [np.asarray(value) if isinstance(value, Watched) else value for value in inputs]
        if out:
            options["out"] = tuple(np.asarray(value) if isinstance(value, Watched) else value for value in out)
        return getattr(ufunc, method)(*plain, **options)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> type[Watched]:
    """Images that pass a check, and the images of patches, count their readers from here on."""
    as_array, read_only = checks._as_array, checks.read_only

    def watch(array: NDArray[Any]) -> NDArray[Any]:
        return array.view(Watched) if array.ndim == 2 and array.shape[1] == WIDTH else array

    monkeypatch.setattr(checks, "_as_array", lambda name, value: watch(as_array(name, value)))
    monkeypatch.setattr(patches_module, "read_only", lambda array: watch(read_only(array)))
    Watched.read = 0
    return Watched


def picture() -> NDArray[np.float32]:
    return np.random.default_rng(0).random((HEIGHT, WIDTH), np.float32)


def test_the_watch_sees_checks_and_arithmetic(watched: type[Watched]) -> None:
    """Without this the other tests could pass because nothing is counted."""
    patches = Patches(picture(), 8)
    assert 4 * HEIGHT * WIDTH <= watched.read <= 6 * HEIGHT * WIDTH  # finite, smallest, largest, mean
    watched.read = 0
    np.subtract(patches.image[10:20], 1.0)
    assert watched.read == 10 * WIDTH


def test_lines_and_crops_read_no_pixel(watched: type[Watched]) -> None:
    patches = Patches(picture(), 8)
    watched.read = 0
    lines = patches.lines(np.arange(32))
    tile = patches.crop((slice(5, 90), slice(1, 100)))
    again = tile.lines([3, 1]).crop((slice(0, 40), slice(None)))
    assert watched.read == 0
    assert lines.image is patches.image
    assert lines.level == tile.level == again.level == patches.level
    assert not tile.image.flags.writeable and tile.image.flags.c_contiguous


@pytest.mark.skipif(kernels.isa == "reference", reason="the reference codes rows only")
def test_coding_lines_reads_their_rows_once(watched: type[Watched]) -> None:
    epitome = Epitome(np.random.default_rng(1).random((20, 20), np.float32), windows((20, 20), 8))
    patches = Patches(picture(), 8)
    for numbers in (np.arange(64, 96), np.array([3, 200])):
        lines = patches.lines(numbers)
        rows = np.unique(numbers[:, None] + np.arange(8))
        watched.read = 0
        OLS(residual=64.0).encode(lines, epitome.dictionary)
        assert watched.read == len(rows) * WIDTH


def test_denoising_reads_each_band_a_few_times(watched: type[Watched]) -> None:
    """A pass over the whole image for each band would read 32 times as much; it made large images quadratic."""
    epitome = Epitome(np.random.default_rng(1).random((20, 20), np.float32), windows((20, 20), 8))
    image = picture()
    n_bands = len(blocks.split(HEIGHT - 7, 16_384 // (WIDTH - 7)))
    assert n_bands == 32
    coded(image, 1.0, epitome, 1.15, 0.0, 2)
    assert watched.read <= 8 * image.size + 2 * n_bands * (32 + 7) * WIDTH


def test_averaging_has_small_temporaries() -> None:
    """The result is the only array as large as the image."""
    image = picture().astype(np.float64)
    aggregator = Aggregator(Patches(image, 8))
    for first, last in blocks.split(len(aggregator.patches), 65_536):
        aggregator.add(first, np.ones((last - first, 64)))
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    aggregator.mean(image, 0.5)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert image.nbytes <= peak < 1.6 * image.nbytes
