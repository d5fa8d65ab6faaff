"""Missing frames: every third frame of clips is taken out and interpolated, against the mean of its neighbours.

Clips are those of `race-video`, without noise. PSNR counts missing frames alone, after rounding to 8 bits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import Options
from benchmarks.sequences import clips
from epitomes import inpaint
from epitomes.validation import psnr

EVERY, FIRST = 3, 2  # frames 2, 5, 8, ... are missing
QUICK_FRAMES, QUICK_WIDTH = 6, 48

Frames = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class MissingFrames:
    """One clip by one preset."""

    missing_frames: str  # the preset
    peer: str
    clip: str
    psnr: float
    peer_psnr: float
    gain: float  # in dB
    seconds: float  # processor time
    clips: str


def run(options: Options) -> Iterator[MissingFrames]:
    """Yield a row for every clip and preset."""
    presets = ("fast",) if options.quick else options.presets
    for clip in clips(options.images):
        if not options.wants(clip.name):
            continue
        clean = clip.pixels[:QUICK_FRAMES, :QUICK_WIDTH, :QUICK_WIDTH] if options.quick else clip.pixels
        missing = every_third(len(clean))
        given = np.where(missing[:, None, None], np.float32(np.nan), clean)
        mean = neighbours_mean(clean, missing)
        for preset in presets:
            began = time.process_time()
            found = inpaint(given, preset=preset, threads=options.threads)
            seconds = time.process_time() - began
            mine, other = (psnr(clean[missing], np.clip(np.rint(each[missing]), 0, 255)) for each in (found, mean))
            yield MissingFrames(
                missing_frames=preset,
                peer="mean of the neighbours",
                clip=clip.name,
                psnr=mine,
                peer_psnr=other,
                gain=mine - other,
                seconds=seconds,
                clips=clip.source,
            )


def every_third(n: int) -> NDArray[np.bool_]:
    """Frames that are missing; the last one of a clip never is."""
    missing = np.zeros(n, np.bool_)
    missing[FIRST : n - 1 : EVERY] = True
    return missing


def neighbours_mean(clean: Frames, missing: NDArray[np.bool_]) -> Frames:
    """The clip with the mean of the frames before and after in place of each missing one."""
    filled = clean.copy()
    for k in np.flatnonzero(missing):
        filled[k] = (clean[k - 1] + clean[k + 1]) / 2
    return filled
