"""Sparse image representation with epitomes: denoise images, learn epitomes, code patches.

An epitome is a small image whose overlapping patches are all the atoms of a dictionary. Four nouns (patches X, epitome
E, dictionary D, codes A) and three arrows (phi: E -> D, coding: (X, D) -> A, learning: X -> E).

The names below are what most users need; the others live in their rooms, such as `epitomes.phi`, `epitomes.coders` and
`epitomes.learn`. Names and rooms are imported when they are first used (SPEC 1).
"""

import lazy_loader as _lazy

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
