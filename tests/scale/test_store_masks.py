"""Masks and missing values of stored images: tiles change no bit of what the whole image becomes in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from numpy.typing import NDArray
from restoration_cases import colours, whole_methods, with_noise
from store_cases import SIGMA, deep_epitome, flat_epitome, grey, stored, volume

from epitomes import Noise, read, write
from epitomes.restoration import NonLocal, Patchwise, Plan
from epitomes.scale import denoise_store, process_pool
from epitomes.scale.units import MOST_SAMPLE

pytestmark = [pytest.mark.slow, whole_methods]
pytest.importorskip("zarr")

LEVEL = 10 * SIGMA
FAST = NonLocal(preset="fast")


def holes(shape: tuple[int, ...], seed: int = 0) -> NDArray[np.bool_]:
    """Single pixels, and balls; a corner is covered."""
    rng = np.random.default_rng(seed)
    bad = np.asarray(rng.random(shape) < 0.02)
    places = np.ogrid[tuple(slice(0, n) for n in shape)]
    for radius in (3, 7, 15, 30):
        centre = [rng.integers(0, n) for n in shape]
        bad |= sum((place - at) ** 2 for place, at in zip(places, centre, strict=True)) < radius**2
    bad[-20:, -30:] = True
    return bad


def expected(path: Path, method: Any, sigma: float, mask: Any = None) -> NDArray[Any]:
    picture = read(path)
    plan = Plan(method=method, noise=Noise.gaussian(sigma), layout=picture.layout)
    return plan.run(picture.pixels, mask=mask, threads=1).image


@pytest.mark.parametrize(
    ("method", "tiles"),
    [
        (FAST, (16, 50, 512)),
        (NonLocal(preset="fast", stride=2), (33,)),
        (NonLocal(preset="fast", stride=3), (16, 128)),
        (Patchwise(epitome=flat_epitome()), (64,)),
    ],
    ids=["fast", "stride 2", "stride 3", "paper"],
)
def test_tiles_change_no_bit_beside_a_mask(tmp_path: Path, method: Any, tiles: tuple[int, ...]) -> None:
    path, mask = stored(tmp_path, grey(100, 130)), holes((100, 130))
    whole = expected(path, method, LEVEL, mask)
    for tile in tiles:
        result = denoise_store(path, tmp_path / f"{tile}.zarr", LEVEL, method=method, tile=tile, mask=mask)
        assert result.complete and "left as they were" in result.notes[-1]
        found = read(result.path).pixels
        np.testing.assert_array_equal(found, whole)
        np.testing.assert_array_equal(found[mask], grey(100, 130)[mask])
        assert len(list(tmp_path.glob(f"{tile}.zarr*"))) == 1  # the file of the mask is gone


def test_balanced_beside_missing_values(tmp_path: Path) -> None:
    pixels = grey(330, 40).astype(np.float32)
    pixels[holes((330, 40), 1)] = np.nan
    path = stored(tmp_path, pixels)
    result = denoise_store(path, tmp_path / "out.zarr", LEVEL, preset="balanced", tile=64)
    np.testing.assert_array_equal(read(result.path).pixels, expected(path, NonLocal(), LEVEL))
    assert np.isnan(read(result.path).pixels).sum() == np.isnan(pixels).sum()


@pytest.mark.parametrize("each", [False, True], ids=["for all channels", "of each channel"])
def test_colours(tmp_path: Path, each: bool) -> None:
    path = stored(tmp_path, with_noise(colours(70), SIGMA).astype(np.float32), "YXC")
    mask = np.stack([holes((70, 70), seed) for seed in range(3)], axis=-1) if each else holes((70, 70))
    result = denoise_store(path, tmp_path / "out.zarr", SIGMA, method=FAST, tile=32, mask=mask)
    np.testing.assert_array_equal(read(result.path).pixels, expected(path, FAST, SIGMA, mask))


def test_volumes(tmp_path: Path) -> None:
    """Patches of three dimensions reach across planes, in each of which bad pixels are replaced."""
    path, method = stored(tmp_path, volume(), "ZYX"), Patchwise(epitome=deep_epitome())
    mask = np.stack([holes((44, 40), seed) for seed in range(12)])
    whole = expected(path, method, SIGMA, mask)
    result = denoise_store(path, tmp_path / "out.zarr", SIGMA, method=method, tile=(5, 20, 16), mask=mask)
    np.testing.assert_array_equal(read(result.path).pixels, whole)
    # One plane of the mask stands for all; planes by themselves.
    flat = expected(path, NonLocal(preset="fast", planes="single", multiscale=False), SIGMA, mask[0])
    result = denoise_store(path, tmp_path / "flat.zarr", SIGMA, preset="fast", tile=32, mask=mask[0])
    np.testing.assert_array_equal(read(result.path).pixels, flat)


@pytest.mark.parametrize("form", ["zarr", "tif", "png"])
def test_files_and_three_processes(tmp_path: Path, form: str) -> None:
    path, mask = stored(tmp_path, grey(60, 70)), holes((60, 70)).astype(np.uint8)
    file = tmp_path / f"mask.{form}"
    if form == "tif":
        tifffile.imwrite(file, mask, tile=(32, 32))
    else:
        write(file, mask)
    executor = process_pool(3) if form == "png" else None  # they read the file that is saved for them
    result = denoise_store(path, tmp_path / "out.zarr", LEVEL, method=FAST, tile=16, mask=file, executor=executor)
    np.testing.assert_array_equal(read(result.path).pixels, expected(path, FAST, LEVEL, mask))
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([file.name, "noisy.zarr", "out.zarr"])


def test_noise_is_estimated_beside_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a picture that is larger than a sample, and mostly masked, a part with good pixels is looked for."""
    monkeypatch.setattr("epitomes.scale.units.MOST_SAMPLE", 64**2)
    monkeypatch.setattr("epitomes.scale.units.SHOWN", 64)
    assert MOST_SAMPLE > 300**2
    mask = np.ones((300, 300), np.bool_)
    mask[225:297, 3:72] = False  # beside all blocks of the sample
    path = stored(tmp_path, grey(300, 300))
    results = [denoise_store(path, tmp_path / f"{tile}.zarr", method=FAST, tile=tile, mask=mask) for tile in (64, 512)]
    one, other = (read(result.path).pixels for result in results)
    np.testing.assert_array_equal(one, other)
    assert abs(results[0].plan.noise.level / LEVEL - 1) < 0.2
    assert one[~mask].std() < grey(300, 300)[~mask].std()


class TestRefused:
    def test_masks_that_do_not_fit(self, tmp_path: Path) -> None:
        path = stored(tmp_path, grey(60, 70))
        with pytest.raises(ValueError, match=r"the mask needs \(60, 70\)"):
            denoise_store(path, tmp_path / "out.zarr", LEVEL, mask=np.zeros((70, 60), np.bool_))
        with pytest.raises(TypeError, match="booleans or integers"):
            denoise_store(path, tmp_path / "out.zarr", LEVEL, mask=np.zeros((60, 70)))
        with pytest.raises(ValueError, match="every pixel"):
            denoise_store(path, tmp_path / "out.zarr", LEVEL, mask=np.ones((60, 70), np.bool_))
        assert [each.name for each in tmp_path.iterdir()] == ["noisy.zarr"]

    def test_infinite_values_are_refused_where_they_are_used(self, tmp_path: Path) -> None:
        pixels = grey(60, 70).astype(np.float32)
        pixels[5, 6] = np.inf
        path = stored(tmp_path, pixels)
        with pytest.raises(ValueError, match="cover them with mask"):
            denoise_store(path, tmp_path / "out.zarr", LEVEL, method=FAST)
        mask = np.isinf(pixels)
        result = denoise_store(path, tmp_path / "out.zarr", LEVEL, method=FAST, tile=32, mask=mask)
        np.testing.assert_array_equal(read(result.path).pixels, expected(path, FAST, LEVEL, mask))

    def test_a_channel_that_is_missing(self, tmp_path: Path) -> None:
        pixels = with_noise(colours(40), SIGMA).astype(np.float32)
        pixels[..., 1] = np.nan
        result = denoise_store(stored(tmp_path, pixels, "YXC"), tmp_path / "out.zarr", SIGMA, method=FAST, tile=32)
        assert not result.complete and "leave it out" in result.failures[0].reason
