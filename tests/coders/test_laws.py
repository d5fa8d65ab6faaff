"""The laws hold for every coder of ours, and `check_coder` finds and names what is wrong with a broken one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from coder_cases import CODERS
from scipy.sparse import csr_array

from epitomes.coders import OMP, Lasso
from epitomes.dictionary import Dictionary
from epitomes.testing import check_coder


@pytest.mark.slow
@pytest.mark.parametrize("coder", CODERS, ids=repr)
def test_laws(coder: Any) -> None:
    check_coder(coder)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_laws_for_other_numbers(seed: int) -> None:
    for coder in (OMP(residual=2.0), Lasso(lam=3.0)):
        check_coder(coder, rng=np.random.default_rng(seed))


Call = Callable[..., csr_array]


@dataclass(frozen=True)
class Broken:
    """A good coder with a fault: `fault` receives the good `encode` and its arguments."""

    good: Any
    fault: Callable[..., Any]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.good, name)

    def encode(
        self, patches: Any, dictionary: Dictionary, start: Any = None, *, mask: Any = None, threads: int | None = None
    ) -> Any:
        def encode(X: Any = patches, D: Dictionary = dictionary, start: Any = start, coder: Any = self.good) -> Any:
            return coder.encode(X, D, start, threads=threads)

        return self.fault(encode, patches, dictionary, start, threads)


def with_data(codes: csr_array, data: Any) -> csr_array:
    return csr_array((np.asarray(data), codes.indices, codes.indptr), shape=codes.shape)


def too_large(encode: Call, *_: Any) -> Any:
    codes = encode()
    return with_data(codes, codes.data * codes.dtype.type(1.01))


def too_cheap(encode: Call, *_: Any) -> Any:
    return encode(coder=Lasso(lam=0.19))


def without_the_small(encode: Call, *_: Any) -> Any:
    codes = encode()
    return with_data(codes, np.where(np.abs(codes.data) < 0.01, 0, codes.data))


def without_norms(encode: Call, X: Any, D: Dictionary, *_: Any) -> Any:
    return encode(D=Dictionary(D.unit))


def stops_early(encode: Call, *_: Any) -> Any:
    return encode(coder=OMP(residual=1.5))


def goes_on(encode: Call, *_: Any) -> Any:
    return encode(coder=OMP(n_nonzero=6))


def both_signs(encode: Call, *_: Any) -> Any:
    return encode(coder=Lasso(lam=0.2))


def lazy(encode: Call, X: Any, D: Any, start: Any, *_: Any) -> Any:
    return encode() if start is None else start.copy()


def unsorted(encode: Call, *_: Any) -> Any:
    codes = encode()
    data, indices = codes.data.copy(), codes.indices.copy()
    for first, last in zip(codes.indptr[:-1], codes.indptr[1:], strict=True):
        data[first:last], indices[first:last] = data[first:last][::-1].copy(), indices[first:last][::-1].copy()
    return csr_array((data, indices, codes.indptr), shape=codes.shape)


def always_double(encode: Call, *_: Any) -> Any:
    return encode().astype(np.float64)


def dense(encode: Call, *_: Any) -> Any:
    return encode().toarray()


def centres_in_place(encode: Call, X: Any, *_: Any) -> Any:
    codes = encode()
    X -= X.mean()
    return codes


def clips_in_place(encode: Call, X: Any, *_: Any) -> Any:
    np.clip(X, -0.2, 0.2, out=X)  # the second time this changes nothing more
    return encode(X)


def spoils_start(encode: Call, X: Any, D: Any, start: Any, *_: Any) -> Any:
    codes = encode()
    if start is not None:
        start.data *= 2
    return codes


def last_bit(encode: Call, by: int) -> Any:
    codes = encode()
    return with_data(codes, codes.data * (1 + by * np.finfo(codes.dtype).eps).astype(codes.dtype))


def by_threads(encode: Call, X: Any, D: Any, start: Any, threads: int | None) -> Any:
    return last_bit(encode, threads or 1)


def by_batch(encode: Call, X: Any, *_: Any) -> Any:
    return last_bit(encode, len(X) % 7)


def by_row(encode: Call, X: Any, *_: Any) -> Any:
    codes = encode()
    rows = np.repeat(np.arange(len(X)), np.diff(codes.indptr))
    return with_data(codes, np.where((rows == 39) & (len(X) == 40), np.nextafter(codes.data, 0), codes.data))


def fills_zero_patch(encode: Call, X: Any, *_: Any) -> Any:
    codes = encode().tolil()
    codes[[3] if len(X) == 40 else [], 1] = 1e-30
    return csr_array(codes.tocsr())


def uses_zero_atoms(encode: Call, X: Any, D: Dictionary, *_: Any) -> Any:
    codes = encode().tolil()
    for j in np.flatnonzero(~D.atoms.any(axis=1)):
        codes[:, j] = X.any(axis=1).astype(X.dtype)[:, None]
    return csr_array(codes.tocsr())


def coarse_single(encode: Call, X: Any, *_: Any) -> Any:
    codes = encode()
    return codes if X.dtype == np.float64 else with_data(codes, codes.data.astype(np.float16).astype(np.float32))


def not_a_number(encode: Call, *_: Any) -> Any:
    codes = encode()
    return with_data(codes, np.full_like(codes.data, np.nan))


BROKEN = [
    (OMP(residual=1.0), too_large, "least squares"),
    (OMP(residual=1.0), stops_early, "residual below"),
    (OMP(n_nonzero=5), goes_on, "support at most"),
    (OMP(n_nonzero=5), dense, "csr_array"),
    (OMP(n_nonzero=5), unsorted, "indices are sorted"),
    (OMP(n_nonzero=5), always_double, "dtype in"),
    (OMP(n_nonzero=5), fills_zero_patch, "zero patch"),
    (OMP(n_nonzero=5), uses_zero_atoms, "zero atoms"),
    (OMP(n_nonzero=5), centres_in_place, "inputs are not changed"),
    (OMP(n_nonzero=5), clips_in_place, "inputs are not changed"),
    (OMP(n_nonzero=5), spoils_start, "inputs are not changed"),
    (OMP(n_nonzero=5), by_threads, "threads"),
    (OMP(n_nonzero=5), by_batch, "batches"),
    (OMP(n_nonzero=5), by_row, "batches|order"),
    (OMP(n_nonzero=5), lazy, "warm start"),
    (OMP(n_nonzero=5), coarse_single, "float32|least squares"),
    (OMP(n_nonzero=5), without_norms, "scaling"),
    (Lasso(lam=0.2), without_norms, "optimality"),
    (Lasso(lam=0.2), too_large, "optimality"),
    (Lasso(lam=0.2), too_cheap, "optimality"),
    (Lasso(lam=0.2), without_the_small, "optimality"),
    (Lasso(lam=0.2), lazy, "warm start"),
    (Lasso(lam=0.2), not_a_number, "finite"),
    (Lasso(lam=0.2, positive=True), both_signs, "not negative"),
]


@pytest.mark.parametrize(("good", "fault", "law"), BROKEN, ids=[f"{f.__name__}-{g!r}" for g, f, _ in BROKEN])
def test_faults_are_found_and_named(good: Any, fault: Callable[..., Any], law: str) -> None:
    with pytest.raises(
        AssertionError, match=rf"violates the law \[[^\]]*({law})[^\]]*\] on the dictionary '\w.*violation"
    ):
        check_coder(Broken(good, fault))
