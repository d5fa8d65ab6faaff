"""online: one pass is nearly as good as many steps over everything, and one large batch is a step of alternate."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from learn_cases import Doubles, numbers, same_bits, same_steps, texture

from epitomes import Epitome, Patches
from epitomes.coders import Lasso
from epitomes.learn import Moments, PreconditionedFista, Step, alternate, cost, online, run, smooth_noise
from epitomes.learn._online import n_batches
from epitomes.learn.samples import Source, batches, take
from epitomes.phi import windows

PHI = windows((12, 12), (5, 5))


def synthetic(n: int, rng: np.random.Generator) -> Doubles:
    """Sums of three atoms of a hidden epitome, under noise."""
    D = smooth_noise(PHI, rng=9).dictionary.unit
    atoms, weights = rng.integers(0, PHI.n_atoms, (n, 3)), rng.standard_normal((n, 3))
    X = np.einsum("nk,nkm->nm", weights, D[atoms]) + 0.1 * rng.standard_normal((n, PHI.patch_size))
    return X.astype(np.float32)


def recoded_objective(source: Source, epitome: Epitome, lam: float) -> float:
    """Eq. 3 over all patches, all of them coded anew: what the learner itself says is not asked."""
    codes = Lasso(lam=lam).encode(source, epitome.dictionary)
    X = source.rows(0, len(source))[0] if isinstance(source, Patches) else source
    D, A = epitome.dictionary.atoms, codes.astype(np.float64)
    return float(0.5 * np.sum((X - A @ D) ** 2) + lam * np.sum(abs(A) @ np.linalg.norm(D, axis=1))) / len(X)


@pytest.mark.slow
def test_one_pass_over_synthetic_patches_is_nearly_as_good_as_twenty_steps(rng: np.random.Generator) -> None:
    X, coder, start = synthetic(100_000, rng), Lasso(lam=0.3), smooth_noise(PHI, rng=1)
    batch = run(alternate(X, start, coder=coder), max_steps=20)
    passed = run(online(X, start, coder=coder), max_steps=n_batches(X))
    assert 45 <= len(passed.history) <= 55
    before, slow, quick = (recoded_objective(X, each, coder.lam) for each in (start, batch.epitome, passed.epitome))
    assert slow < 0.95 * before
    assert quick <= 1.02 * slow


@pytest.mark.slow
def test_one_pass_over_a_photograph_is_nearly_as_good_as_twenty_steps() -> None:
    """Real patches differ more from batch to batch: old ones are forgotten sooner, and each is used for longer."""
    data = pytest.importorskip("skimage.data")
    patches = Patches(data.camera()[:324, :324].astype(np.float32), (8, 8))
    coder, start = Lasso(lam=60.0), smooth_noise(windows((14, 14), (8, 8)))
    batch = run(alternate(patches, start, coder=coder), max_steps=20)
    steps = online(patches, start, coder=coder, forget=4.0, update=PreconditionedFista(n_steps=5))
    passed = run(steps, max_steps=n_batches(patches))
    before, slow, quick = (
        recoded_objective(patches, each, coder.lam) for each in (start, batch.epitome, passed.epitome)
    )
    assert slow < 0.9 * before
    assert quick <= 1.02 * slow


@pytest.mark.parametrize("rows", [False, True], ids=["windows", "rows"])
def test_one_batch_of_everything_is_a_step_of_alternate(rows: bool) -> None:
    patches: Source = Patches(texture((40, 40)), (5, 5))
    if rows:
        patches = patches.rows(0, 1296)[0]
    coder, update, start = Lasso(lam=20.0), PreconditionedFista(n_steps=7), smooth_noise(PHI)
    one = next(alternate(patches, start, coder=coder, update=update))
    other = next(online(patches, start, coder=coder, update=update, batch=len(patches), forget=0.0))
    assert same_bits(one.epitome, other.epitome)
    assert numbers(one.progress) == numbers(other.progress)


def rms(epitome: Epitome) -> float:
    return float(np.sqrt(np.mean(epitome.dictionary.norms**2)))


@pytest.mark.parametrize("forget", [0.0, 1.0, 2.5])
def test_the_memory_is_what_the_docstring_says(forget: float) -> None:
    """The moments of each step are those of its batch and `(1 - 1/t)^forget` of the last ones; the scale is free."""
    X = synthetic(900, np.random.default_rng(3)).astype(np.float64)
    coder, update = Lasso(lam=0.3, tol=1e-10), PreconditionedFista(n_steps=3)
    epitome, memory = smooth_noise(PHI, rng=1), None
    steps = list(islice(online(X, epitome, coder=coder, update=update, batch=300, forget=forget, rng=5), 5))
    for t, step in enumerate(steps, start=1):
        turn, part = divmod(t - 1, 3)
        rows = X[batches(X, 300, 5, turn)[part]]
        known = Moments.of(rows, coder.encode(rows, epitome.dictionary))
        if memory is not None:
            known = memory.scaled((1 - 1 / t) ** forget) + known
        better = update.step(epitome, known, coder.lam).epitome
        size = rms(better)
        epitome, memory = Epitome(better.pixels / size, PHI), known.recoded(size)
        np.testing.assert_allclose(step.epitome.pixels / rms(step.epitome), epitome.pixels, rtol=0, atol=1e-6)
        assert step.moments is not None
        found = step.moments.recoded(rms(step.epitome))
        np.testing.assert_allclose(found.gram, memory.gram, rtol=1e-6, atol=1e-7 * memory.gram.max())
        assert step.moments.count == pytest.approx(memory.count)
        expected = cost(epitome.dictionary.atoms, memory, coder.lam) / memory.count
        assert step.progress.objective == pytest.approx(expected, rel=1e-7)
        assert step.codes is None
    if forget == 0:
        assert steps[-1].moments is not None and steps[-1].moments.count == 1500


def test_threads_change_no_bit() -> None:
    patches, start = Patches(texture((60, 60)).astype(np.float32), (5, 5)), smooth_noise(PHI)
    runs = [
        list(islice(online(patches, start, coder=Lasso(lam=20.0), batch=500, threads=threads), 8))
        for threads in (1, 2, 3)
    ]
    for steps in zip(*runs, strict=True):
        assert same_steps(steps[0], steps[1]) and same_steps(steps[0], steps[2])


def test_going_on_after_a_step_within_a_pass_and_at_its_end() -> None:
    patches, start, coder = Patches(texture((40, 40)), (5, 5)), smooth_noise(PHI), Lasso(lam=20.0)
    whole = list(islice(online(patches, start, coder=coder, batch=300), 10))
    per_pass = n_batches(patches, 300)
    assert 3 <= per_pass <= 5
    for done in (1, per_pass, per_pass + 2):
        rest = list(islice(online(patches, start, coder=coder, batch=300, after=whole[done - 1]), 10 - done))
        assert all(same_steps(one, other) for one, other in zip(whole[done:], rest, strict=True))


def test_unused_atoms_of_the_memory_are_counted() -> None:
    phi = windows((2, 7, 7), (5, 5))
    E = smooth_noise(phi).pixels.copy()
    E[1] = 0.0

    def unused(step: Step) -> int:
        return step.progress.n_unused

    steps = list(
        islice(online(Patches(texture((40, 40)), (5, 5)), Epitome(E, phi), coder=Lasso(lam=20.0), batch=50), 20)
    )
    assert all(unused(step) >= 9 for step in steps)
    assert unused(steps[-1]) <= unused(steps[0])
    np.testing.assert_array_equal(steps[-1].epitome.pixels[1], 0.0)


def test_constant_patches_and_a_lam_too_large() -> None:
    start = smooth_noise(PHI)
    for patches, lam in ((Patches(np.full((20, 20), 9.0), (5, 5)), 1.0), (Patches(texture((20, 20)), (5, 5)), 1e6)):
        for step in islice(online(patches, start, coder=Lasso(lam=lam), batch=60), 6):
            assert step.progress.n_unused == PHI.n_atoms
            assert np.isfinite(step.epitome.pixels).all()


def test_wrong_parameters() -> None:
    patches, start = Patches(texture((20, 20)), (5, 5)), smooth_noise(PHI)
    with pytest.raises(ValueError, match="batch must be at least 1, got 0"):
        online(patches, start, coder=Lasso(lam=1.0), batch=0)
    with pytest.raises(ValueError, match="forget must be a finite number >= 0, got -1"):
        online(patches, start, coder=Lasso(lam=1.0), forget=-1)


class TestBatches:
    """Samples and batches: the seed and the number of the draw alone decide them."""

    @pytest.mark.parametrize("size", [1, 7, 100, 5000])
    @pytest.mark.parametrize("rows", [False, True], ids=["lines", "rows"])
    def test_a_pass_sees_every_patch_once(self, rows: bool, size: int) -> None:
        patches = Patches(texture((25, 30)), (5, 5))
        source: Source = patches.rows(0, len(patches))[0] if rows else patches
        found = batches(source, size, seed=1, turn=4)
        n_units = len(source) if rows else len(patches.positions[0])
        np.testing.assert_array_equal(np.sort(np.concatenate(found)), np.arange(n_units))
        sizes = [len(take(source, units)) for units in found]
        assert sum(sizes) == len(patches)
        per_unit = len(patches) // n_units
        assert max(sizes) - min(sizes) <= per_unit
        assert all(abs(each - min(size, len(patches))) <= max(per_unit, 0.5 * size) for each in sizes)

    def test_draws(self) -> None:
        X = np.zeros((100, 3))
        same = [batches(X, 10, seed=1, turn=2)[0] for _ in range(2)]
        np.testing.assert_array_equal(*same)
        assert not np.array_equal(same[0], batches(X, 10, seed=1, turn=3)[0])
        assert not np.array_equal(same[0], batches(X, 10, seed=2, turn=2)[0])
        assert np.array_equal(same[0], np.sort(same[0]))  # in order: memory is read forwards
