"""`code_shard` is a pure function: of the pictures, the epitome and the seed, of nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scale_learn_cases import LAM, pictures, start

from epitomes import Patches
from epitomes.coders import Lasso
from epitomes.formats import MissingExtraError, write
from epitomes.learn import Moments
from epitomes.scale import Member, Shard, Statistics, code_shard, collection
from epitomes.scale.shards import positions


def bits(found: Statistics) -> tuple[object, ...]:
    return found.gram.tobytes(), found.cross.tobytes(), found.mass.tobytes(), found.energy, found.count


def test_same_bits_whatever_the_threads_and_the_copy(tmp_path: Path) -> None:
    """Twice, on two threads, from files of another name, and as another shard."""
    shard = collection(pictures(3), n_axes=2).shard(0)
    asked = {"lam": LAM, "sample": 50, "seed": 4, "epoch": 2}
    expected = bits(code_shard(start(), shard, **asked))
    assert bits(code_shard(start(), shard, **asked, threads=2)) == expected
    for number, pixels in enumerate(pictures(3)):
        write(tmp_path / f"other name {number}.png", pixels)
    files = collection(tmp_path, n_axes=2).shard(0)
    assert bits(code_shard(start(), Shard(7, files.members), **asked)) == expected
    assert bits(code_shard(start(), shard, **{**asked, "seed": 5})) != expected
    assert bits(code_shard(start(), shard, **{**asked, "epoch": 3})) != expected


def test_drawn_patches_are_patches_of_the_pictures() -> None:
    """The sums are those of the patches at the drawn positions, coded by themselves."""
    images = pictures(3)
    found = code_shard(start(), collection(images, n_axes=2).shard(0), lam=LAM, sample=50, seed=1)
    rows = []
    for image in images:
        patches = Patches(image, (5, 5))
        chosen = positions(image, len(patches), 50, 1, 0)
        assert len(set(chosen.tolist())) == 50 and chosen.min() >= 0 and chosen.max() < len(patches)
        rows.append(patches.at_index(chosen)[0])
    X = np.concatenate(rows)
    moments = Moments.of(X, Lasso(lam=LAM).encode(X, start().dictionary))
    assert found.cross.tobytes() == moments.cross.tobytes() and found.count == 150
    assert len(positions(images[0], 30, 50, 1, 0)) == 30  # a small picture gives what it has


def test_positions_cover_a_picture_evenly() -> None:
    image = pictures(1)[0]
    drawn = np.concatenate([positions(image, 400, 40, 0, epoch) for epoch in range(200)])
    counts = np.bincount(drawn, minlength=400)
    assert counts.sum() == 8000 and abs(counts - 20).max() < 6 * np.sqrt(20)


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patches are coded in blocks; floats of two sizes in one collection keep their own bits."""
    from epitomes.scale import shards

    images = [each.astype(kind) for each, kind in zip(pictures(4), ("f4", "f8", "f8", "f4"), strict=True)]
    shard = collection(images, n_axes=2).shard(0)
    whole = code_shard(start(), shard, lam=LAM, sample=60)
    monkeypatch.setattr(shards, "ROWS", 60)
    assert code_shard(start(), shard, lam=LAM, sample=60).gram.tobytes() == whole.gram.tobytes()


def test_a_package_that_is_missing_is_no_fault_of_the_picture() -> None:
    class Broken(Member):
        def pictures(self, n_axes: int) -> object:
            raise MissingExtraError("Zarr needs the package zarr")

    with pytest.raises(MissingExtraError):
        code_shard(start(), Shard(0, (Broken("a", np.zeros((9, 9))),)), lam=LAM)


def test_an_empty_shard_has_empty_statistics() -> None:
    found = code_shard(start(), collection([np.zeros((3, 3))], n_axes=2).shard(0), lam=LAM)
    assert (found.count, found.n_skipped, found.damage()) == (0, 1, "") and not found.gram.any()
