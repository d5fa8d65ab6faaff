"""Read and write image files without changing what they store.

A 16-bit image stays a 16-bit image. A file is refused if decoding it would round, reorder or invent values. Its size is
read from the header and checked before anything is allocated. Axes and spacing are understood; other metadata is passed
on to the next file of the same family. The formats are a table, `registry.FORMATS`.
"""

import lazy_loader as _lazy

# Lazily, because arrays are denoised without any of the packages that read files.
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
