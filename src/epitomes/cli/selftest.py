"""A second's proof that the kernels of this machine do what their specification in NumPy says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from epitomes.kernels import Engine

Check = tuple[str, bool]  # what was compared, and whether it agrees

CLOSE = 2e-4  # of the largest value: sums in float32, in two orders
ROWS, SIDE, WIDTH = 60, 8, 14  # patches, their side, and the side of the epitome


def checks() -> Iterator[Check]:
    """Compare the chosen kernels with the reference on small problems, the same on every machine."""
    yield from _coders()
    yield "block matching", _matching()
    yield "a picture denoised", _picture()


def _coders() -> Iterator[Check]:
    import numpy as np

    from epitomes import kernels

    random = np.random.default_rng(0)
    atoms = random.standard_normal((49, SIDE * SIDE)).astype(np.float32)
    norms = np.linalg.norm(atoms, axis=1).astype(np.float32)
    unit = np.ascontiguousarray(atoms / norms[:, None])
    rows = kernels.Rows(random.standard_normal((ROWS, SIDE * SIDE)).astype(np.float32), None)
    stop = np.zeros(1, np.uint8)
    ours, theirs = (kernels.make_engine(unit, norms, isa=isa) for isa in (kernels.isa, "reference"))
    kinds: dict[str, Callable[[Engine], Any]] = {
        "orthogonal matching pursuit": lambda engine: engine.pursue(rows, 0.0, 5, False, stop),
        "orthogonal least squares": lambda engine: engine.pursue(rows, 0.0, 5, True, stop),
        "lasso": lambda engine: engine.lasso(rows, 0.8, 1e-6, False, None, stop),
    }
    for name, code in kinds.items():
        first, second = (_dense(code(engine), len(unit)) for engine in (ours, theirs))
        yield name, bool(np.abs(first - second).max() <= CLOSE * np.abs(second).max())


def _dense(packed: Any, n_atoms: int) -> Any:
    import numpy as np

    counts, atoms, values = packed
    codes = np.zeros((len(counts), n_atoms))
    codes[np.repeat(np.arange(len(counts)), counts), atoms] = values
    return codes


def _matching() -> bool:
    import numpy as np

    from epitomes import kernels
    from epitomes.kernels import reference_groups

    image = np.random.default_rng(1).standard_normal((1, 1, 24, 26)).astype(np.float32)
    tops, lefts, patch, reach = np.arange(0, 16, 5), np.arange(0, 18, 5), (1, SIDE, SIDE), (0, 6, 6)
    places, distances = kernels.match(image, patch, reach, 0, tops, lefts, 8, np.zeros(1, np.uint8))
    exact_places, exact = np.empty_like(places), np.empty_like(distances)
    reference_groups.match(image, patch, reach, 0, tops, lefts, exact_places, exact)
    return bool((places == exact_places).mean() > 0.95 and np.abs(distances - exact).max() <= CLOSE * exact.max())


def _picture() -> bool:
    """Denoising takes most of the noise off a smooth picture."""
    import numpy as np

    from epitomes import restoration

    y, x = np.mgrid[:48, :48] / 8
    clean = (100 + 50 * np.sin(x) * np.cos(y)).astype(np.float32)
    noisy = clean + 10 * np.random.default_rng(2).standard_normal(clean.shape).astype(np.float32)
    left = restoration.denoise(noisy, 10.0, preset="fast").image - clean
    return bool(np.sqrt(np.mean(left**2)) < 5)
