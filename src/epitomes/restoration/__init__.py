"""Restoration: image in, image out (paper, section 5.4)."""

from epitomes.restoration._choose import Choice, choose
from epitomes.restoration._denoise import denoise
from epitomes.restoration.recipe import Recipe, several, single
from epitomes.restoration.result import Restored

__all__ = ["Choice", "Recipe", "Restored", "choose", "denoise", "several", "single"]
