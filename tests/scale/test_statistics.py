"""Statistics: sums checked another way, a fixed tree, refusals, checksums and files."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scale_learn_cases import LAM, PHI, pictures, start

from epitomes import Epitome, Patches
from epitomes.coders import Lasso
from epitomes.learn import smooth_noise
from epitomes.model_file import ModelError
from epitomes.phi import turned, union, windows
from epitomes.scale import (
    Kind,
    Skipped,
    Statistics,
    code_shard,
    collection,
    dictionary_step,
    load_statistics,
    merge,
    pairwise,
    save_statistics,
    statistics_of,
)
from epitomes.scale.statistics import packed, unpacked


def of(images: list[np.ndarray], epitome: Epitome | None = None, lam: float = LAM) -> Statistics:
    shard = collection(images, n_axes=2, shard_size=len(images)).shard(0)
    return code_shard(epitome or start(), shard, lam=lam, sample=None)


def test_sums_are_those_of_dense_matrices() -> None:
    images = pictures(3)
    found = of(images)
    X = np.concatenate([Patches(image, (5, 5)).rows(0, len(Patches(image, (5, 5))))[0] for image in images])
    X = X.astype(np.float64)
    patches = [Patches(image, (5, 5)) for image in images]
    A = np.concatenate([Lasso(lam=LAM).encode(each, start().dictionary).toarray() for each in patches])
    A = A.astype(np.float64)
    np.testing.assert_allclose(unpacked(found.gram), A.T @ A, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(found.cross, A.T @ X, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(found.mass, np.abs(A).sum(axis=0), rtol=1e-12)
    assert found.energy == pytest.approx(np.sum(X**2), rel=1e-9)
    assert (found.count, found.n_nonzero, found.n_pictures) == (len(X), np.count_nonzero(A), 3)


def test_the_upper_triangle_is_the_matrix(rng: np.random.Generator) -> None:
    for side in (1, 2, 7):
        full = rng.standard_normal((side, side))
        full += full.T
        assert len(packed(full)) == side * (side + 1) // 2
        np.testing.assert_array_equal(unpacked(packed(full)), full)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8])
def test_the_tree_depends_on_places_alone(count: int, rng: np.random.Generator) -> None:
    """The sum is that of a recursive tree whose halves are powers of two, in the same bits, failed shards or not."""
    base = of(pictures(1))
    parts = [replace(base, energy=float(value)) for value in rng.standard_normal(count) * 10.0 ** rng.integers(0, 9)]

    def tree(some: list[Statistics | None]) -> Statistics | None:
        if len(some) == 1:
            return some[0]
        half = 1 << ((len(some) - 1).bit_length() - 1)
        left, right = tree(some[:half]), tree(some[half:])
        return merge(left, right) if left and right else left or right

    for failed in [(), *([0], [count - 1])] if count > 1 else [()]:
        some = [None if index in failed else part for index, part in enumerate(parts)]
        found, expected = pairwise(iter(some)), tree(some)
        assert found is not None and expected is not None and found.energy == expected.energy
        assert found.count == base.count * (count - len(failed))


def test_halves_merge_to_the_joint_fit() -> None:
    """Two laboratories: the same sums and the same epitome as one that has all pictures, whatever the shards are."""
    images, epitome = pictures(10), start()
    common = {"lam": LAM, "sample": 80}
    halves = [
        statistics_of(part, epitome, **common, shard_size=size)[0] for part, size in ((images[:4], 3), (images[4:], 2))
    ]
    merged, joint = merge(*halves), statistics_of(images, epitome, **common, shard_size=4)[0]
    assert merged.count == joint.count == 800
    for name in ("gram", "cross", "mass"):
        np.testing.assert_allclose(getattr(merged, name), getattr(joint, name), rtol=1e-12, atol=1e-9)
    apart, together = dictionary_step(merged).pixels, dictionary_step(joint).pixels
    assert np.abs(apart - together).max() <= 1e-10 * np.abs(together).max()
    assert np.abs(together - epitome.pixels).max() > 0.01  # the step is a step


def test_what_does_not_belong_together_is_refused() -> None:
    one = of(pictures(1))
    moved = Epitome(start().pixels + 1e-9, PHI)
    turned_phi = turned(windows((12, 12), (5, 5)), flips=True, quarter_turns=False)
    for other, words in (
        (of(pictures(1), lam=LAM + 1), "lambda differ"),
        (of(pictures(1), moved), "different epitomes"),
        (of(pictures(1), smooth_noise(turned_phi, rng=3)), "phi differ"),
        (of([each.astype(np.uint16) for each in pictures(1)]), "uint16"),
    ):
        with pytest.raises(ValueError, match=words):
            merge(one, other)


def test_damage_is_seen() -> None:
    whole = of(pictures(1))
    assert whole.damage() == ""
    for sums, value in product(("cross", "gram", "mass"), (np.nan, np.inf)):
        wrong = getattr(whole, sums).copy()
        wrong.flat[-1] = value
        assert "NaN" in replace(whole, **{sums: wrong}).damage()
    for changed in ({"energy": whole.energy + 1}, {"count": 3}, {"mass": whole.mass * (1 + 1e-15) + 1e-9}):
        assert "checksum" in replace(whole, **changed).damage()
    assert "NaN" in replace(whole, energy=np.inf).damage()


@pytest.mark.parametrize("phi", [PHI, union(windows((9, 9), (5, 5)), windows((8, 10), (5, 5)))], ids=repr)
def test_files_hold_the_same_bits_and_no_names(phi: object, tmp_path: Path) -> None:
    found = replace(of(pictures(2), smooth_noise(phi)), n_skipped=1, skipped=(Skipped("secret.png", "why"),))
    path = tmp_path / "lab.stats"
    save_statistics(path, found.sealed())
    loaded = load_statistics(path)
    for name in ("gram", "cross", "mass"):
        assert getattr(loaded, name).tobytes() == getattr(found, name).tobytes()
    assert loaded.epitome.pixels.tobytes() == found.epitome.pixels.tobytes()
    for name in ("key", "kind", "lam", "energy", "count", "n_nonzero", "n_pictures", "n_skipped"):
        assert getattr(loaded, name) == getattr(found, name)
    content = path.read_bytes()
    assert b"secret" not in content and loaded.skipped == ()
    with pytest.raises(FileExistsError):
        save_statistics(path, found.sealed())
    save_statistics(path, found.sealed(), overwrite=True)
    assert path.read_bytes() == content


def test_files_that_are_no_statistics(tmp_path: Path) -> None:
    found, path = of(pictures(1)), tmp_path / "lab.stats"
    with pytest.raises(ValueError, match="NaN"):
        save_statistics(path, replace(found, energy=np.nan))
    save_statistics(path, found)
    content = path.read_bytes()
    for wrong in (content[:-8], b"hello", content[:-9] + b"x" + content[-8:], content.replace(b'"lam', b'"lim')):
        path.write_bytes(wrong)
        with pytest.raises(ModelError):
            load_statistics(path)


def test_a_step_needs_patches() -> None:
    empty = replace(of(pictures(1)), count=0)
    with pytest.raises(ValueError, match="no patch"):
        dictionary_step(empty)
    assert str(Kind("uint8", 1)) == "uint8 with 1 channel"
