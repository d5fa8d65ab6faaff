"""Restoration: image in, image out (paper, section 5.4)."""

from epitomes.restore.denoise import denoise
from epitomes.restore.recipe import Recipe, several, single
from epitomes.restore.result import Restored

__all__ = ["Recipe", "Restored", "denoise", "several", "single"]
