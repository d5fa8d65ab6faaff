"""Tasks that processes of a pool or of a cluster can import."""

from __future__ import annotations

import os
import signal
import sys
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from epitomes.restoration import Estimate, NonLocal
from epitomes.restoration.whole_image import Support, WholeImage


def slow_square(number: int) -> int:
    """Tasks that begin later end sooner."""
    time.sleep(0.02 * (3 - number % 4))
    return number * number


def raises_on_three(number: int) -> int:
    if number == 3:
        raise ValueError("three is\n too much")
    return number


def kills_on_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def kills_once(job: tuple[str, int]) -> int:
    """Kill the worker the first time that any item is seen; the folder remembers."""
    folder, number = job
    mark = Path(folder) / f"{number}"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@dataclass(frozen=True, eq=False)
class Deadly:
    """The fast method, which kills its worker on a picture with a pixel of 60 000, or on new pictures."""

    inner: NonLocal = field(default_factory=lambda: NonLocal(preset="fast"))
    whole: WholeImage | None = None
    seen: str | None = None  # directory with a file for each picture that killed its worker once
    most: int = 0  # of them

    label = "deadly"

    def prepare(self, shape: tuple[int, ...], channels: bool) -> int:
        return self.inner.prepare(shape, channels)

    def for_parts(self, sample: Any, sigma: float, *, channels: bool) -> Deadly:
        inner = self.inner.for_parts(sample, sigma, channels=channels)
        return replace(self, inner=inner, whole=inner.whole)

    def support(self) -> Support:
        return replace(self.inner, whole=self.whole).support()

    def run(self, image: Any, sigma: float, **more: Any) -> Estimate:
        if self.seen is None:
            if image.max() == 60_000:
                os.kill(os.getpid(), signal.SIGKILL)
        elif len(list(Path(self.seen).iterdir())) < self.most:
            with suppress(FileExistsError):
                Path(self.seen, f"{zlib.crc32(image.tobytes())}").touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)
        return replace(self.inner, whole=self.whole).run(image, sigma, **more)


def die(_: object = None) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave(code: int) -> None:
    sys.exit(code)


def threads_and_parent() -> tuple[str, int]:
    return os.environ["EPITOMES_NUM_THREADS"], os.getppid()


def unpicklable(_: object = None) -> object:
    return lambda: None


def nap(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()
