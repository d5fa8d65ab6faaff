"""`epitomes inpaint`: the library's result in a file, what is printed about it, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from epitomes import inpaint, kernels
from epitomes.formats import Picture, read, write

Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole commands")

FAST = ("--preset", "fast")


@pytest.fixture
def mask(tmp_path: Path, noisy: Path) -> Path:
    flags = np.zeros(read(noisy).pixels.shape, np.uint8)
    flags[20:22], flags[:, 30] = 255, 255
    write(tmp_path / "mask.png", flags)
    return tmp_path / "mask.png"


def test_the_result_is_the_librarys(noisy: Path, mask: Path, tmp_path: Path, run: Run) -> None:
    goal = tmp_path / "a.png"
    code, out, err = run("inpaint", noisy, "--mask", mask, "-o", goal, *FAST, "--json")
    facts = json.loads(out)
    assert code == 0 and not err and facts["output"] == str(goal) and facts["sigma"] == 0
    assert facts["missing"] == pytest.approx((read(mask).pixels != 0).mean())
    expected = inpaint(read(noisy).pixels, read(mask).pixels, preset="fast")
    np.testing.assert_array_equal(read(goal).pixels, expected)


def test_one_line_for_people(noisy: Path, mask: Path, tmp_path: Path, run: Run) -> None:
    code, out, _ = run("inpaint", noisy, "--mask", mask, "-o", tmp_path / "a.png", *FAST)
    assert code == 0 and out.startswith(f"{noisy} -> {tmp_path / 'a.png'}: 6.") and out.count("\n") == 1


def test_nan_without_a_mask(noisy: Path, mask: Path, tmp_path: Path, run: Run) -> None:
    pixels = np.where(read(mask).pixels != 0, np.nan, read(noisy).pixels).astype(np.float32)
    write(tmp_path / "holes.npy", pixels)
    code, _, _ = run("inpaint", tmp_path / "holes.npy", "-o", tmp_path / "a.npy", *FAST)
    assert code == 0
    np.testing.assert_array_equal(read(tmp_path / "a.npy").pixels, inpaint(pixels, preset="fast"))


def test_several_files_and_planes(noisy: Path, mask: Path, tmp_path: Path, run: Run) -> None:
    pixels = read(noisy).pixels
    write(tmp_path / "stack.npy", np.stack([pixels, pixels]))
    code, out, _ = run(
        "inpaint", noisy, tmp_path / "stack.npy", "--mask", mask, "-o", tmp_path / "done", "--axes", "ZYX", *FAST
    )
    assert code == 6 and "1 of 2 files" in out  # the PNG has no third axis
    expected = inpaint(np.stack([pixels, pixels]), read(mask).pixels, preset="fast")
    np.testing.assert_array_equal(read(tmp_path / "done" / "stack.npy").pixels, expected)


def test_planes_one_by_one(noisy: Path, mask: Path, tmp_path: Path, run: Run) -> None:
    pixels = read(noisy).pixels
    write(tmp_path / "stack.npy", np.stack([pixels, pixels[::-1]]))
    code, _, _ = run(
        "inpaint", tmp_path / "stack.npy", "--mask", mask, "-o", tmp_path / "a.npy", "--planes", "single", *FAST
    )
    assert code == 0
    expected = inpaint(np.stack([pixels, pixels[::-1]]), read(mask).pixels, spatial=2, preset="fast")
    np.testing.assert_array_equal(read(tmp_path / "a.npy").pixels, expected)


def test_missing_frames(noisy: Path, tmp_path: Path, run: Run) -> None:
    pixels = read(noisy).pixels
    clip = np.stack([np.roll(pixels, k, axis=1) for k in range(5)])
    write(tmp_path / "clip.npz", Picture(clip, "TYX"))
    code, out, _ = run("inpaint", tmp_path / "clip.npz", "--frames", "1,3", "-o", tmp_path / "a.npz", *FAST, "--json")
    assert code == 0 and json.loads(out)["missing"] == pytest.approx(0.4)
    missing = np.zeros(clip.shape, np.bool_)
    missing[[1, 3]] = True
    np.testing.assert_array_equal(read(tmp_path / "a.npz").pixels, inpaint(clip, missing, preset="fast"))
    for words, exit_code, text in (
        (("--frames", "7"), 3, "--frames 7 is beyond the last of 5 frames, which is 4"),
        (("--frames", "0:"), 3, "--frames names all 5 frames: leave some to interpolate from"),
        (("--frames", "third"), 2, "--frames needs numbers or ranges such as 3,6,9"),
        (("--frames", "1", "--planes", "single"), 2, "--planes auto"),
    ):
        got, _, err = run("inpaint", tmp_path / "clip.npz", *words, "-o", tmp_path / "b.npz")
        assert got == exit_code and text in err, err
    got, _, err = run("inpaint", noisy, "--frames", "1", "-o", tmp_path / "b.png")
    assert got == 3 and "--frames needs a volume or clip, got the axes YX" in err


def test_what_is_refused(noisy: Path, mask: Path, tmp_path: Path, run: Run) -> None:
    goal = tmp_path / "a.png"
    whole, none, small = (tmp_path / f"{name}.png" for name in ("whole", "none", "small"))
    write(whole, np.ones_like(read(mask).pixels))
    write(none, np.zeros_like(read(mask).pixels))
    write(small, read(mask).pixels[:9])
    for words, code, text in (
        ((noisy, "-o", goal), 3, "no value is NaN: name the missing pixels\n  try: epitomes inpaint"),
        ((noisy, "-o", goal, "--mask", small), 3, "small.png: mask has shape (9, 48), the image (48, 48)"),
        ((noisy, "-o", goal, "--mask", whole), 3, "whole.png: mask covers a whole plane of the image"),
        ((noisy, "-o", goal, "--mask", none), 3, "none.png: the mask is 0 everywhere"),
        ((noisy, "-o", noisy, "--mask", mask), 2, "--overwrite"),
        ((noisy, "-o", goal, "--mask", mask, "--sigma", "-1"), 2, "--sigma must be at least 0, got -1"),
        ((noisy, "-o", goal, "--mask", mask, "--sigma", "much"), 2, "--sigma must be a number of at least 0, or auto"),
        ((noisy, "-o", goal, "--mask", tmp_path / "no.png"), 3, "no.png"),
    ):
        got, _, err = run("inpaint", *words)
        assert got == code and text in err, err
        bad = {whole, none, small} & set(words)
        assert all(f"  try: epitomes info {each}" in err for each in bad), err
    assert not goal.exists()


def test_a_mask_of_every_pixel_is_refused_for_noisy_images_too(noisy: Path, tmp_path: Path, run: Run) -> None:
    write(tmp_path / "clip.npy", np.stack([read(noisy).pixels] * 3))
    write(tmp_path / "all.npy", np.ones((3, 48, 48), np.uint8))
    for sigma in ("0", "10"):
        words = "--mask", tmp_path / "all.npy", "-o", tmp_path / "a.npy", "--sigma", sigma
        code, _, err = run("inpaint", tmp_path / "clip.npy", *words)
        assert code == 3 and "no pixel of the mask is 0" in err and f"try: epitomes info {tmp_path / 'all.npy'}" in err
