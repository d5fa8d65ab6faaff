"""Volumes and video: groups of similar patches across planes, one plane after another."""

from epitomes.restoration.non_local.volumes.arrangement import ARRANGEMENTS, SHARED, n_tried, name_of, related, tried_on
from epitomes.restoration.non_local.volumes.frames import arranged, denoise_frames, may_share, memory_of_frames
from epitomes.restoration.non_local.volumes.method import (
    Whole,
    chosen,
    cosine_dictionary,
    denoise_volume,
    measured,
    named,
    shape_of,
    support_of_stages,
    trial_share,
)
from epitomes.restoration.non_local.volumes.series import Series, best_times, denoise_series, windows

__all__ = [
    "ARRANGEMENTS",
    "SHARED",
    "Series",
    "Whole",
    "arranged",
    "best_times",
    "chosen",
    "cosine_dictionary",
    "denoise_frames",
    "denoise_series",
    "denoise_volume",
    "may_share",
    "measured",
    "memory_of_frames",
    "n_tried",
    "name_of",
    "named",
    "related",
    "shape_of",
    "support_of_stages",
    "trial_share",
    "tried_on",
    "windows",
]
