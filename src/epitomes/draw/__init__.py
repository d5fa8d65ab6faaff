"""Pictures for people: epitomes and dictionaries, sheets of panels, line charts and pages. NumPy and Pillow only."""

from epitomes.draw._page import Command, Figure, Section, Table, Text, page
from epitomes.draw._sheet import Panel, sheet
from epitomes.draw.curve import Series, png_curve, svg_curve
from epitomes.draw.epitomes import dictionary_picture, epitome_picture, usage_picture
from epitomes.draw.tones import shown

__all__ = [
    "Command",
    "Figure",
    "Panel",
    "Section",
    "Series",
    "Table",
    "Text",
    "dictionary_picture",
    "epitome_picture",
    "page",
    "png_curve",
    "sheet",
    "shown",
    "svg_curve",
    "usage_picture",
]
