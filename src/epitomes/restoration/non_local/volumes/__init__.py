"""Volumes and video: groups of similar patches across planes, one plane after another."""

from epitomes.restoration.non_local.volumes.arrangement import ARRANGEMENTS, n_tried, related, tried_on
from epitomes.restoration.non_local.volumes.method import chosen, cosine_dictionary, denoise_volume
from epitomes.restoration.non_local.volumes.series import Series, best_times, denoise_series, windows

__all__ = [
    "ARRANGEMENTS",
    "Series",
    "best_times",
    "chosen",
    "cosine_dictionary",
    "denoise_series",
    "denoise_volume",
    "n_tried",
    "related",
    "tried_on",
    "windows",
]
