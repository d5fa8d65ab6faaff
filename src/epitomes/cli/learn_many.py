"""`epitomes learn` on collections: many files, read and coded by tasks that know nothing of each other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from epitomes.cli.batch import is_pattern
from epitomes.cli.common import Result, answer, size
from epitomes.cli.errors import CommandError, tell, usage
from epitomes.cli.executors import executor_of
from epitomes.cli.shards import failures_explained, opened, raise_failed, tell_skipped, watching_shards

if TYPE_CHECKING:
    from epitomes.cli.denoise_store import ProgressForm
    from epitomes.scale import Learned

ALONE = "works on images in memory: name the files without patterns, and leave out --workers, --cluster and --epochs"


def is_collection(images: Sequence[Path], workers: int | None, cluster: str | None, epochs: int | None) -> bool:
    """Return whether the images are a collection: patterns, directories, or an option that only collections have."""
    return any(option is not None for option in (workers, cluster, epochs)) or any(map(is_pattern, images))


def require_no(**options: object) -> None:
    """Refuse options that a collection does not have; those that were not given are None or False."""
    for name, value in options.items():
        if value not in (None, False):
            raise usage(f"--{name.replace('_', '-')} {ALONE}")


def learn_many(
    images: Sequence[Path],
    output: Path,
    *,
    lam: float,
    sigma: float | None,
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    count: int,
    start: str,
    sample: int | None,
    epochs: int | None,
    shard: int | None,
    workers: int | None,
    cluster: str | None,
    max_failed: float,
    progress: ProgressForm,
    checkpoint: Path | None,
    resume: bool,
    seed: int,
    threads: int | None,
    json: bool,
    overwrite: bool,
) -> None:
    """Learn from a collection, write the model and print the result."""
    from epitomes.learn._natural import NotShippedError
    from epitomes.scale import learn_from, start_for
    from epitomes.scale.shards import SAMPLE

    began = time.perf_counter()
    epitome_shape, patch_shape = shapes
    try:
        first = start_for(
            list(images), epitome_shape=epitome_shape, patch_shape=patch_shape, count=count, start=start, rng=seed
        )
    except NotShippedError as error:
        raise usage(
            f"no natural epitome of {size(epitome_shape)} pixels is shipped for --count {count}: add --start noise",
            "--start",
            "noise",
        ) from error
    pictures = opened(images, len(first.phi.patch_shape), shard)
    try:
        with (
            failures_explained(),
            executor_of(workers, cluster, threads) as executor,
            watching_shards("learning", progress) as callback,
        ):
            learned = learn_from(
                pictures,
                first,
                lam=lam,
                epochs=epochs,
                sample=sample or SAMPLE,
                executor=executor,
                checkpoint=checkpoint,
                resume=resume,
                max_failed=max_failed,
                rng=seed,
                threads=threads,
                callback=callback,
            )
    except (CommandError, KeyboardInterrupt):
        if checkpoint is not None and checkpoint.exists():
            tell(f"the last round is saved in {checkpoint}: run the same command with --resume to continue")
        raise
    tell_skipped(learned.n_skipped, learned.skipped)
    _save(output, learned, lam, sigma, seed, start, images, len(pictures.spans), overwrite)
    answer(_result(learned, output, lam, len(pictures.spans), time.perf_counter() - began), json)
    raise_failed(learned.failed, len(pictures))


def _save(
    output: Path,
    learned: Learned,
    lam: float,
    sigma: float | None,
    seed: int,
    start: str,
    images: Sequence[Path],
    n_pictures: int,
    overwrite: bool,
) -> None:
    from epitomes.model_file import Provenance, save

    origin = Provenance(
        lam=lam,
        sigma=sigma,
        seed=seed,
        n_steps=len(learned.history),
        source=f"{n_pictures} pictures: {', '.join(map(str, images))}"[:500],
        note=f"start: {start}; {len(learned.failed)} shards failed, {learned.n_skipped} pictures skipped",
    )
    save(output, learned.epitome, origin, overwrite=overwrite)


def _result(learned: Learned, output: Path, lam: float, n_pictures: int, seconds: float) -> Result:
    last, phi = learned.history[-1], learned.epitome.phi
    facts = {
        "output": str(output),
        "epitome_shape": list(phi.epitome_shape),
        "patch_shape": list(phi.patch_shape),
        "n_atoms": phi.n_atoms,
        "lam": lam,
        "n_pictures": n_pictures,
        "n_rounds": len(learned.history),
        "objective": last.objective,
        "atoms_per_patch": last.sparsity,
        "n_unused": last.n_unused,
        "failed": [str(each) for each in learned.failed],
        "n_skipped": learned.n_skipped,
        "skipped": [{"name": each.name, "reason": each.reason} for each in learned.skipped],
        "seconds": seconds,
        "objectives": [each.objective for each in learned.history],
    }
    line = (
        f"learned {size(phi.epitome_shape)} from {n_pictures - learned.n_skipped} pictures in {len(learned.history)} "
        f"rounds, {seconds:.1f} s: objective {last.objective:.6g} per patch, {last.sparsity:.2f} atoms per patch, "
        f"written to {output}"
    )
    return Result(line, facts)
