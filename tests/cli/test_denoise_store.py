"""`epitomes denoise` of images larger than memory: options, progress, refusals, and the same bits as in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from restoration_cases import whole_methods
from store_cases import SIGMA, grey, stored

from epitomes import read, write

Run = Callable[..., tuple[int, str, str]]

pytestmark = [pytest.mark.slow, whole_methods]
pytest.importorskip("zarr")

FAST = ("--sigma", 10 * SIGMA, "--preset", "fast")


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return stored(tmp_path, grey())


def test_tiles_and_memory_give_the_same_pixels(run: Run, image: Path, tmp_path: Path) -> None:
    code, out, err = run("denoise", image, "-o", tmp_path / "tiles.zarr", *FAST, "--tile", 64, "--progress", "json")
    assert code == 0 and "9 tiles of 64 x 64" in out
    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert lines[-1]["stage"] == "done" and lines[-1]["tiles"] == lines[-1]["of"] == 9 and lines[-1]["failed"] == 0
    assert all(line["tiles_per_second"] > 0 for line in lines if line["stage"] == "tiles" and line["tiles"])
    assert run("denoise", image, "-o", tmp_path / "whole.zarr", *FAST)[0] == 0
    whole = read(tmp_path / "whole.zarr").pixels
    np.testing.assert_array_equal(read(tmp_path / "tiles.zarr").pixels, whole)
    # Above the size limit, tiles are used without being asked for.
    code, out, _ = run("denoise", image, "-o", tmp_path / "large.zarr", *FAST, "--max-pixels", 20_000, "--json")
    assert code == 0 and json.loads(out)["tiles"] == 1
    np.testing.assert_array_equal(read(tmp_path / "large.zarr").pixels, whole)


def test_workers_and_memory(run: Run, image: Path, tmp_path: Path) -> None:
    code, out, _ = run("denoise", image, "-o", tmp_path / "out.zarr", *FAST, "--workers", 2, "--memory", "1G", "--json")
    assert code == 0 and json.loads(out)["halo"] == [8, 8]
    assert read(tmp_path / "out.zarr").pixels.std() < 0.97 * grey().std()


def test_a_mask(run: Run, image: Path, tmp_path: Path) -> None:
    mask = np.zeros(grey().shape, np.uint8)
    mask[40:70, 50:90] = 1
    write(tmp_path / "mask.zarr", mask)
    common = ("--mask", tmp_path / "mask.zarr", *FAST)
    assert run("denoise", image, "-o", tmp_path / "whole.zarr", *common)[0] == 0
    code, _, err = run("denoise", image, "-o", tmp_path / "tiles.zarr", *common, "--tile", 64)
    assert code == 0 and "left as they were" in err
    found = read(tmp_path / "tiles.zarr").pixels
    np.testing.assert_array_equal(found, read(tmp_path / "whole.zarr").pixels)
    np.testing.assert_array_equal(found[mask > 0], grey()[mask > 0])


@pytest.mark.parametrize(
    ("code", "message", "remedy", "options"),
    [
        (4, "smallest tiles need about", "--memory ", ("--memory", "50M")),
        (2, "--workers are processes of this machine", "", ("--workers", 2, "--cluster", "tcp://127.0.0.1:1")),
        (2, "--keep needs the whole image", "", ("--tile", 64, "--keep", 0.5)),
        (2, "--fill needs the whole image", "", ("--tile", 64, "--fill")),
        (3, "adapts to the whole image", "", ("--tile", 64, "--preset", "best")),
    ],
)
def test_refused(
    run: Run, image: Path, tmp_path: Path, code: int, message: str, remedy: str, options: tuple[object, ...]
) -> None:
    found, _, err = run("denoise", image, "-o", tmp_path / "out.zarr", *FAST, *options)
    assert found == code and message in err and remedy in err
    assert not (tmp_path / "out.zarr").exists()


def test_the_command_of_a_refusal_works(run: Run, image: Path, tmp_path: Path) -> None:
    _, _, err = run("denoise", image, "-o", tmp_path / "out.zarr", *FAST, "--memory", "50M")
    command = err.splitlines()[-1].split("try: epitomes ")[1].split()
    assert run(*command)[0] == 0


def test_other_formats_have_no_tiles(run: Run, image: Path, tmp_path: Path) -> None:
    write(tmp_path / "noisy.png", grey())
    code, _, err = run("denoise", tmp_path / "noisy.png", "-o", tmp_path / "out.zarr", "--memory", "1G")
    assert code == 2 and "leave out --memory" in err
    code, _, err = run("denoise", image, "-o", tmp_path / "out.tif", "--memory", "1G")
    assert code == 2 and "-o" in err and "out.zarr" in err
