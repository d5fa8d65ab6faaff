"""Pictures in files: what is stored comes back as it was stored, or not at all.

A 16-bit picture stays a 16-bit picture; where a decoder would round, reorder or invent values, the file is refused in
words. Sizes are read from the header and refused before anything is allocated. Axes and spacing are understood, and
what else a file says is carried to the next file of its kind. Formats are a table, `registry.FORMATS`.
"""

from epitomes.formats._planes import Plane, count_planes, is_colour, joined, plane_axes, planes
from epitomes.formats.access import is_folder_format, read, require_format, write
from epitomes.formats.errors import MOST_VALUES, ImageFileError, ImageTooLargeError, MissingExtraError
from epitomes.formats.picture import Metadata, Picture, as_picture
from epitomes.formats.png import encode_png
from epitomes.formats.raw import mosaic

__all__ = [
    "MOST_VALUES",
    "ImageFileError",
    "ImageTooLargeError",
    "Metadata",
    "MissingExtraError",
    "Picture",
    "Plane",
    "as_picture",
    "count_planes",
    "encode_png",
    "is_colour",
    "is_folder_format",
    "joined",
    "mosaic",
    "plane_axes",
    "planes",
    "read",
    "require_format",
    "write",
]
