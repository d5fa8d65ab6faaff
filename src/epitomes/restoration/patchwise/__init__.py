"""The paper's method: every patch is coded by itself over an epitome, and overlapping estimates are averaged."""

from epitomes.restoration.patchwise.method import Patchwise
from epitomes.restoration.patchwise.recipe import Recipe

__all__ = ["Patchwise", "Recipe"]
