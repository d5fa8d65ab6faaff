"""`epitomes doctor`: what is installed, what this machine can do, and whether it does it right."""

from __future__ import annotations

import platform
import time
from typing import Any

from epitomes.cli.common import Json, Result, answer, examples
from epitomes.cli.errors import INTERNAL, CommandError

EXAMPLES = examples("doctor", "doctor --json")

EXTRAS = {  # extra -> the package that it brings, and what for
    "fits": ("astropy", "FITS pictures"),
    "nifti": ("nibabel", "NIfTI volumes"),
    "dicom": ("pydicom", "DICOM images"),
    "raw": ("rawpy", "camera RAW"),
    "video": ("av", "video"),
    "zarr": ("zarr", "OME-Zarr"),
    "sklearn": ("scikit-learn", "epitomes.estimators"),
    "plot": ("matplotlib", "epitomes.plot"),
}
NEEDED = (
    "numpy",
    "scipy",
    "lazy-loader",
    "jinja2",
    "safetensors",
    "pillow",
    "tifffile",
    "imagecodecs",
    "typer",
    "rich",
)


def doctor(json: Json = False) -> None:
    """Look at the installation, and test it.

    Says versions, instruction set, threads and optional packages, and compares the kernels with their specification.
    """
    from epitomes import blocks, kernels
    from epitomes.cli.selftest import checks

    began = time.perf_counter()
    tested = dict(checks())
    facts: dict[str, Any] = {
        "version": _version("epitomes"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "instruction_set": kernels.isa,
        "instruction_sets": list(kernels.isas),
        "threads": blocks.n_threads(),
        "needed": {name: _version(name) for name in NEEDED},
        "extras": {extra: _version(package) for extra, (package, _) in EXTRAS.items()},
        "self_test": tested,
        "seconds": time.perf_counter() - began,
    }
    answer(Result("\n".join(_words(facts)), facts), json)
    if wrong := [name for name, right in tested.items() if not right]:
        raise CommandError(
            INTERNAL,
            f"the kernels for {kernels.isa} disagree with the reference: {', '.join(wrong)}\n"
            "do not use their results: EPITOMES_ISA=baseline may help, EPITOMES_KERNELS=reference is slow and right",
        )


def _version(package: str) -> str | None:
    """Of an installed package; it is not imported, which could take seconds."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _words(facts: dict[str, Any]) -> list[str]:
    lines = [
        f"epitomes {facts['version']}, Python {facts['python']}, {facts['platform']}",
        f"kernels for {facts['instruction_set']} (this machine: {', '.join(facts['instruction_sets'])}), "
        f"{facts['threads']} threads",
        "needed: " + ", ".join(f"{name} {version or 'MISSING'}" for name, version in facts["needed"].items()),
        "extras:",
    ]
    for extra, (package, what) in EXTRAS.items():
        found = facts["extras"][extra]
        state = f"{package} {found}" if found else f'missing: pip install "epitomes[{extra}]"'
        lines.append(f"  {extra:8} {what:20} {state}")
    wrong = [name for name, right in facts["self_test"].items() if not right]
    verdict = f"WRONG: {', '.join(wrong)}" if wrong else "all as they should be"
    lines.append(f"self-test, {facts['seconds']:.1f} s: {', '.join(facts['self_test'])}: {verdict}")
    return lines
