"""alternate: down the objective of Eq. 3 at every step, by the same bits for any threads, on hard inputs too."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise

import numpy as np
import pytest
from learn_cases import Doubles, residual_cost, same_bits, same_steps, texture

from epitomes import Epitome, Patches
from epitomes.coders import OMP, Coder, Lasso, LassoLARS
from epitomes.learn import Fista, Moments, ProjectedGradient, Step, Update, alternate, cost, smooth_noise
from epitomes.learn.update import PreconditionedFista
from epitomes.phi import GatherPhi, flat, shift_invariant, turned, union, windows

PHIS: list[GatherPhi] = [
    windows((9, 9), (4, 4)),
    windows((3, 6, 7), (4, 4)),
    flat(10, (4, 4)),
    shift_invariant(4, (4, 4), 1),
    turned(windows((6, 6), (4, 4))),
]
UPDATES: list[Update] = [PreconditionedFista(n_steps=4), Fista(n_steps=4), ProjectedGradient(n_steps=4)]


def first(n: int, steps: Iterator[Step]) -> list[Step]:
    return list(islice(steps, n))


@pytest.mark.parametrize("seed", range(50))
def test_the_objective_never_rises(seed: int) -> None:
    rng = np.random.default_rng(seed)
    phi, update = PHIS[seed % len(PHIS)], UPDATES[seed % len(UPDATES)]
    patches = Patches(texture((int(rng.integers(10, 18)), 12), seed), (4, 4))
    coder = Lasso(lam=float(rng.uniform(3, 60)), tol=1e-10)
    steps = first(12, alternate(patches, smooth_noise(phi, rng=seed), coder=coder, update=update))
    objectives = [step.progress.objective for step in steps]
    for before, after in pairwise(objectives):
        assert after <= before * (1 + 1e-10)
    assert objectives[-1] < objectives[0]


@pytest.mark.parametrize("phi", PHIS, ids=repr)
def test_the_objective_is_that_of_the_step(phi: GatherPhi) -> None:
    """Eq. 3 by residuals, at the codes and the epitome that come with the step: rescaling them changed nothing."""
    patches, lam = Patches(texture((16, 15)), (4, 4)), 20.0
    X = patches.rows(0, len(patches))[0]
    for step in first(4, alternate(patches, smooth_noise(phi), coder=Lasso(lam=lam))):
        D = step.epitome.dictionary.atoms
        expected = residual_cost(X, step.codes, D, lam) / len(X)
        assert step.progress.objective == pytest.approx(expected, rel=1e-10)
        assert 0.5 <= np.sqrt(np.mean(np.linalg.norm(D, axis=1) ** 2)) <= 2.0  # no drift, whatever the start
        assert step.progress.sparsity == step.codes.nnz / len(X)


@pytest.mark.parametrize("factor", [1e-4, 0.3, 1e5])
def test_the_scale_of_the_start_is_free(factor: float) -> None:
    patches, start = Patches(texture((14, 14)), (4, 4)), smooth_noise(PHIS[0])
    scaled = Epitome(factor * start.pixels, start.phi)
    coder = Lasso(lam=20.0, tol=1e-10)
    for one, other in zip(
        first(5, alternate(patches, start, coder=coder)), first(5, alternate(patches, scaled, coder=coder)), strict=True
    ):
        assert one.progress.objective == pytest.approx(other.progress.objective, rel=1e-6)


def test_warm_starts_change_no_optimum() -> None:
    """A step from the last codes ends where a step from nothing ends."""
    patches, coder = Patches(texture((20, 20)), (4, 4)), Lasso(lam=10.0, tol=1e-9)
    one, second = first(2, alternate(patches, smooth_noise(PHIS[1]), coder=coder))
    cold = next(alternate(patches, one.epitome, coder=coder))
    assert second.progress.objective == pytest.approx(cold.progress.objective, rel=1e-7)


@pytest.mark.parametrize("sample", [None, 150])
def test_threads_change_no_bit(sample: int | None) -> None:
    """Blocks of patches, structural and not: more than one of each."""
    image, start = texture((110, 110)).astype(np.float32), smooth_noise(windows((14, 14), (6, 6)))
    for patches in (Patches(image, (6, 6)), Patches(image, (6, 6), 2).rows(0, 1000)[0]):
        runs = [
            first(3, alternate(patches, start, coder=Lasso(lam=40.0), sample=sample, rng=3, threads=threads))
            for threads in (1, 2, 3)
        ]
        for steps in zip(*runs, strict=True):
            assert same_steps(steps[0], steps[1]) and same_steps(steps[0], steps[2])


def test_going_on_after_a_step() -> None:
    patches, start = Patches(texture((20, 20)), (4, 4)), smooth_noise(PHIS[1])
    for sample in (None, 60):
        whole = first(6, alternate(patches, start, coder=Lasso(lam=10.0), sample=sample))
        rest = first(3, alternate(patches, start, coder=Lasso(lam=10.0), sample=sample, after=whole[2]))
        assert [step.progress.index for step in rest] == [4, 5, 6]
        for one, other in zip(whole[3:], rest, strict=True):
            assert same_steps(one, other)


def test_samples_are_drawn_anew_and_by_the_seed() -> None:
    patches, start = Patches(texture((30, 30)), (4, 4)), smooth_noise(PHIS[0])

    def objectives(seed: int) -> list[float]:
        steps = first(4, alternate(patches, start, coder=Lasso(lam=10.0), sample=100, rng=seed))
        assert all(step.codes is None for step in steps)  # codes of other patches are no start
        return [step.progress.objective for step in steps]

    assert objectives(0) == objectives(0) != objectives(1)
    everything = first(2, alternate(patches, start, coder=Lasso(lam=10.0)))
    as_sample = first(
        2, alternate(patches, start, coder=Lasso(lam=10.0), sample=10**6)
    )  # more than there are: all of them
    assert same_bits(everything[0].epitome, as_sample[0].epitome)


class TestUnused:
    def test_unused_atoms_are_counted_and_kept(self, rng: np.random.Generator) -> None:
        """Patches are multiples of one atom; the others, orthogonal to it, are never used and stay what they were."""
        phi = flat(5, (2, 3))
        atoms = np.linalg.qr(rng.standard_normal((6, 6)))[0][:5]
        X = rng.uniform(5, 9, (50, 1)) * atoms[2]
        start = Epitome(atoms.reshape(phi.epitome_shape), phi)
        for step in first(4, alternate(X, start, coder=Lasso(lam=1.0))):
            assert step.progress.n_unused == 4
            unit = step.epitome.dictionary.unit
            np.testing.assert_allclose(unit, atoms, atol=1e-12)

    def test_zero_atoms_are_counted_and_stay_finite(self) -> None:
        phi = windows((3, 7, 7), (4, 4))
        E = smooth_noise(phi).pixels.copy()
        E[1] = 0.0
        for step in first(4, alternate(Patches(texture((20, 20)), (4, 4)), Epitome(E, phi), coder=Lasso(lam=10.0))):
            assert step.progress.n_unused >= 16
            assert np.isfinite(step.epitome.pixels).all()
            np.testing.assert_array_equal(step.epitome.pixels[1], 0.0)

    def test_an_epitome_of_zeros_is_refused(self) -> None:
        start = Epitome(np.zeros((9, 9)), PHIS[0])
        with pytest.raises(ValueError, match="atoms"):
            first(1, alternate(Patches(texture((20, 20)), (4, 4)), start, coder=Lasso(lam=10.0)))

    def test_lam_above_all_correlations(self) -> None:
        """No patch uses anything: the epitome stays, all atoms are unused, the objective is the energy."""
        patches, start = Patches(texture((20, 20)), (4, 4)), smooth_noise(PHIS[0])
        X = patches.rows(0, len(patches))[0]
        for step in first(3, alternate(patches, start, coder=Lasso(lam=1e6))):
            assert step.progress.n_unused == PHIS[0].n_atoms
            assert step.progress.sparsity == 0
            assert step.progress.objective == pytest.approx(0.5 * np.sum(X**2) / len(X))
            np.testing.assert_allclose(step.epitome.dictionary.unit, start.dictionary.unit, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_constant_image(dtype: type) -> None:
    patches = Patches(np.full((20, 20), 7, dtype), (4, 4))
    for step in first(3, alternate(patches, smooth_noise(PHIS[0]), coder=Lasso(lam=10.0))):
        assert step.progress.objective == 0
        assert step.progress.n_unused == PHIS[0].n_atoms
        assert np.isfinite(step.epitome.pixels).all()


def test_one_patch() -> None:
    """An image as small as the patch, and an epitome as small too: the atom becomes the patch."""
    image = texture((4, 4))
    *_, last = first(30, alternate(Patches(image, (4, 4)), smooth_noise(windows((4, 4), (4, 4))), coder=Lasso(lam=1.0)))
    patch = (image - image.mean()).ravel()
    likeness = abs(last.epitome.dictionary.unit[0] @ patch) / np.linalg.norm(patch)
    assert likeness == pytest.approx(1.0, abs=1e-6)
    for step in first(3, alternate(Patches(image, (4, 4)), smooth_noise(PHIS[1]), coder=Lasso(lam=1.0), sample=1)):
        assert np.isfinite(step.progress.objective)


@pytest.mark.parametrize("coder", [LassoLARS(lam=10.0), OMP(n_nonzero=3)], ids=["lars", "omp"])
def test_other_coders(coder: Coder) -> None:
    patches = Patches(texture((20, 20)), (4, 4))
    steps = first(6, alternate(patches, smooth_noise(PHIS[1]), coder=coder))
    assert steps[-1].progress.objective < steps[0].progress.objective


class TestFlatDictionary:
    """Epitomes as large as the patch are a flat dictionary: the same steps without any phi end in the same atoms."""

    def without_phi(self, X: Doubles, D: Doubles, lam: float, n_steps: int) -> tuple[Doubles, list[float]]:
        """Alternate minimisation on a plain matrix of atoms: codes, then steps down the gradient with momentum."""
        from epitomes import Dictionary

        objectives = []
        codes = None
        for _ in range(n_steps):
            codes = Lasso(lam=lam, tol=1e-10).encode(X, Dictionary(D), codes)
            moments = Moments.of(X, codes)
            D = self.accelerated(D, moments, lam)
            norm = float(np.sqrt(np.mean(np.sum(D**2, axis=1))))
            D, codes, moments = D / norm, codes * norm, moments.recoded(norm)
            objectives.append(cost(D, moments, lam) / len(X))
        return D, objectives

    def accelerated(self, D: Doubles, moments: Moments, lam: float) -> Doubles:
        """FISTA to the end, its rate from the largest eigenvalue: no backtracking, no metric, no projection."""
        last = ahead = D
        t = 1.0
        rate = 2.0 * float(np.linalg.eigvalsh(moments.gram)[-1]) + 2.0 * float(
            (lam * moments.mass / np.maximum(np.linalg.norm(D, axis=1), 1e-12)).max()
        )
        for _ in range(3000):
            norms = np.linalg.norm(ahead, axis=1)
            slope = moments.gram @ ahead - moments.cross + (lam * moments.mass / norms)[:, None] * ahead
            new = ahead - slope / rate
            following = (1 + np.sqrt(1 + 4 * t * t)) / 2
            if np.vdot(slope, new - last) > 0:
                ahead, t = new, 1.0
            else:
                ahead, t = new + (t - 1) / following * (new - last), following
            last = new
        return last

    @pytest.mark.slow
    def test_same_objectives(self, rng: np.random.Generator) -> None:
        phi, lam = windows((8, 4, 4), (4, 4)), 15.0
        patches = Patches(texture((24, 24)), (4, 4))
        X = patches.rows(0, len(patches))[0]
        start = smooth_noise(phi)
        steps = first(
            6, alternate(X, start, coder=Lasso(lam=lam, tol=1e-10), update=PreconditionedFista(n_steps=2000, tol=1e-15))
        )
        D, objectives = self.without_phi(X, start.dictionary.atoms.astype(np.float64), lam, 6)
        np.testing.assert_allclose([step.progress.objective for step in steps], objectives, rtol=1e-6)
        units = D / np.linalg.norm(D, axis=1)[:, None]  # the scale is free
        np.testing.assert_allclose(steps[-1].epitome.dictionary.unit, units, rtol=0, atol=1e-5)

    def test_same_bits_as_flat(self) -> None:
        patches = Patches(texture((24, 24)), (4, 4))
        one, other = windows((8, 4, 4), (4, 4)), flat(8, (4, 4))
        pixels = smooth_noise(one).pixels
        runs = [
            first(3, alternate(patches, Epitome(pixels.reshape(phi.epitome_shape), phi), coder=Lasso(lam=15.0)))
            for phi in (one, other)
        ]
        assert runs[0][-1].epitome.pixels.tobytes() == runs[1][-1].epitome.pixels.tobytes()


def test_mismatched_patches_and_wrong_samples_are_refused() -> None:
    start = smooth_noise(PHIS[0])
    with pytest.raises(ValueError, match="patches have 25 pixels, the atoms 16"):
        next(alternate(Patches(texture((20, 20)), (5, 5)), start, coder=Lasso(lam=1.0)))
    with pytest.raises(ValueError, match="sample must be at least 1, got 0"):
        alternate(Patches(texture((20, 20)), (4, 4)), start, coder=Lasso(lam=1.0), sample=0)
    with pytest.raises(ValueError, match="patches holds 1 NaN"):
        alternate([[1.0] * 15 + [float("nan")]], start, coder=Lasso(lam=1.0))


def test_unions_learn() -> None:
    phi = union(windows((9, 9), (4, 4)), flat(3, (4, 4)))
    steps = first(5, alternate(Patches(texture((20, 20)), (4, 4)), smooth_noise(phi), coder=Lasso(lam=10.0)))
    assert steps[-1].progress.objective < steps[0].progress.objective
