"""The demonstration: noise is added to a shipped picture and taken off again with a shipped epitome.

    python -m epitomes.demo --output demo

Every 8 x 8 patch, its mean set aside, is coded by the fewest atoms that explain it up to the noise, and every pixel
becomes the mean of its 64 estimates (paper, section 5.4). The epitome was made by `python -m benchmarks make-epitome`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.resources import as_file, files
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from epitomes import blocks, kernels
from epitomes.aggregate import Aggregator
from epitomes.checks import Array
from epitomes.coders import OLS
from epitomes.epitome import Epitome
from epitomes.patches import Patches
from epitomes.phi import windows

PATCH = (8, 8)
GAIN = 1.15  # the paper's C: a patch may keep (C sigma)^2 of error per pixel


def shipped_epitome() -> Epitome:
    """The epitome of natural pictures that comes with the library: 42 x 42 pixels, 1225 atoms of 8 x 8."""
    with as_file(files("epitomes") / "data" / "natural-42.npy") as path:
        pixels = np.load(path, allow_pickle=False)
    return Epitome(pixels, windows(pixels.shape, PATCH))


def shipped_picture() -> NDArray[np.float32]:
    """A grey photograph, 256 x 256, with values from 0 to 255."""
    with as_file(files("epitomes") / "data" / "camera-256.png") as path, Image.open(path) as picture:
        return np.asarray(picture.convert("L"), dtype=np.float32)


def denoise_with(epitome: Epitome, noisy: Array, sigma: float, tell: Callable[[str], None]) -> Array:
    """Code all patches up to the noise and average the overlaps."""
    patches = Patches(noisy, PATCH)
    coder = OLS(residual=patches.patch_size * (GAIN * sigma) ** 2)
    began = time.perf_counter()
    codes = coder.encode(patches, epitome.dictionary)
    seconds = time.perf_counter() - began
    tell(f"coded {len(patches)} patches with {codes.nnz / len(patches):.2f} atoms each in {seconds:.2f} s")
    aggregator = Aggregator(patches)
    for first, last in blocks.split(len(patches)):
        _, means = patches.rows(first, last)
        aggregator.add(first, codes[first:last] @ epitome.dictionary.atoms + means[:, None])
    tell("averaged the overlapping estimates")
    return aggregator.mean()


def psnr(clean: Array, image: Array) -> float:
    """Peak signal-to-noise ratio in dB, for a peak of 255."""
    return float(10 * np.log10(255.0**2 / np.mean((np.asarray(clean, np.float64) - image) ** 2)))


def main(arguments: list[str] | None = None) -> None:
    """Run the demonstration and write its pictures."""
    parser = argparse.ArgumentParser(prog="python -m epitomes.demo", description="Denoise a shipped picture.")
    parser.add_argument("--output", type=Path, default=Path("demo"), help="folder for the pictures (default: demo)")
    parser.add_argument("--sigma", type=float, default=25.0, help="noise level in grey levels (default: 25)")
    options = parser.parse_args(arguments)
    if not options.sigma > 0:
        parser.error(f"--sigma must be above 0, got {options.sigma}")

    def tell(words: str) -> None:
        print(f"demo: {words}", file=sys.stderr, flush=True)

    tell(f"kernels for {kernels.isa}, {blocks.n_threads()} threads")
    clean, epitome = shipped_picture(), shipped_epitome()
    noise = np.random.default_rng(0).standard_normal(clean.shape)
    noisy = (clean + options.sigma * noise).astype(np.float32)
    denoised = denoise_with(epitome, noisy, options.sigma, tell)
    before, after = psnr(clean, noisy), psnr(clean, denoised)
    options.output.mkdir(parents=True, exist_ok=True)
    panels = {
        f"noisy, {before:.2f} dB": _grey(noisy),
        f"denoised, {after:.2f} dB": _grey(denoised),
        "clean": _grey(clean),
        "epitome": _enlarged(epitome.pixels, clean.shape),
    }
    for name, panel in zip(("noisy", "denoised", "clean", "epitome"), panels.values(), strict=True):
        _write(options.output / f"{name}.png", panel)
    _write(options.output / "demo.png", _side_by_side(panels))
    print(f"PSNR {before:.2f} dB -> {after:.2f} dB at sigma {options.sigma:g}; look at {options.output / 'demo.png'}")


def _grey(image: Array) -> Image.Image:
    return Image.fromarray(np.clip(np.rint(image), 0, 255).astype(np.uint8))


def _enlarged(pixels: Array, shape: tuple[int, ...]) -> Image.Image:
    """The epitome as a picture: nearly all of its range as grey, each pixel a square."""
    low, high = np.percentile(pixels, [1, 99])
    factor = min(shape) // max(pixels.shape)
    tile = _grey(255 * (pixels - low) / (high - low))
    return tile.resize((tile.width * factor, tile.height * factor), Image.Resampling.NEAREST)


def _side_by_side(panels: dict[str, Image.Image]) -> Image.Image:
    gap, caption = 8, 18
    width = sum(panel.width + gap for panel in panels.values()) + gap
    sheet = Image.new("L", (width, max(panel.height for panel in panels.values()) + caption + 2 * gap), 255)
    pen, left = ImageDraw.Draw(sheet), gap
    for title, panel in panels.items():
        pen.text((left, gap), title, fill=0)
        sheet.paste(panel, (left, gap + caption))
        left += panel.width + gap
    return sheet


def _write(path: Path, picture: Image.Image) -> None:
    """Write a PNG whole or not at all."""
    encoded = BytesIO()
    picture.save(encoded, "PNG")
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        file.write(encoded.getvalue())
        file.flush()
        os.fsync(file.fileno())
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


if __name__ == "__main__":
    main()
