"""The demonstration: noise is added to a shipped picture, an epitome is learned from the noisy picture, the noise goes.

    python -m epitomes.demo --output demo

Every 8 x 8 patch, its mean set aside, is coded by the fewest atoms that explain it up to the noise, and every pixel
becomes the mean of its 64 estimates (paper, section 5.4). Pictures and a page, index.html, are written to the folder.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes import blocks, kernels, restoration
from epitomes.cli.errors import guarded
from epitomes.cli.progress import watching
from epitomes.coders import Lasso
from epitomes.draw import (
    Command,
    Figure,
    Panel,
    Section,
    Series,
    Table,
    Text,
    epitome_picture,
    page,
    sheet,
    shown,
    svg_curve,
)
from epitomes.epitome import Epitome
from epitomes.files import write_atomically
from epitomes.formats import read, write
from epitomes.learn import Fit, Step, alternate, run, start
from epitomes.patches import Patches
from epitomes.phi import windows

PATCH = (8, 8)
SIGMA = 25.0
STEPS = 12


def shipped_epitome() -> Epitome:
    """The epitome of natural pictures that comes with the library: 42 x 42 pixels, 1225 atoms of 8 x 8."""
    return start.natural(windows((42, 42), PATCH))


def shipped_picture() -> NDArray[np.float32]:
    """A grey photograph, 256 x 256, with values from 0 to 255."""
    with as_file(files("epitomes") / "data" / "camera-256.png") as path:
        return read(path).pixels.astype(np.float32)


def psnr(clean: ArrayLike, image: ArrayLike) -> float:
    """Peak signal-to-noise ratio in dB, for a peak of 255."""
    error = np.asarray(clean, np.float64) - np.asarray(image, np.float64)
    return float(10 * np.log10(255.0**2 / np.mean(error**2)))


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration and write its pictures; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m epitomes.demo", description="Denoise a shipped picture.")
    parser.add_argument("--output", type=Path, default=Path("demo"), help="folder for the pictures (default: demo)")
    parser.add_argument("--sigma", type=float, default=SIGMA, help=f"noise level in grey levels (default: {SIGMA:g})")
    options = parser.parse_args(arguments)
    if not 0 < options.sigma < float("inf"):
        parser.error(f"--sigma must be above 0, got {options.sigma}")
    return guarded(lambda: _run(options.output, options.sigma))


def _run(output: Path, sigma: float) -> None:
    _tell(f"kernels for {kernels.isa}, {blocks.n_threads()} threads")
    clean = shipped_picture()
    noisy = (clean + sigma * np.random.default_rng(0).standard_normal(clean.shape)).astype(np.float32)
    recipe = restoration.several(noisy, sigma)
    _tell(f"learning {len(recipe.start.pixels)} epitomes from the noisy picture, in {STEPS} steps over all patches")
    # Not by the recipe's batches, which are quicker: over all patches the objective falls at every step.
    learner = alternate(Patches(noisy, recipe.start.phi.patch_shape), recipe.start, coder=Lasso(lam=recipe.lam))
    began = time.perf_counter()
    with watching("learning", STEPS) as callback:
        fit = run(learner, max_steps=STEPS, callback=callback or _teller(STEPS))
    restored = restoration.denoise(noisy, sigma, method="paper", epitome=fit.epitome)
    seconds = time.perf_counter() - began
    before, after = psnr(clean, noisy), psnr(clean, restored.image)
    output.mkdir(parents=True, exist_ok=True)
    panels = {
        "noisy": Panel(f"noisy, {before:.2f} dB", shown(noisy)),
        "denoised": Panel(f"denoised, {after:.2f} dB", shown(restored.image)),
        "clean": Panel("clean", shown(clean)),
        "epitome": Panel("the learned epitomes", epitome_picture(restored.epitome, enlarge=3)),
    }
    for name, panel in panels.items():
        write(output / f"{name}.png", panel.pixels, overwrite=True)
    write(output / "demo.png", sheet(list(panels.values())), overwrite=True)
    text = _page(panels, fit, restored.nonzeros, seconds, sigma, before, after)
    write_atomically(output / "index.html", text.encode())
    print(f"PSNR {before:.2f} dB -> {after:.2f} dB at sigma {sigma:g}; look at {output / 'index.html'}")


def _page(
    panels: dict[str, Panel], fit: Fit, nonzeros: float, seconds: float, sigma: float, before: float, after: float
) -> str:
    phi, history = fit.epitome.phi, fit.history
    seen = {
        "noisy": "The photograph under heavy grain: a man in a dark coat behind a camera on a tripod, on a lawn.",
        "denoised": "The same photograph with the grain gone; edges are sharp, the finest grass is smoother.",
        "clean": "The photograph as it was before noise was added.",
    }
    pictures = [Figure(panels[name].pixels, panels[name].caption, alt) for name, alt in seen.items()]
    epitome = Figure(
        epitome_picture(fit.epitome),
        f"{phi.epitome_shape[0]} epitomes of {phi.epitome_shape[1]} x {phi.epitome_shape[2]} pixels, one grey scale "
        f"for all; their windows of {phi.patch_shape[0]} x {phi.patch_shape[1]} pixels are the {phi.n_atoms} atoms.",
        "A grid of small grey pictures with edges, stripes and corners in many directions.",
        sharp=True,
    )
    objective = Series("objective", [one.index for one in history], [one.objective for one in history])
    curve = Figure(
        svg_curve([objective], title="Objective after each step", x_label="step", y_label="mean per patch"),
        "Eq. 3 of the paper over all patches of the noisy picture: no step makes it rise.",
        "",  # the chart describes itself
    )
    numbers = Table(
        "What was measured in this run",
        ("quantity", "value"),
        [
            ("noise level sigma", f"{sigma:g}"),
            ("PSNR of the noisy picture, dB", f"{before:.2f}"),
            ("PSNR of the denoised picture, dB", f"{after:.2f}"),
            ("atoms per patch", f"{nonzeros:.2f}"),
            ("seconds, learning included", f"{seconds:.1f}"),
        ],
    )
    return page(
        "An epitome learned from noise",
        [
            Section("Before and after", pictures),
            Section("What was learned", [epitome, curve]),
            Section("Numbers", [numbers]),
            Section(
                "Run it again",
                [
                    Command(f"python -m epitomes.demo --output demo --sigma {sigma:g}"),
                    Text("Or on a picture of your own:"),
                    Command("epitomes denoise noisy.png -o clean.png --sigma 25 --save-model noisy.epitome"),
                ],
            ),
        ],
        summary=(
            f"Epitomes of natural pictures went on learning from the noisy picture itself, and took its noise off: "
            f"{before:.2f} dB became {after:.2f} dB."
        ),
    )


def _teller(n_steps: int) -> Callable[[Step], None]:
    """Progress where no bar can be drawn: a line for each step."""

    def tell_step(step: Step) -> None:
        numbers = step.progress
        _tell(f"step {numbers.index} of {n_steps}: objective {numbers.objective:.6g}, {numbers.seconds:.2f} s")

    return tell_step


def _tell(words: str) -> None:
    print(f"demo: {words}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
