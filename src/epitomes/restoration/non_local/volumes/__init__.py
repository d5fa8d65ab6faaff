"""Volumes and video: groups of similar patches across planes, one plane after another."""

from epitomes.restoration.non_local.volumes.arrangement import ARRANGEMENTS, related, tried_on
from epitomes.restoration.non_local.volumes.method import chosen, cosine_dictionary, denoise_volume

__all__ = ["ARRANGEMENTS", "chosen", "cosine_dictionary", "denoise_volume", "related", "tried_on"]
