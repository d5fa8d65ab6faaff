"""Volumes and video: groups of similar patches across planes, one plane after another."""

from epitomes.restoration.non_local.volumes.arrangement import ARRANGEMENTS, n_tried, name_of, related, tried_on
from epitomes.restoration.non_local.volumes.method import (
    Whole,
    chosen,
    cosine_dictionary,
    denoise_volume,
    measured,
    named,
    support_of_stages,
)
from epitomes.restoration.non_local.volumes.series import Series, best_times, denoise_series, windows

__all__ = [
    "ARRANGEMENTS",
    "Series",
    "Whole",
    "best_times",
    "chosen",
    "cosine_dictionary",
    "denoise_series",
    "denoise_volume",
    "measured",
    "n_tried",
    "name_of",
    "named",
    "related",
    "support_of_stages",
    "tried_on",
    "windows",
]
