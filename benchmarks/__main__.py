"""Command line of the benchmarks: `python -m benchmarks NAME [options]`; `list` shows the names.

NumPy and the peers read their thread limits when they are imported. Therefore this file parses the options first, sets
the limits, and then imports the benchmark.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from pathlib import Path

from benchmarks.options import Options

RACES = {
    "race-pursuit": "benchmarks.races.pursuit",
    "race-masked": "benchmarks.races.masked",
    "race-lasso": "benchmarks.races.lasso",
    "race-correlate": "benchmarks.races.correlate",
    "race-threads": "benchmarks.races.threads",
    "race-learn": "benchmarks.races.learn",
    "race-denoise": "benchmarks.races.denoise",
    "race-ksvd": "benchmarks.races.ksvd",
    "race-dictionary": "benchmarks.races.dictionary",
}
TABLES = {  # long: not part of `all`
    "table1": "benchmarks.tables.table1",
    "table2": "benchmarks.tables.table2",
    "table-best": "benchmarks.tables.best",
    "table-drawn": "benchmarks.tables.drawn",
    "wrong-sigma": "benchmarks.tables.wrong_sigma",
    "ablation": "benchmarks.tables.ablation",
    "scale": "benchmarks.scale",
    "scale-volume": "benchmarks.scale_volume",
    "scale-store": "benchmarks.scale_store",
    "scale-learn": "benchmarks.scale_learn",
    "real-noise": "benchmarks.real_noise.photos",
    "race-bm3d": "benchmarks.races.bm3d",
    "race-volume": "benchmarks.races.volume",
    "race-video": "benchmarks.races.video",
    "race-series": "benchmarks.races.series",
    "made-noise": "benchmarks.real_noise.made",
    "raw-noise": "benchmarks.real_noise.raw",
    "star-field": "benchmarks.real_noise.stars",
    "fit-gate": "benchmarks.fit_gate",
    "inpainting": "benchmarks.inpainting",
    "planted": "benchmarks.planted",
    "missing-frames": "benchmarks.missing_frames",
}
# statements of the paper and of the documentation; not part of `all` either
CLAIMS = {
    "claims": "benchmarks.claims",
    "audit": "benchmarks.audit",
    "audit-models": "benchmarks.audit_models",
    "noise": "benchmarks.noise",
    "noise-blind": "benchmarks.noise_blind",
    "noise-poisson": "benchmarks.noise_poisson",
    "zero-knobs": "benchmarks.zero_knobs",
    "predicted-time": "benchmarks.predicted_time",
}
TOOLS = {
    "make-epitomes": "benchmarks.make_epitomes",
    "make-regressions": "benchmarks.make_regressions",
    "fit-presets": "benchmarks.fit_presets",
    "inpainting-pictures": "benchmarks.inpainting_pictures",
    "noise-pictures": "benchmarks.noise_pictures",
}
BLAS_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def parser() -> argparse.ArgumentParser:
    """Define the options."""
    names = ["all", "list", *RACES, *TABLES, *CLAIMS, *TOOLS]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure speed and quality, and compare with other libraries."
    )
    parser.add_argument("name", metavar="NAME", choices=names, help=", ".join(names))
    parser.add_argument(
        "--images", type=Path, metavar="DIR", help="folder of PNG images [default: images of scikit-image]"
    )
    parser.add_argument("--quick", action="store_true", help="fewer and smaller images, fewer rounds")
    parser.add_argument(
        "--threads", type=positive, default=1, metavar="N", help="number of threads of every method [default: 1]"
    )
    parser.add_argument(
        "--seeds",
        type=positive,
        default=1,
        metavar="K",
        help="number of noise realisations, with seeds 0 to K-1 [default: 1]",
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the rows to this file, one JSON object per line"
    )
    parser.add_argument("--output", type=Path, metavar="PATH", help="output file or folder of `claims` and of tools")
    parser.add_argument(
        "--held-out",
        type=Path,
        metavar="DIR",
        help="folder of natural images: table-best and wrong-sigma measure every 20th, ablation learns from the others",
    )
    parser.add_argument(
        "--presets",
        type=words,
        default=("balanced", "best"),
        metavar="A,B",
        help="presets that table-best and inpainting measure",
    )
    parser.add_argument(
        "--curve",
        type=Path,
        metavar="FILE",
        help="PNG file to draw: PSNR over time (race-denoise), or time and memory over size (scale)",
    )
    parser.add_argument(
        "--peers",
        choices=("none", "fast", "all"),
        default="all",
        help="peers of real-noise and made-noise; fast ones are told the true noise level only [default: all]",
    )
    parser.add_argument(
        "--cases",
        type=words,
        default=(),
        metavar="A,B",
        help="cases of real-noise, made-noise, volumes, clips, and methods of table2, that begin so [default: all]",
    )
    return parser


def words(text: str) -> tuple[str, ...]:
    """Split a list at its commas."""
    return tuple(text.split(","))


def positive(text: str) -> int:
    """Convert to a number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def main() -> int:
    """Run a benchmark and return the exit code."""
    asked = parser().parse_args()
    if asked.name == "list":
        print("\n".join([*RACES, *TABLES, *CLAIMS, *TOOLS]))
        return 0
    for variable in BLAS_LIMITS:
        os.environ[variable] = str(asked.threads)
    options = Options(
        images=asked.images,
        quick=asked.quick,
        threads=asked.threads,
        seeds=asked.seeds,
        output=asked.output,
        held_out=asked.held_out,
        presets=asked.presets,
        curve=asked.curve,
        peers=asked.peers,
        cases=asked.cases,
    )
    if asked.name in TOOLS:
        importlib.import_module(TOOLS[asked.name]).run(options)
        return 0
    return race(list(RACES) if asked.name == "all" else [asked.name], options, asked.json)


def race(names: list[str], options: Options, file: Path | None) -> int:
    """Run benchmarks one after the other. Each row is printed and written as soon as it is measured."""
    from benchmarks.record import Record, environment

    record = Record(file)
    record.add(environment(options))
    for name in names:
        began = time.perf_counter()
        for row in importlib.import_module({**RACES, **TABLES, **CLAIMS}[name]).run(options):
            record.add(row)
        print(f"# {name}: {time.perf_counter() - began:.1f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
