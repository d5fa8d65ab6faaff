"""Drawing: epitomes and dictionaries as images, sheets of panels, line charts, and HTML pages from templates."""

from epitomes.draw._sheet import Panel, sheet
from epitomes.draw.curve import Series, png_curve, svg_curve
from epitomes.draw.epitomes import dictionary_picture, epitome_picture, usage_picture
from epitomes.draw.html import EmbeddedImage, Table, embed, embed_photo, page, render
from epitomes.draw.tones import shown

__all__ = [
    "EmbeddedImage",
    "Panel",
    "Series",
    "Table",
    "dictionary_picture",
    "embed",
    "embed_photo",
    "epitome_picture",
    "page",
    "png_curve",
    "render",
    "sheet",
    "shown",
    "svg_curve",
    "usage_picture",
]
