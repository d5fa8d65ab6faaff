"""Usage: which windows code a patch, and where the windows lie."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from report_cases import SIGMA, images, report_data

from epitomes.coders import OLS
from epitomes.epitome import Epitome
from epitomes.learn import start
from epitomes.patches import Patches
from epitomes.phi import as_matrix, shift_invariant, subpixel, turned, union, windows
from epitomes.reports.usage import HELD, MOST_PATCHES, laid_out, largest_atoms, usage, windows_of


def test_colours_that_were_coded_one_by_one(rng: np.random.Generator) -> None:
    noisy, _ = images(rng, (40, 48, 3))
    used = usage(noisy, start.smooth_noise(windows((14, 14), (6, 6))), SIGMA)
    assert used is not None and used.sheet.ndim == 2 and used.numbers.min() < len(used.windows)


def test_no_map_where_none_can_be(rng: np.random.Generator) -> None:
    noisy, _ = images(rng, (40, 48))
    assert usage(noisy, start.smooth_noise(windows((14, 14, 3), (6, 6, 3))), SIGMA) is None  # colour patches
    assert usage(noisy, start.smooth_noise(windows((60, 60), (50, 6))), SIGMA) is None  # larger than the image
    assert usage(noisy, start.smooth_noise(windows((30,), (8,))), SIGMA) is None  # signals


@pytest.mark.parametrize("shape", [(700, 600), (8, 60_000), (208, 208)])
def test_the_map_is_small_and_reaches_all_borders(shape: tuple[int, int], rng: np.random.Generator) -> None:
    used = usage(rng.standard_normal(shape).astype(np.float32), start.smooth_noise(windows((9, 9), (8, 8))), 5.0)
    assert used is not None and used.numbers.shape == (len(used.rows), len(used.columns), HELD)
    assert len(used.rows) * len(used.columns) <= MOST_PATCHES
    assert (used.rows[-1] + 8, used.columns[-1] + 8) == shape and used.rows[0] == used.columns[0] == 0


def test_the_map_holds_the_windows_with_the_largest_coefficients(rng: np.random.Generator) -> None:
    data = report_data(rng)
    epitome = data.epitome
    patches = Patches(data.noisy, (6, 6))
    codes = OLS(residual=36 * (1.15 * SIGMA) ** 2, n_nonzero=16).encode(patches, epitome.dictionary.astype(np.float32))
    used = usage(data.noisy, epitome, SIGMA)
    assert used is not None and used.stride == 1
    packed = used.as_dict()
    numbers = np.frombuffer(base64.b64decode(packed["numbers"]), "<u2").reshape(len(patches), HELD)
    places = np.frombuffer(base64.b64decode(packed["windows"]), "<u2").reshape(-1, 5)
    everywhere = windows_of(epitome.phi)
    for number in range(0, len(patches), 7):
        row = codes[[number]].toarray()[0] * epitome.dictionary.norms
        best = [atom for atom in np.argsort(-np.abs(row), kind="stable")[:HELD] if row[atom] != 0]
        kept = [one for one in numbers[number] if one < len(places)]
        np.testing.assert_array_equal(places[kept], everywhere[best])
    assert (numbers == len(places)).any() and (numbers < len(places)).any()  # flat patches, and others


def test_ties_and_empty_codes() -> None:
    codes = OLS(n_nonzero=1).encode(
        np.array([[0.0, 0.0], [3.0, 0.0]]), Epitome(np.eye(2), windows((2, 2), (1, 2))).dictionary
    )
    assert largest_atoms(codes, np.ones(2)).tolist() == [[-1] * HELD, [0] + [-1] * (HELD - 1)]


PHIS = {
    "one": windows((9, 12), (4, 5)),
    "several": windows((3, 9, 8), (4, 5)),
    "torus": windows((9, 12), (4, 5), border="periodic"),
    "cylinders": windows((2, 9, 12), (4, 5), border=("valid", "periodic")),
    "colour": windows((2, 9, 8, 3), (4, 5, 3)),
    "flat": shift_invariant(5, (4, 4), 1),
    "turned": turned(windows((9, 8), (4, 5))),
    "union": union(windows((6, 7), (4, 5)), windows((2, 9, 5), (4, 5))),
}


@pytest.mark.parametrize("phi", PHIS.values(), ids=PHIS)
def test_windows_hold_the_pixels_of_their_atoms(phi) -> None:
    pixels = np.arange(np.prod(phi.epitome_shape), dtype=float).reshape(phi.epitome_shape)
    tiles, sheet = laid_out(Epitome(pixels, phi))
    taken = np.zeros(sheet.shape[:2], int)
    for top, left, tall, wide in tiles.tolist():
        taken[top : top + tall, left : left + wide] += 1
    assert taken.max() == 1 and taken.sum() == (tiles[:, 2].astype(int) * tiles[:, 3]).sum()  # beside each other
    channels = phi.patch_shape[2] if len(phi.patch_shape) == 3 else 1
    starts = np.cumsum([0, *(int(t[2]) * int(t[3]) * channels for t in tiles)])
    for (tile, top, left, height, width), atom in zip(windows_of(phi).tolist(), phi.index, strict=True):
        tall, wide = map(int, tiles[tile][2:])
        seen = (atom - starts[tile]) // channels
        held = {((top + y) % tall, (left + x) % wide) for y in range(height) for x in range(width)}
        assert held == set(zip((seen // wide).tolist(), (seen % wide).tolist(), strict=True))


def test_windows_between_pixels() -> None:
    phi = subpixel(windows((9, 10), (4, 4)), [(0.5, 0.25)])
    matrix = as_matrix(phi)
    for atom, (tile, top, left, height, width) in enumerate(windows_of(phi).tolist()):
        pixels = np.unique(matrix[atom * 16 : (atom + 1) * 16].indices)
        rows, columns = pixels // 10, pixels % 10
        assert (tile, top, left) == (0, rows.min(), columns.min())
        assert (height, width) == (np.ptp(rows) + 1, np.ptp(columns) + 1)
