"""A demonstration: add noise to a shipped image, learn epitomes from the noisy image, and denoise it with them.

    python -m epitomes.demo --output demo

Each 8 x 8 patch, without its mean, is coded by the fewest atoms that explain it up to the noise. Each pixel becomes the
mean of its 64 estimates (paper, section 5.4). The images and a page, index.html, are written to the output folder.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from epitomes import blocks, kernels
from epitomes.cli.errors import guarded
from epitomes.cli.progress import watching
from epitomes.coders import Lasso
from epitomes.draw import Panel, Series, Table, embed, epitome_picture, page, sheet, shown, svg_curve
from epitomes.epitome import Epitome
from epitomes.files import write_atomically
from epitomes.formats import read, write
from epitomes.learn import Fit, Step, alternate, natural, run
from epitomes.patches import Patches
from epitomes.phi import windows
from epitomes.restoration import Recipe, restore
from epitomes.validation import psnr

PATCH = (8, 8)
SIGMA = 25.0
STEPS = 12


def shipped_epitome() -> Epitome:
    """Load the shipped epitome of natural images: 42 x 42 pixels, 1225 atoms of 8 x 8."""
    return natural(windows((42, 42), PATCH))


def shipped_picture() -> NDArray[np.float32]:
    """Load the shipped grey photograph, 256 x 256, with values from 0 to 255."""
    with as_file(files("epitomes") / "data" / "camera-256.png") as path:
        return read(path).pixels.astype(np.float32)


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m epitomes.demo", description="Learn epitomes from a noisy image and denoise it."
    )
    parser.add_argument("--output", type=Path, default=Path("demo"), help="output folder (default: demo)")
    parser.add_argument(
        "--sigma",
        type=float,
        default=SIGMA,
        help=f"standard deviation of the noise in grey levels (default: {SIGMA:g})",
    )
    options = parser.parse_args(arguments)
    if not 0 < options.sigma < float("inf"):
        parser.error(f"--sigma must be above 0 and finite, got {options.sigma}")
    with guarded() as outcome:
        _run(options.output, options.sigma)
    return outcome.code


def _run(output: Path, sigma: float) -> None:
    _tell(f"kernels for {kernels.isa}, {blocks.n_threads()} threads")
    clean = shipped_picture()
    noisy = (clean + sigma * np.random.default_rng(0).standard_normal(clean.shape)).astype(np.float32)
    schedule = Recipe().settle(noisy, sigma)
    _tell(f"learning {len(schedule.start.pixels)} epitomes from the noisy image, {STEPS} steps over all patches")
    # Batches, which the recipe uses, are faster; over all patches the objective falls at every step.
    learner = alternate(Patches(noisy, PATCH), schedule.start, coder=Lasso(lam=schedule.lam))
    began = time.perf_counter()
    with watching("learning", STEPS) as callback:
        fit = run(learner, max_steps=STEPS, callback=callback or _teller(STEPS))
    restored = restore(noisy, sigma, method="paper", epitome=fit.epitome)
    seconds = time.perf_counter() - began
    before, after = psnr(clean, noisy), psnr(clean, restored.image)
    output.mkdir(parents=True, exist_ok=True)
    panels = {
        "noisy": Panel(f"noisy, {before:.2f} dB", shown(noisy)),
        "denoised": Panel(f"denoised, {after:.2f} dB", shown(restored.image)),
        "clean": Panel("clean", shown(clean)),
        "epitome": Panel("the learned epitomes", epitome_picture(fit.epitome, enlarge=3)),
    }
    for name, panel in panels.items():
        write(output / f"{name}.png", panel.pixels, overwrite=True)
    write(output / "demo.png", sheet(list(panels.values())), overwrite=True)
    text = _page(panels, fit, restored.atoms_per_patch, seconds, sigma, before, after)
    write_atomically(output / "index.html", text.encode())
    print(f"PSNR {before:.2f} dB -> {after:.2f} dB at sigma {sigma:g}; open {output / 'index.html'}")


def _page(
    panels: dict[str, Panel], fit: Fit, nonzeros: float, seconds: float, sigma: float, before: float, after: float
) -> str:
    objective = Series("objective", [one.index for one in fit.history], [one.objective for one in fit.history])
    numbers = [
        ("Noise level sigma", f"{sigma:g}"),
        ("PSNR of the noisy image, dB", f"{before:.2f}"),
        ("PSNR of the denoised image, dB", f"{after:.2f}"),
        ("Atoms per patch", f"{nonzeros:.2f}"),
        ("Seconds, learning included", f"{seconds:.1f}"),
    ]
    values = {
        **{name: embed(panels[name].pixels) for name in ("noisy", "denoised", "clean")},
        "epitome": embed(epitome_picture(fit.epitome), sharp=True),
        "curve": svg_curve([objective], title="Objective after each step", x_label="step", y_label="mean per patch"),
        "numbers": Table("Measured in this run", ("Quantity", "Value"), numbers),
        "phi": fit.epitome.phi,
        "sigma": sigma,
        "before": before,
        "after": after,
    }
    return page("demo.html", values)


def _teller(n_steps: int) -> Callable[[Step], None]:
    """Print a line for each step, where no progress bar can be drawn."""

    def tell_step(step: Step) -> None:
        numbers = step.progress
        _tell(f"step {numbers.index} of {n_steps}: objective {numbers.objective:.6g}, {numbers.seconds:.2f} s")

    return tell_step


def _tell(words: str) -> None:
    print(f"demo: {words}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
