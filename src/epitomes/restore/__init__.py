"""Restoration: image in, image out (paper, section 5.4)."""

from epitomes.restore.choose import Choice, choose
from epitomes.restore.denoise import denoise
from epitomes.restore.recipe import Recipe, several, single
from epitomes.restore.result import Restored

__all__ = ["Choice", "Recipe", "Restored", "choose", "denoise", "several", "single"]
