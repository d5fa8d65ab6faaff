"""Our coders, used in three ways.

The time covers the extraction of patches and their CSR codes. A dictionary is prepared once (norms, packed atoms, Gram
matrix) and then codes any number of images, so `on_windows` and `on_rows` start with a prepared one. `fresh` includes
the preparation, as for a single image. SPAMS prepares its Gram matrix in every call.
"""

from __future__ import annotations

from scipy.sparse import csr_array

from benchmarks.rivals import Problem, Rival
from benchmarks.start import PATCH
from epitomes import Dictionary, Epitome, Patches
from epitomes.coders import OLS, OMP, Lasso


def as_they_are(codes: csr_array) -> csr_array:
    """Return the codes, which need no conversion."""
    return codes


def on_windows(name: str, coder: OLS | OMP | Lasso, problem: Problem, start: csr_array | None = None) -> Rival:
    """Code the image: lazy patches, structural correlation."""
    dictionary = prepared(Epitome(problem.epitome.pixels, problem.epitome.phi).dictionary)

    def run() -> csr_array:
        return coder.encode(Patches(problem.noisy, PATCH), dictionary, start, threads=problem.threads)

    return Rival(name, run, as_they_are)


def fresh(name: str, coder: OLS | OMP | Lasso, problem: Problem) -> Rival:
    """Code as `on_windows`, with a new epitome each time, so that nothing is prepared."""

    def run() -> csr_array:
        dictionary = Epitome(problem.epitome.pixels, problem.epitome.phi).dictionary
        return coder.encode(Patches(problem.noisy, PATCH), dictionary, threads=problem.threads)

    return Rival(name, run, as_they_are)


def on_rows(name: str, coder: OLS | OMP | Lasso, problem: Problem, start: csr_array | None = None) -> Rival:
    """Code a matrix of patches in memory, as the peers do."""
    rows, dictionary = problem.rows, prepared(Dictionary(problem.atoms))

    def run() -> csr_array:
        return coder.encode(rows, dictionary, start, threads=problem.threads)

    return Rival(name, run, as_they_are)


def prepared(dictionary: Dictionary) -> Dictionary:
    """Prepare the dictionary."""
    assert dictionary.engine is not None  # computed when it is first used
    return dictionary
