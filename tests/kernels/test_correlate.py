"""Correlations: both routes against plain products, for every compiled instruction set, and any range of patches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from epitomes import Epitome, Patches, kernels
from epitomes.coders._encode import window_image
from epitomes.kernels import Rows, Windows
from epitomes.phi import GatherPhi, turned, union, windows

NATIVE = [isa for isa in kernels.isas if kernels.isa != "reference"]

# Patch widths of all residues modulo four, pictures of one row of windows, many pictures, several widths, colour.
SHAPES: dict[str, GatherPhi] = {
    "one 42x42": windows((42, 42), (8, 8)),
    "twenty 15x15": windows((20, 15, 15), (8, 8)),
    "not square": windows((30, 25), (6, 9)),
    "narrow patch": windows((2, 20, 23), (5, 7)),
    "width 6": windows((25, 31), (6, 6)),
    "width 10": windows((31, 29), (10, 10)),
    "width 12": windows((31, 31), (12, 12)),
    "width 16": windows((40, 44), (16, 16)),
    "width 19": windows((50, 52), (19, 19)),
    "colour": windows((16, 16, 3), (6, 6, 3)),
    "periodic": windows((20, 20), (8, 8), border="periodic"),
    "turned": turned(windows((20, 20), (8, 8))),
    "several sizes": union(windows((20, 20), (8, 8)), windows((3, 17, 24), (8, 8)), windows((31, 20), (8, 8))),  # type: ignore[dict-item]
}


def image_for(phi: GatherPhi, rng: np.random.Generator) -> Any:
    shape = (45, 97) if len(phi.patch_shape) == 2 else (30, 41, phi.patch_shape[2])
    return 100 + 30 * rng.standard_normal(shape)


def engine_for(phi: GatherPhi, dtype: Any, isa: str, rng: np.random.Generator) -> tuple[kernels.Engine, Any]:
    D = Epitome(rng.standard_normal(phi.epitome_shape).astype(dtype), phi).dictionary
    assert D.pictures is not None and D.patch_shape is not None
    planes = tuple(picture.reshape(*picture.shape[:2], -1) for picture in D.pictures)
    return kernels.make_engine(D.unit, D.norms, planes, (D.patch_shape[0], D.patch_shape[1]), isa=isa), D


@pytest.mark.slow
@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SHAPES)
def test_both_routes_give_the_products(name: str, dtype: Any, isa: str, rng: np.random.Generator) -> None:
    engine, D = engine_for(SHAPES[name], dtype, isa, rng)
    patches = Patches(image_for(SHAPES[name], rng).astype(dtype), SHAPES[name].patch_shape)
    n, (image, tops) = patches.n_patches, window_image(patches)
    X, _ = patches.rows(0, n)
    exact = np.einsum("nm,pm->np", X.astype(np.float64), D.unit.astype(np.float64))
    tolerance = (4e-6 if dtype == np.float32 else 1e-14) * np.abs(exact).max()
    np.testing.assert_allclose(engine.correlate(Rows(X, None)), exact, rtol=0, atol=tolerance)
    assert engine.structural
    from_windows = engine.correlate(Windows(image, tops, 0, n, True))
    np.testing.assert_allclose(from_windows, exact, rtol=0, atol=tolerance)
    for first, last in ((0, 1), (37, 101), (n - 130, n), (n - 1, n)):  # any range has the same bits
        part = engine.correlate(Windows(image, tops, first, last, True))
        np.testing.assert_array_equal(part, from_windows[first:last])
    for size in (1, 5, 49):
        np.testing.assert_array_equal(
            engine.correlate(Rows(np.ascontiguousarray(X[:size]), None)), engine.correlate(Rows(X, None))[:size]
        )


@pytest.mark.slow
@pytest.mark.parametrize("isa", NATIVE)
def test_patches_that_are_not_centred(isa: str, rng: np.random.Generator) -> None:
    engine, D = engine_for(SHAPES["one 42x42"], np.float64, isa, rng)
    patches = Patches(image_for(SHAPES["one 42x42"], rng), (8, 8), centred=False)
    X, _ = patches.rows(0, patches.n_patches)
    got = engine.correlate(Windows(*window_image(patches), 0, patches.n_patches, False))
    np.testing.assert_allclose(got, X @ D.unit.T, rtol=0, atol=1e-10)


@pytest.mark.skipif(kernels.isa == "reference", reason="the reference has one route")
def test_structure_is_used_only_where_it_pays(rng: np.random.Generator) -> None:
    flat = Epitome(rng.standard_normal((300, 8, 8)), windows((300, 8, 8), (8, 8)))
    assert not flat.dictionary.engine.structural  # nothing overlaps
    narrow = Epitome(rng.standard_normal((30, 30)), windows((30, 30), (3, 3)))
    assert not narrow.dictionary.engine.structural
    video = Epitome(rng.standard_normal((10, 12, 12)), windows((10, 12, 12), (4, 6, 6)))
    assert not video.dictionary.engine.structural


@pytest.mark.skipif(kernels.isa == "reference", reason="tests the native bindings")
class TestWrongCalls:
    """The bindings check what Python should have checked: a wrong call is an error, never a wrong read."""

    def engine(self, rng: np.random.Generator) -> kernels.Engine:
        return engine_for(SHAPES["one 42x42"], np.float32, kernels.isas[-1], rng)[0]

    def test_sizes(self, rng: np.random.Generator) -> None:
        engine, stop = self.engine(rng), np.zeros(1, np.uint8)
        image, tops = np.zeros((20, 30, 1), np.float32), np.arange(13, dtype=np.int64)
        with pytest.raises(ValueError, match="differ in length"):
            engine.correlate(Rows(np.zeros((3, 63), np.float32), None))
        with pytest.raises(ValueError, match="leaves the image"):
            engine.correlate(Windows(image, tops, 0, 13 * 23 + 1, True))
        with pytest.raises(ValueError, match="leaves the image"):
            engine.correlate(Windows(image, tops + 1, 0, 1, True))
        with pytest.raises(ValueError, match="do not agree"):
            engine.correlate(Windows(np.zeros((20, 30, 3), np.float32), tops, 0, 1, True))
        with pytest.raises(ValueError, match=r"backwards|leaves"):
            engine.correlate(Windows(image, tops, 5, 3, True))
        with pytest.raises(ValueError, match="stop flag"):
            engine.pursue(Rows(np.zeros((3, 64), np.float32), None), 1.0, 4, True, np.zeros(2, np.uint8))
        wrong_start = (np.array([0, 1, 1, 1]), np.array([99999], np.int32), np.ones(1, np.float32))
        with pytest.raises(ValueError, match="not there"):
            engine.lasso(Rows(np.zeros((3, 64), np.float32), None), 1.0, 1e-4, False, wrong_start, stop)

    def test_dtypes_and_layouts_are_not_converted_in_silence(self, rng: np.random.Generator) -> None:
        engine = self.engine(rng)
        for rows in (np.zeros((3, 64)), np.zeros((64, 3), np.float32).T, np.zeros((3, 128), np.float32)[:, ::2]):
            with pytest.raises((TypeError, RuntimeError)):
                engine.correlate(Rows(rows, None))

    def test_places_outside_the_image(self) -> None:
        image, offsets = np.zeros(10), np.arange(3)
        with pytest.raises(ValueError, match="leaves the image"):
            kernels.gather(image, np.array([8]), offsets, True)
        with pytest.raises(ValueError, match="leaves the image"):
            kernels.gather(image, np.array([-1]), offsets, True)
        with pytest.raises(ValueError, match="leaves the image"):
            kernels.scatter(np.zeros(10), np.zeros(10), np.array([8]), offsets, np.ones((1, 3)), np.ones(1))
