"""Inpainting: missing pixels, alone or with noise."""

from epitomes.restoration.inpainting._inpaint import inpaint

__all__ = ["inpaint"]
