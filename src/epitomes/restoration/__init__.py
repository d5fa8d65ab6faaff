"""Restoration: one road from a picture to a picture (paper, section 5.4, and beyond).

`denoise` returns an image, `restore` the image with noise, plan and diagnostics, `plan` what would be done. `inpaint`
completes missing pixels.
"""

from epitomes.restoration._arguments import as_method
from epitomes.restoration._plan import Plan
from epitomes.restoration._restore import denoise, plan, restore
from epitomes.restoration.inpainting import inpaint
from epitomes.restoration.method import Estimate, Method
from epitomes.restoration.non_local import NonLocal
from epitomes.restoration.patchwise import Patchwise, Recipe
from epitomes.restoration.planning import TimeLimitError, Trial
from epitomes.restoration.restored import Restored

__all__ = [
    "Estimate",
    "Method",
    "NonLocal",
    "Patchwise",
    "Plan",
    "Recipe",
    "Restored",
    "TimeLimitError",
    "Trial",
    "as_method",
    "denoise",
    "inpaint",
    "plan",
    "restore",
]
