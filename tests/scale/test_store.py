"""Stored images: the same bits for every tile, worker and executor, and metadata and levels as in memory."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from restoration_cases import colours, whole_methods, with_noise
from store_cases import SIGMA, deep_epitome, flat_epitome, grey, stored, untiled, volume

from epitomes import Noise, denoise, read, write
from epitomes.formats import Picture
from epitomes.restoration import NonLocal, Patchwise, Plan
from epitomes.scale import StoreProgress, denoise_store, process_pool

pytestmark = [pytest.mark.slow, whole_methods]
zarr = pytest.importorskip("zarr")

LEVEL = 10 * SIGMA
FAST = NonLocal(preset="fast")


@pytest.mark.parametrize(
    ("method", "tiles"),
    [
        (FAST, (16, 50, 512)),
        (NonLocal(preset="fast", stride=2), (16, 64)),
        (NonLocal(preset="fast", stride=3), (16, 50, 128)),
        (Patchwise(epitome=flat_epitome()), (33, 64)),
    ],
    ids=["fast", "stride 2", "stride 3", "paper"],
)
def test_tiles_change_no_bit_of_an_image(tmp_path: Path, method: Any, tiles: tuple[int, ...]) -> None:
    path = stored(tmp_path, grey())
    expected = untiled(path, method, Noise.gaussian(LEVEL))
    for tile in tiles:
        result = denoise_store(path, tmp_path / f"{tile}.zarr", LEVEL, method=method, tile=tile)
        assert result.complete and result.n_tiles == -(-150 // tile) * -(-170 // tile)
        np.testing.assert_array_equal(read(result.path).pixels, expected)
        assert result.path == tmp_path / f"{tile}.zarr" and len(list(tmp_path.glob(f"{tile}.zarr*"))) == 1


@pytest.mark.parametrize("shape", [(450, 40), (40, 450)], ids=["tall", "wide"])
def test_tiles_change_no_bit_of_balanced(tmp_path: Path, shape: tuple[int, int]) -> None:
    """The window of a tile is smaller than the image along one axis: the halo of all passes is 180 pixels."""
    path = stored(tmp_path, grey(*shape))
    expected = untiled(path, NonLocal(), Noise.gaussian(LEVEL))
    result = denoise_store(path, tmp_path / "out.zarr", LEVEL, preset="balanced", tile=64)
    assert 100 < max(result.halo) < (max(shape) - 64) / 2  # no window holds the whole image
    np.testing.assert_array_equal(read(result.path).pixels, expected)


@pytest.mark.parametrize("method", [FAST, Patchwise(epitome=flat_epitome())], ids=["fast", "paper"])
def test_tiles_change_no_bit_of_colours(tmp_path: Path, method: Any) -> None:
    path = stored(tmp_path, with_noise(colours(90), SIGMA).astype(np.float32), "YXC")
    expected = untiled(path, method, Noise.gaussian(SIGMA))
    result = denoise_store(path, tmp_path / "out.zarr", SIGMA, method=method, tile=40)
    picture = read(result.path)
    assert picture.axes == "YXC"
    np.testing.assert_array_equal(picture.pixels, expected)


def test_tiles_change_no_bit_of_a_volume(tmp_path: Path) -> None:
    path, method = stored(tmp_path, volume(), "ZYX"), Patchwise(epitome=deep_epitome())
    expected = untiled(path, method, Noise.gaussian(SIGMA))
    for tile in (16, (5, 20, 16)):
        result = denoise_store(path, tmp_path / f"{tile}.zarr", SIGMA, method=method, tile=tile)
        np.testing.assert_array_equal(read(result.path).pixels, expected)


def test_planes_stains_and_counted_light(tmp_path: Path) -> None:
    """Planes of a volume and stains are pictures of their own; noise that grows with brightness is evened out."""
    pixels = np.stack([volume()[:3], 2 * volume()[4:7]]).clip(0).astype(np.uint16)
    path, noise = stored(tmp_path, pixels, "CZYX"), Noise.poisson_gaussian(2.0, 1.0, 5.0)
    result = denoise_store(path, tmp_path / "out.zarr", noise=noise, preset="fast", tile=16)
    assert result.n_tiles == 2 * 3 * 3 * 3 and "plane by plane" in result.plan.explain()
    assert "three scales" in result.notes[0]  # where noise is that strong, whole images get more
    expected = untiled(path, NonLocal(preset="fast", planes="single", multiscale=False), noise)
    np.testing.assert_array_equal(read(result.path).pixels, expected)


@pytest.mark.parametrize("kind", ["threads", "two threads", "three threads", "processes", "dask"])
def test_executors_change_no_bit(tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    path = stored(tmp_path, grey())
    expected = untiled(path, FAST, Noise.gaussian(LEVEL))
    executor: Any = None
    match kind:
        case "two threads":
            executor = partial(ThreadPoolExecutor, 2)
        case "three threads":
            executor = partial(ThreadPoolExecutor, 3)
        case "processes":
            executor = process_pool(2)
        case "dask":
            executor = request.getfixturevalue("dask_client").get_executor(pure=False, retries=3)
    result = denoise_store(path, tmp_path / "out.zarr", LEVEL, method=FAST, tile=64, executor=executor)
    np.testing.assert_array_equal(read(result.path).pixels, expected)


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_levels_and_metadata_are_those_of_memory(tmp_path: Path, version: str) -> None:
    pixels = grey(700, 1100)
    picture = Picture(pixels, "YX", {"Y": 0.5, "X": 0.25}, {"Y": "um", "X": "um"})
    source = tmp_path / "in.zarr"
    if version == "0.5":
        write(source, picture)
    else:
        group = zarr.create_group(store=zarr.storage.LocalStore(source), zarr_format=2)
        names = [{"name": name, "type": "space", "unit": "micrometer"} for name in "yx"]
        scale = [{"type": "scale", "scale": [0.5, 0.25]}]
        levels = [{"path": str(k), "coordinateTransformations": scale} for k in range(2)]
        group.attrs["multiscales"] = [{"version": "0.4", "axes": names, "datasets": levels, "name": "cells"}]
        group.create_array("0", data=pixels, chunks=(200, 300))
        group.create_array("1", data=pixels[::2, ::2], chunks=(200, 300))
    result = denoise_store(source, tmp_path / "out.zarr", LEVEL, preset="fast", tile=512)
    found, noisy = read(result.path), read(source)
    assert found.spacing == noisy.spacing and found.units == noisy.units and found.axes == "YX"
    write(tmp_path / "memory.zarr", noisy.replace(found.pixels))
    one, other = (zarr.open(str(tmp_path / name), mode="r") for name in ("out.zarr", "memory.zarr"))
    assert one.metadata.zarr_format == (3 if version == "0.5" else 2)
    assert json.dumps(dict(one.attrs), sort_keys=True) == json.dumps(dict(other.attrs), sort_keys=True)
    assert sorted(one) == sorted(other) == ["0", "1"]
    for level in one:
        assert one[level].chunks == other[level].chunks
        np.testing.assert_array_equal(one[level][...], other[level][...])


@pytest.mark.parametrize("kind", ["tiles", "one piece", "colours"])
def test_bigtiff_in(tmp_path: Path, kind: str) -> None:
    pixels = grey() if kind != "colours" else np.clip(with_noise(colours(80), SIGMA), 0, 255).astype(np.uint8)
    more: dict[str, Any] = {} if kind == "one piece" else {"tile": (64, 64), "compression": "zlib"}
    if kind == "colours":
        more["photometric"] = "rgb"
    tifffile.imwrite(tmp_path / "in.tif", pixels, bigtiff=True, **more)
    sigma = SIGMA if kind == "colours" else LEVEL
    result = denoise_store(tmp_path / "in.tif", tmp_path / "out.zarr", sigma, preset="fast", tile=40)
    expected = denoise(read(tmp_path / "in.tif"), sigma, preset="fast")
    np.testing.assert_array_equal(read(result.path).pixels, expected)


def test_noise_is_estimated_and_progress_is_told(tmp_path: Path) -> None:
    path, told = stored(tmp_path, grey()), list[StoreProgress]()
    result = denoise_store(path, tmp_path / "out.zarr", preset="fast", tile=64, callback=told.append)
    assert result.plan.noise.estimated and abs(result.plan.noise.level / LEVEL - 1) < 0.15
    assert told[0].stage == "settling" and told[-1].stage == "done" and told[-1].done == told[-1].total == 9
    assert [each.done for each in told if each.stage == "tiles"] == list(range(10))
    assert told[-1].left == 0 and told[4].rate > 0


def test_a_plan_is_run_as_it_is(tmp_path: Path) -> None:
    path = stored(tmp_path, grey())
    plan = Plan(method=FAST, noise=Noise.gaussian(LEVEL), layout=read(path).layout)
    result = denoise_store(path, tmp_path / "out.zarr", plan=plan, tile=64)
    np.testing.assert_array_equal(read(result.path).pixels, plan.run(read(path).pixels).image)
    with pytest.raises(ValueError, match="plan holds the noise"):
        denoise_store(path, tmp_path / "other.zarr", LEVEL, plan=plan)


class TestRefused:
    def refused(self, tmp_path: Path, match: str, pixels: Any = None, **settings: Any) -> None:
        path = stored(tmp_path, grey() if pixels is None else pixels)
        with pytest.raises(ValueError, match=match):
            denoise_store(path, tmp_path / "out.zarr", **{"sigma": LEVEL, **settings})
        assert sorted(each.name for each in tmp_path.iterdir()) == ["noisy.zarr"]  # nothing was begun

    @pytest.mark.parametrize(
        ("match", "settings"),
        [
            ("preset='balanced'", {"preset": "best"}),
            ("learn one first", {"method": "paper"}),
            ("leave out multiscale", {"method": NonLocal(preset="fast", multiscale=True)}),
            ("multiple of 512, .* use 1024", {"tile": 1000}),
            ("smallest tiles need about", {"memory": "10M"}),
            ("leave out tile", {"tile": 64, "memory": "100M"}),
            ("must be a number of bytes", {"memory": "lots"}),
            (
                "whitened in whole images only: estimate it",
                {"sigma": None, "noise": Noise.from_spectrum(np.ones((150, 170)))},
            ),
            ("map of shape", {"sigma": None, "noise": Noise.map(np.full((150, 170), LEVEL))}),
        ],
    )
    def test_settings(self, tmp_path: Path, match: str, settings: dict[str, Any]) -> None:
        self.refused(tmp_path, match, **settings)

    def test_outputs(self, tmp_path: Path) -> None:
        path = stored(tmp_path, grey())
        with pytest.raises(ValueError, match=r"suffix \.zarr"):
            denoise_store(path, tmp_path / "out.tif", LEVEL)
        with pytest.raises(FileExistsError, match="exists already"):
            denoise_store(path, path, LEVEL)
