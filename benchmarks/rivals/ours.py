"""Ours. The clock covers all a user pays for: atoms, norms and Gram matrix, the patches of the picture, CSR codes."""

from __future__ import annotations

from scipy.sparse import csr_array

from benchmarks.rivals import Problem, Rival
from benchmarks.start import PATCH
from epitomes import OLS, OMP, Dictionary, Epitome, Lasso, Patches


def as_they_are(codes: csr_array) -> csr_array:
    return codes


def on_windows(name: str, coder: OLS | OMP | Lasso, problem: Problem, start: csr_array | None = None) -> Rival:
    """From the picture: lazy patches, structural correlation. A fresh epitome each time, so nothing is cached."""

    def run() -> csr_array:
        dictionary = Epitome(problem.epitome.pixels, problem.epitome.phi).dictionary
        return coder.encode(Patches(problem.noisy, PATCH), dictionary, start, threads=problem.threads)

    return Rival(name, run, as_they_are)


def on_rows(name: str, coder: OLS | OMP | Lasso, problem: Problem, start: csr_array | None = None) -> Rival:
    """From a matrix of patches that is in memory already, as the peers have it."""
    rows, atoms = problem.rows, problem.atoms

    def run() -> csr_array:
        return coder.encode(rows, Dictionary(atoms), start, threads=problem.threads)

    return Rival(name, run, as_they_are)
