"""Volumes and video: groups of similar patches across planes, one plane after another."""

from epitomes.restoration.non_local.volumes.arrangement import ARRANGEMENTS, related
from epitomes.restoration.non_local.volumes.method import cosines, denoise_volume

__all__ = ["ARRANGEMENTS", "cosines", "denoise_volume", "related"]
