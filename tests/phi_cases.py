"""Every kind of phi, once: the laws run over this list."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epitomes.phi import MatrixPhi, Phi, flat, rotated, scaled, shift_invariant, subpixel, turned, union, windows


def disc(width: int) -> NDArray[np.bool_]:
    """A round patch in a square of `width` pixels: it lacks the corners."""
    y, x = np.indices((width, width)) - (width - 1) / 2
    return np.asarray(y**2 + x**2 <= (width / 2) ** 2)


def general_matrix() -> MatrixPhi:
    """A phi that is no window of anything: a dense random R."""
    R = np.random.default_rng(5).standard_normal((7 * 6, 10))
    return MatrixPhi(R, (2, 5), (2, 3))


NAMED: dict[str, Phi] = {
    "single": windows((20, 20), (8, 8)),
    "several": windows((5, 12, 12), (8, 8)),
    "flat": flat(30, (8, 8)),
    "shift-invariant": shift_invariant(6, (5, 5), 2),
    "colour": windows((16, 16, 3), (6, 6, 3)),
    "several in colour": windows((3, 9, 9, 3), (6, 6, 3)),
    "shift-invariant in colour": shift_invariant(4, (5, 5, 3), (2, 1, 0)),
    "video": windows((10, 12, 12), (4, 6, 6)),
    "several videos": windows((2, 9, 14, 14), (3, 5, 5)),
    "oblong": windows((9, 15), (4, 7)),
    "signal": windows(50, 8),
    "several signals": windows((3, 30), (8,)),
    "one pixel": windows((4, 5), (1, 1)),
    "periodic": windows((12, 12), (8, 8), border="periodic"),
    "several periodic": windows((3, 9, 10), (4, 5), border="periodic"),
    "periodic colour": windows((9, 9, 3), (4, 4, 3), border="periodic"),
    "periodic rows": windows((9, 10), (4, 5), border=("periodic", "valid")),
    "periodic signal": windows((20,), (6,), border="periodic"),
    "disc": windows((14, 14), (7, 7), border="periodic", support=disc(7)),
    "ring with corners": windows((14, 14), (5, 5), support=~np.pad(np.ones((3, 3), bool), 1)),
    "turned": turned(windows((14, 14), (6, 6))),
    "turned several": turned(windows((3, 9, 10), (6, 6))),
    "turned colour": turned(windows((10, 10, 3), (5, 5, 3))),
    "turned disc": turned(windows((11, 11), (7, 7), border="periodic", support=disc(7))),
    "flipped": turned(windows((10, 12), (4, 6)), quarter_turns=False),
    "quarter turns": turned(windows((10, 12), (4, 6)), flips=False),
    "union of shapes": union(windows((20, 9), (6, 6)), windows((2, 8, 8), (6, 6)), flat(5, (6, 6))),
    "union with turned": union(turned(windows((9, 9), (6, 6))), windows((7, 7), (6, 6), border="periodic")),
    "union of union": union(union(windows((9, 9), (4, 4)), flat(3, (4, 4))), windows((6, 11), (4, 4))),
    "sub-pixel": subpixel(windows((12, 12), (5, 5)), [(0.5, 0), (0, 0.5), (0.5, 0.5)]),
    "sub-pixel signal": subpixel(windows(30, 8), [(0.25,), (0.5,), (0.75,)]),
    "sub-pixel video": subpixel(windows((5, 7, 7), (3, 4, 4)), [(0.5, 0.25, 0)]),
    "sub-pixel disc": subpixel(windows((10, 10), (5, 5), border="periodic", support=disc(5)), [(0.5, 0.5)]),
    "rotated": rotated(windows((16, 16), (6, 6)), [15, 30, 45, 60, 75]),
    "rotated several colour": rotated(windows((2, 12, 12, 3), (5, 5, 3)), [30, -30]),
    "scaled": scaled(windows((16, 16), (6, 6)), [0.5, 0.8, 1.25, 2]),
    "scaled periodic": scaled(windows((9, 9), (6, 6), border="periodic"), [0.5, 1.2]),
    "scaled colour": scaled(windows((10, 10, 3), (4, 4, 3)), [1.5]),
    "matrix": general_matrix(),
    "union of gather and matrix": union(windows((9, 9), (5, 5)), subpixel(windows((8, 10), (5, 5)), [(0.5, 0.5)])),
    "union of matrix union": union(
        union(rotated(windows((11, 11), (4, 4)), [45]), flat(2, (4, 4))), scaled(windows((9, 9), (4, 4)), [1.5])
    ),
}
PHIS: list[Phi] = list(NAMED.values())
