"""Instruction sets: chosen by name, equal up to rounding; the reference only if asked for."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from epitomes import Epitome, Patches, kernels
from epitomes.coders import OLS, Lasso
from epitomes.dictionary import Dictionary
from epitomes.kernels import reference_patches
from epitomes.phi import windows


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, timeout=120
    )


@pytest.mark.slow
@pytest.mark.parametrize("isa", kernels.isas)
def test_named_set_is_used(isa: str) -> None:
    done = run("from epitomes import kernels; print(kernels.isa)", EPITOMES_ISA=isa, EPITOMES_KERNELS="native")
    assert done.stdout.strip() == isa, done.stderr


@pytest.mark.slow
def test_wrong_names_are_refused() -> None:
    assert (
        "EPITOMES_ISA must be one of baseline"
        in run("import epitomes.kernels", EPITOMES_ISA="mmx", EPITOMES_KERNELS="native").stderr
    )
    assert "must be 'native' or 'reference'" in run("import epitomes.kernels", EPITOMES_KERNELS="fast").stderr


@pytest.mark.slow
def test_reference_runs_the_public_coders() -> None:
    code = """
import numpy as np
from epitomes import Dictionary, kernels
from epitomes.coders import OMP, Lasso
rng = np.random.default_rng(0)
D, X = Dictionary(rng.standard_normal((30, 12))), rng.standard_normal((20, 12))
assert kernels.isa == "reference"
print(OMP(residual=1.0).encode(X, D).nnz, Lasso(lam=0.5).encode(X, D).nnz)
"""
    slow, fast = run(code, EPITOMES_KERNELS="reference"), run(code.replace('== "reference"', '!= "reference"'))
    assert slow.returncode == fast.returncode == 0, slow.stderr + fast.stderr
    assert slow.stdout == fast.stdout


@pytest.mark.slow
@pytest.mark.parametrize("isa", kernels.isas)
def test_sets_agree_up_to_rounding(isa: str, rng: np.random.Generator) -> None:
    phi = windows((30, 30), (8, 8))
    epitome = Epitome(rng.standard_normal(phi.epitome_shape).astype(np.float32), phi)
    image = (128 + 25 * rng.standard_normal((60, 70)) + 2 * rng.standard_normal((60, 70)).cumsum(0)).astype(np.float32)
    patches, D = Patches(image, (8, 8)), epitome.dictionary
    X, _ = patches.rows(0, len(patches))
    other = Dictionary(D.atoms)
    other.__dict__["engine"] = kernels.make_engine(D.unit, D.norms, isa=isa)  # where the cached property keeps it
    for coder in (OLS(residual=64 * 25.0**2 / 2), Lasso(lam=60.0)):
        ours, theirs = coder.encode(X, D), coder.encode(X, other)
        same = np.array([np.array_equal(ours[[i]].indices, theirs[[i]].indices) for i in range(len(X))])
        assert same.mean() > 0.995  # a tie may fall either way
        assert abs(ours - theirs)[same].max() <= 1e-3 * abs(ours).max()
        assert 1 < ours.nnz / len(X) < 30


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gather_and_scatter_are_their_reference(dtype: type, rng: np.random.Generator) -> None:
    image = rng.standard_normal(500).astype(dtype)
    starts, offsets = rng.integers(0, 400, 90), np.sort(rng.choice(100, 37, replace=False))
    for centre in (True, False):
        rows, means = kernels.gather(image, starts, offsets, centre)
        rows_0, means_0 = reference_patches.gather(image, starts, offsets, centre)
        tolerance = 1e-6 if dtype == np.float32 else 1e-14
        np.testing.assert_allclose(rows, rows_0, rtol=0, atol=4 * tolerance)
        np.testing.assert_allclose(means, means_0, rtol=0, atol=tolerance)
    weights = rng.random(90).astype(dtype)
    totals = [np.zeros(500), np.zeros(500)]
    sums = [np.zeros(500), np.zeros(500)]
    kernels.scatter(totals[0], sums[0], starts, offsets, rows, weights)
    reference_patches.scatter(totals[1], sums[1], starts, offsets, rows, weights)
    np.testing.assert_allclose(totals[0], totals[1], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(sums[0], sums[1])


def test_large_dictionaries_need_no_gram_matrix(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    atoms, X = rng.standard_normal((200, 30)), rng.standard_normal((300, 30))
    dense = Dictionary(atoms)
    dense.engine  # noqa: B018  the Gram matrix is made now
    monkeypatch.setattr(kernels, "_DENSE_GRAM_ATOMS", 100)
    lazy = Dictionary(atoms)
    for coder in (OLS(residual=3.0), Lasso(lam=0.8)):
        one, other = coder.encode(X, dense), coder.encode(X, lazy)
        np.testing.assert_array_equal(one.indices, other.indices)
        np.testing.assert_array_equal(one.data, other.data)
