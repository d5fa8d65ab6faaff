"""Long clips of `epitomes denoise`: from file to file, with a few frames in memory."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from epitomes.cli.common import Result
from epitomes.cli.errors import tell
from epitomes.cli.progress import progress

if TYPE_CHECKING:
    from epitomes.cli.denoise_file import Job

LONG = 2**25  # values: shorter clips are read as a whole, which decodes them once
SUFFIXES = (".mkv", ".mp4", ".m4v")  # of clips that can be written


def denoise_clip(job: Job, file: Path, goal: Path) -> Result | None:
    """Denoise a long clip frame by frame; None if it is short, no clip, or needs to be taken as a whole.

    The frames that are written have the bits that they would have if the clip were read as a whole.
    """
    from epitomes.formats.registry import suffix_of
    from epitomes.restoration.streaming import restore_frames

    if not _is_plain(job) or suffix_of(goal) not in SUFFIXES or not _is_long(file, job.series):
        return None
    from epitomes.files import written_atomically
    from epitomes.formats.video_frames import VideoFrames
    from epitomes.formats.video_write import encode_frames
    from epitomes.formats.writing import losses_of

    began = time.perf_counter()
    frames = VideoFrames(file, job.series)
    with progress(file.name) as callback:
        found = restore_frames(
            frames,
            job.noise.level,
            method=job.method,
            preset=job.preset,
            rng=job.seed,
            threads=job.threads,
            callback=callback,
        )
        if found is None:
            return None
        for note in frames.head.notes:
            tell(f"note: {file}: {note}")
        with written_atomically(goal, overwrite=job.overwrite) as content:
            encode_frames(content, frames.head, found.frames, len(frames), suffix_of(goal))
    for loss in losses_of(frames.head, goal):
        tell(f"note: {goal}: {loss}")
    plan = found.plan
    if plan.reasons:
        tell(f"{file}: {plan.method.label} was chosen: {'; '.join(plan.reasons)}")
    job.tell_doubts(plan.noise, file, goal)
    seconds = time.perf_counter() - began
    facts = {
        "input": str(file),
        "output": str(goal),
        "axes": frames.head.axes,
        "shape": list(frames.shape),
        "dtype": str(frames.dtype),
        "plan": replace(plan, spent=0.0).as_dict(),
        "seconds": seconds,
        "notes": [],
        "how": found.how,
        "streamed": True,
    }
    words = [plan.noise.describe(), plan.method.label, found.how, f"{len(frames)} frames one after another"]
    return Result(f"{file} -> {goal}: {', '.join(words)}, {seconds:.1f} s", facts)


def _is_plain(job: Job) -> bool:
    """Whether nothing but the noise level and the method was asked for."""
    extras = (job.mask_file, job.epitome, job.seconds, job.report, job.save_model, job.axes)
    return not job.fill and not job.keep and all(extra is None for extra in extras) and job.noise.is_plain


def _is_long(file: Path, series: str | None) -> bool:
    """Whether a file is a clip of many values, by its header."""
    from epitomes.formats import ImageFileError, suffix_of_file
    from epitomes.formats.registry import BY_SUFFIX
    from epitomes.formats.video import VideoSource

    kind = BY_SUFFIX.get(suffix_of_file(file))
    if kind is None or kind.name != "video":
        return False
    try:
        with file.open("rb") as content, VideoSource.opened(content, series) as source:
            n_values = source.n_values
    except ImageFileError:
        return False  # reading it as a whole tells why
    return n_values is None or n_values > LONG
