"""Greedy coders: add one atom after another until the residual is small (paper, section 5.4).

Both fit all chosen atoms again after each choice. `OMP` takes the atom that correlates best with the residual; `OLS`
the one after which the residual is smallest, which needs fewer atoms for the same error. SPAMS's `omp` is an OLS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from epitomes.blocks import Stop
from epitomes.checks import positive, whole
from epitomes.coders._encode import Work, encode, require_dictionary
from epitomes.coders.protocol import Codes
from epitomes.dictionary import Dictionary
from epitomes.kernels import Engine, Packed, Source, Start
from epitomes.patches import Patches


@dataclass(frozen=True, kw_only=True)
class OMP:
    """Orthogonal matching pursuit: the next atom maximises `|<r, d_j>| / |d_j|`, for the residual `r = x - a D`.

    With a mask the error counts known pixels only and the bound shrinks to their share, `residual * known / m`; atoms
    are compared by what the mask leaves of them. Ties go to the first atom (for windows of pictures: the first column).
    """

    residual: float = 0.0  # stop once |x - a D|^2 <= residual
    n_nonzero: int | None = None  # None: as many as the patch has pixels
    lam: ClassVar[float] = 0.0  # a greedy code pays nothing per coefficient

    def __post_init__(self) -> None:
        _check(self.residual, self.n_nonzero)

    def encode(
        self,
        patches: ArrayLike | Patches,
        dictionary: Dictionary,
        start: Codes | None = None,
        *,
        mask: ArrayLike | None = None,
        threads: int | None = None,
    ) -> Codes:
        """Code patches. A greedy choice begins with nothing, so `start` is checked and otherwise left alone."""
        work = _pursuit(self.residual, self.n_nonzero, dictionary, least_squares=False)
        return encode(work, patches, dictionary, start, mask, threads)


@dataclass(frozen=True, kw_only=True)
class OLS:
    """Orthogonal least squares: the next atom is the one that lowers `|x - a D|^2` most once all are fitted again."""

    residual: float = 0.0  # stop once |x - a D|^2 <= residual
    n_nonzero: int | None = None  # None: as many as the patch has pixels
    lam: ClassVar[float] = 0.0  # a greedy code pays nothing per coefficient

    def __post_init__(self) -> None:
        _check(self.residual, self.n_nonzero)

    def encode(
        self,
        patches: ArrayLike | Patches,
        dictionary: Dictionary,
        start: Codes | None = None,
        *,
        mask: ArrayLike | None = None,
        threads: int | None = None,
    ) -> Codes:
        """Code patches; `start` and `mask` as in `OMP`."""
        work = _pursuit(self.residual, self.n_nonzero, dictionary, least_squares=True)
        return encode(work, patches, dictionary, start, mask, threads)


def _check(residual: float, n_nonzero: int | None) -> None:
    positive("residual", residual, zero=True)
    if n_nonzero is not None:
        whole("n_nonzero", n_nonzero, least=1)


def _pursuit(residual: float, n_nonzero: int | None, dictionary: Dictionary, *, least_squares: bool) -> Work:
    require_dictionary(dictionary)
    if n_nonzero is not None and n_nonzero > dictionary.patch_size:
        raise ValueError(
            f"n_nonzero is {n_nonzero}, but a patch of {dictionary.patch_size} pixels needs no more atoms than pixels"
        )
    n_most = min(n_nonzero or dictionary.patch_size, dictionary.patch_size, dictionary.n_atoms)

    def work(engine: Engine, source: Source, start: Start | None, stop: Stop) -> Packed:
        return engine.pursue(source, residual, n_most, least_squares, stop)

    return work
