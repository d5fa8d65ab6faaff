"""The numbers that the paper prints: tables 1 and 2, in dB (section 5.4).

Rows are named as in the paper: IE ("improved epitome") are twenty epitomes learned on several scales, E is a single one
of 42 x 42 pixels. Table 2 averages five images of table 1; `docs/slips.md` derives from the cells which.
"""

from __future__ import annotations

from collections.abc import Iterable

PICTURES = ("house", "peppers", "cameraman", "barbara", "lena", "boat")  # in the order of the columns
ROWS = ("IE", "E")
SIGMAS = (10, 15, 20, 25, 50)
LEFT_OUT = "cameraman"  # of table 2
FIVE = tuple(name for name in PICTURES if name != LEFT_OUT)

TABLE_1 = {
    (10, "IE"): (35.98, 34.52, 33.90, 34.41, 35.51, 33.70),
    (10, "E"): (35.86, 34.41, 33.83, 34.01, 35.43, 33.63),
    (15, "IE"): (34.45, 32.50, 31.65, 32.23, 33.74, 31.81),
    (15, "E"): (34.32, 32.36, 31.59, 31.84, 33.66, 31.75),
    (20, "IE"): (33.18, 31.00, 30.19, 30.69, 32.42, 30.45),
    (20, "E"): (33.08, 30.93, 30.11, 30.33, 32.35, 30.37),
    (25, "IE"): (32.02, 29.82, 29.08, 29.49, 31.36, 29.36),
    (25, "E"): (31.96, 29.77, 29.01, 29.14, 31.29, 29.30),
    (50, "IE"): (27.83, 26.06, 25.57, 25.04, 27.90, 26.01),
    (50, "E"): (27.83, 26.07, 25.60, 24.86, 27.82, 26.02),
}

OTHERS = ("ISD", "Jojic", "K-SVD", "BM3D", "LSSC")  # of table 2: labels of `epitomes.baselines`
METHODS = (*ROWS, *OTHERS)
TABLE_2 = {
    10: (34.83, 34.67, 34.71, 28.83, 34.76, 35.24, 35.32),
    15: (32.95, 32.79, 32.84, 28.92, 32.87, 33.43, 33.50),
    20: (31.55, 31.41, 31.36, 28.55, 31.52, 32.15, 32.18),
    25: (30.41, 30.29, 29.99, 28.12, 30.42, 31.15, 31.11),
    50: (26.57, 26.52, 25.91, 25.21, 26.66, 27.69, 27.87),
}
TABLE_2_MEANS = (31.26, 31.14, 30.96, 27.93, 31.25, 31.93, 32.00)  # its last line

SPREAD = 0.05  # mean standard deviation over five noise realisations, as the text says


def table1(row: str, image: str, sigma: float) -> float | None:
    """Return the printed cell, or None if the paper has none."""
    cells = TABLE_1.get((_level(sigma), row))
    return None if cells is None or image not in PICTURES else cells[PICTURES.index(image)]


def table2(method: str, sigma: float) -> float | None:
    """Return the printed mean over five images, or None if the paper has none."""
    cells = TABLE_2.get(_level(sigma))
    return None if cells is None or method not in METHODS else cells[METHODS.index(method)]


def table1_mean(row: str, images: Iterable[str], sigma: float) -> float | None:
    """Return the mean of printed cells of table 1, or None if one is missing or there are none."""
    cells = [table1(row, image, sigma) for image in images]
    known = [cell for cell in cells if cell is not None]
    return sum(known) / len(known) if known and len(known) == len(cells) else None


def _level(sigma: float) -> int:
    """Convert 25.0 to 25; 25.5 is in no table."""
    return int(sigma) if float(sigma).is_integer() else -1
