"""Time and peak memory of one run, measured in a process of its own: `python -m benchmarks.peak JSON`."""

from __future__ import annotations

import dataclasses
import json
import re
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIGMA = 25.0
STEPS = 5  # of learning, by the paper's method: each needs as much memory as any other
BAND = 256  # rows of the noisy image that are made at once


@dataclass(frozen=True, kw_only=True)
class Task:
    """What to denoise, and how."""

    method: str  # a preset of the non-local method, or "paper"
    height: int
    width: int
    threads: int
    source: str | None = None  # .npy file of a clean image, grey or with channels last; None: the shipped one
    planes: int | None = None  # of a volume, made by moving the image; None: an image
    dtype: str = "float32"


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What it took."""

    seconds: float
    before_mb: float  # of the process: interpreter, libraries, noisy image
    peak_mb: float  # of the process, at most
    predicted_mb: float  # by the plan: peak - before

    @property
    def used_mb(self) -> float:
        """Memory of the run itself."""
        return self.peak_mb - self.before_mb


def measure(task: Task, timeout: float | None = None) -> Usage:
    """Run a task in a new process; a process that fails or takes too long raises `subprocess.SubprocessError`."""
    command = [sys.executable, "-m", "benchmarks.peak", json.dumps(dataclasses.asdict(task))]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True, timeout=timeout)
    return Usage(**json.loads(done.stdout))


def run(task: Task) -> Usage:
    """Run a task in this process."""
    import numpy as np

    from epitomes import plan
    from epitomes.demo import shipped_picture
    from epitomes.restoration import NonLocal, Patchwise, Recipe

    clean = shipped_picture() if task.source is None else np.load(task.source)
    noisy = noisy_image(clean, task.height, task.width) if task.planes is None else noisy_volume(clean, task)
    by_paper = task.method == "paper"
    method = Patchwise(recipe=Recipe(n_steps=STEPS)) if by_paper else NonLocal(preset=task.method)
    channel_axis = -1 if noisy.ndim == 3 and task.planes is None else None
    sigma = SIGMA if task.dtype == "float32" else SIGMA * float(np.iinfo(task.dtype).max) / 255
    planned = plan(noisy, sigma, channel_axis=channel_axis, method=method, threads=task.threads)
    before, began = peak_mb(), time.perf_counter()
    planned.run(noisy, threads=task.threads)
    seconds = time.perf_counter() - began
    return Usage(seconds=seconds, before_mb=before, peak_mb=peak_mb(), predicted_mb=planned.memory / 2**20)


def noisy_image(clean: NDArray[np.generic], height: int, width: int) -> NDArray[np.float32]:
    """Enlarge an image by mirroring and add noise; in bands, so that memory never holds much more than the result."""
    import numpy as np

    rng = np.random.default_rng(0)
    rows, columns = (mirrored(length, side) for length, side in zip((height, width), clean.shape[:2], strict=True))
    noisy = np.empty((height, width, *clean.shape[2:]), np.float32)
    for top in range(0, height, BAND):
        band = noisy[top : top + BAND]
        band[...] = clean[np.ix_(rows[top : top + BAND], columns)]
        band += np.float32(SIGMA) * rng.standard_normal(band.shape, dtype=np.float32)
    return noisy


def noisy_volume(clean: NDArray[np.generic], task: Task) -> NDArray[np.generic]:
    """A grey image that moves by a pixel from plane to plane, with noise; whole numbers fill half of their range."""
    import numpy as np

    assert task.planes is not None
    rng, limit = np.random.default_rng(0), float(np.iinfo(task.dtype).max) if task.dtype != "float32" else 255.0
    volume = np.empty((task.planes, task.height, task.width), task.dtype)
    rows, columns = (mirrored(n, side) for n, side in zip((task.height, task.width), clean.shape, strict=True))
    scale = limit / 255
    for k in range(task.planes):
        plane = clean[np.ix_(rows, np.roll(columns, k))].astype(np.float32)
        plane += np.float32(SIGMA) * rng.standard_normal(plane.shape, dtype=np.float32)
        volume[k] = np.clip(plane * np.float32(scale), 0, limit)
    return volume


def mirrored(length: int, side: int) -> NDArray[np.intp]:
    """Indices 0, 1, ..., side - 1, side - 1, ..., 1, 0, 0, 1, ..., so many."""
    import numpy as np

    at = np.arange(length) % (2 * side)
    return np.where(at < side, at, 2 * side - 1 - at)


def peak_mb() -> float:
    """Return the most memory that this process has held so far.

    Linux passes `ru_maxrss` on from parent to child, so that a large parent would be counted. `VmHWM` starts anew.
    """
    status = Path("/proc/self/status")
    if status.exists() and (found := re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="utf-8"))):
        return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    print(json.dumps(dataclasses.asdict(run(Task(**json.loads(sys.argv[1]))))))
