"""Pictures of inpainting for the documentation: before and after, side by side, in `--output`, default `docs`.

They are made of the shipped photograph, of free pictures of scikit-image, and of Big Buck Bunny (Blender Foundation, CC
BY 3.0).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.missing_frames import every_third, neighbours_mean
from benchmarks.options import Options
from benchmarks.sequences import clips
from epitomes import demo, inpaint, write

WORDS = "epitomes complete missing pixels   "
SEED = 3
CLIP, SHOWN = "bigbuckbunny", 11  # the clip and the frame of it

Pixels = NDArray[Any]
Flags = NDArray[np.bool_]


def run(options: Options) -> None:
    """Write one PNG file for each case."""
    folder = options.output or Path("docs")
    for name, (image, mask) in {"text": text(), "scratches": scratches(), "object": pasted()}.items():
        channels = -1 if image.ndim == 3 else None
        done = inpaint(image, mask, channel_axis=channels, threads=options.threads)
        gap = np.full((len(image), 6, *image.shape[2:]), 255, image.dtype)
        write(folder / f"inpainting-{name}.png", np.concatenate([image, gap, done], axis=1), overwrite=True)
    if (frames := missing_frame(options.threads)) is not None:
        write(folder / "inpainting-frame.png", frames, overwrite=True)


def missing_frame(threads: int) -> Pixels | None:
    """A missing frame of a clip: the mean of its neighbours, the interpolated one, and the true one."""
    clip = next((each.pixels for each in clips(None) if each.name == CLIP), None)
    if clip is None:
        return None
    missing = every_third(len(clip))
    done = inpaint(np.where(missing[:, None, None], np.float32(np.nan), clip), threads=threads)
    mean = neighbours_mean(clip, missing)
    gap = np.full((clip.shape[1], 6), 255, np.float32)
    row = np.concatenate([mean[SHOWN], gap, done[SHOWN], gap, clip[SHOWN]], axis=1)
    return np.clip(np.rint(row), 0, 255).astype(np.uint8).repeat(2, axis=0).repeat(2, axis=1)


def text() -> tuple[Pixels, Flags]:
    """Lines of white text over the shipped photograph."""
    from PIL import Image, ImageDraw, ImageFont

    image = demo.shipped_picture().astype(np.uint8)
    sheet = Image.new("L", image.shape[::-1])
    draw = ImageDraw.Draw(sheet)
    for line in range(12):
        draw.text((-7 * line, 2 + 22 * line), 3 * WORDS, fill=255, font=ImageFont.load_default(15))
    mask = np.asarray(sheet) > 40
    return np.where(mask, np.uint8(255), image), mask


def scratches() -> tuple[Pixels, Flags]:
    """A frame in colour with vertical scratches, hairs and specks."""
    from PIL import Image, ImageDraw
    from skimage import data

    image = data.astronaut()[:256, 90:346]
    rng = np.random.default_rng(SEED)
    sheet = Image.new("L", (256, 256))
    draw = ImageDraw.Draw(sheet)
    for _ in range(5):
        x = int(rng.integers(10, 246))
        draw.line([(x, 0), (x + int(rng.integers(-6, 7)), 255)], fill=255, width=int(rng.integers(1, 4)))
    for _ in range(6):
        ends = np.cumsum(np.vstack([rng.integers(20, 236, 2), rng.integers(-22, 23, (5, 2))]), axis=0)
        draw.line([(int(x), int(y)) for x, y in ends], fill=255, width=2)
    for _ in range(40):
        x, y, r = (int(value) for value in rng.integers([0, 0, 1], [256, 256, 4]))
        draw.ellipse([x - r, y - r, x + r, y + r], fill=255)
    mask = np.asarray(sheet) > 0
    return np.where(mask[..., None], np.uint8(245), image), mask


def pasted() -> tuple[Pixels, Flags]:
    """A black square of 40 x 40 pixels on a wall."""
    from skimage import data

    image = data.brick()[:256, :256].astype(np.uint8)
    mask = np.zeros(image.shape, np.bool_)
    mask[100:140, 110:150] = True
    return np.where(mask, np.uint8(0), image), mask
