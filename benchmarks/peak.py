"""The peak memory of one `denoise`, measured in a process of its own: `python -m benchmarks.peak WIDTH THREADS`.

The epitome is learned in a few steps only: each step needs as much memory as any other.
"""

from __future__ import annotations

import dataclasses
import json
import re
import resource
import subprocess
import sys
from pathlib import Path

SIGMA = 25.0
STEPS = 5


def of_denoise(width: int, threads: int) -> dict[str, float]:
    """Megabytes of the process before and after denoising a square picture of that width."""
    command = [sys.executable, "-m", "benchmarks.peak", str(width), str(threads)]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def peak_mb() -> float:
    """The most that this process has held in memory so far.

    Linux hands `ru_maxrss` on from parent to child, so a large parent would be counted; `VmHWM` begins anew.
    """
    status = Path("/proc/self/status")
    if status.exists() and (found := re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="utf-8"))):
        return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)


def main(width: int, threads: int) -> None:
    import numpy as np

    from epitomes.demo import shipped_picture
    from epitomes.restoration import denoise, several

    small = shipped_picture()
    times = -(-width // min(small.shape))
    noisy = np.tile(small, (times, times))[:width, :width].copy()
    noisy += np.float32(SIGMA) * np.random.default_rng(0).standard_normal(noisy.shape, dtype=np.float32)
    recipe = dataclasses.replace(several(noisy, SIGMA), n_steps=STEPS)
    before = peak_mb()
    denoise(noisy, SIGMA, method="paper", recipe=recipe, threads=threads)
    print(json.dumps({"before": before, "after": peak_mb()}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
