"""`epitomes stats`: sum up images, so that others can learn from them without seeing them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from epitomes.cli.common import Json, Overwrite, Result, Seed, answer, examples, require_goal
from epitomes.cli.denoise_store import ProgressForm
from epitomes.cli.errors import usage
from epitomes.cli.executors import Cluster, Workers, executor_of, require_one_place
from epitomes.cli.shards import (
    MaxFailed,
    ProgressOption,
    ShardSize,
    failures_explained,
    opened,
    raise_failed,
    tell_skipped,
    watching_shards,
)

EXAMPLES = examples(
    "stats 'scans/*.tif' -o lab1.stats --epitome shared.epitome",
    "stats 'scans/**/*.png' -o lab2.stats --epitome shared.epitome --lam 60 --workers 4",
)


def stats(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="images, directories or patterns")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="statistics file to write (.stats)")],
    epitome: Annotated[Path, typer.Option(metavar="FILE", help="model file to code the images with (.epitome)")],
    lam: Annotated[
        float | None,
        typer.Option(metavar="X", help="regularisation parameter lambda [default: that of the model file]"),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="patches drawn from each image [default: 1000]")
    ] = None,
    all_patches: Annotated[bool, typer.Option("--all", help="use all patches of each image")] = False,
    workers: Workers = None,
    cluster: Cluster = None,
    shard: ShardSize = None,
    max_failed: MaxFailed = 0.01,
    progress: ProgressOption = ProgressForm.bar,
    seed: Seed = 0,
    json: Json = False,
    overwrite: Overwrite = False,
) -> None:
    """Code images with an epitome and write the sums that learning needs.

    The file holds sums over all patches, but no images, patches or file names. "epitomes merge" adds such files and
    makes the next epitome, as if all images had been in one place. The sums of very few patches can reveal them.
    """
    require_one_place(workers, cluster)
    if all_patches and sample is not None:
        raise usage("--all uses all patches: leave out --sample")
    require_goal(output, overwrite)

    from epitomes.model_file import inspect, load
    from epitomes.scale import save_statistics, statistics_of
    from epitomes.scale.shards import SAMPLE

    began = time.perf_counter()
    model, origin = load(epitome), inspect(epitome).provenance
    value = lam if lam is not None else None if origin is None else origin.lam
    if value is None or not 0 < value < float("inf"):
        raise usage(f"--lam is needed, above 0: {epitome} does not say with which lambda it was learned", "--lam", "60")
    pictures = opened(files, len(model.phi.patch_shape), shard)
    with (
        failures_explained(),
        executor_of(workers, cluster) as executor,
        watching_shards("coding", progress) as callback,
    ):
        found, failed = statistics_of(
            pictures,
            model,
            lam=value,
            sample=None if all_patches else sample or SAMPLE,
            executor=executor,
            max_failed=max_failed,
            rng=seed,
            callback=callback,
        )
    tell_skipped(found.n_skipped, found.skipped)
    save_statistics(output, found, overwrite=overwrite)
    facts = {
        "output": str(output),
        "n_pictures": found.n_pictures,
        "n_patches": found.count,
        "atoms_per_patch": found.n_nonzero / found.count,
        "lam": value,
        "kind": str(found.kind),
        "failed": [str(each) for each in failed],
        "n_skipped": found.n_skipped,
        "seconds": time.perf_counter() - began,
    }
    line = (
        f"coded {found.count} patches of {found.n_pictures} pictures in {facts['seconds']:.1f} s, lambda {value:g}, "
        f"{facts['atoms_per_patch']:.2f} atoms per patch, written to {output}"
    )
    answer(Result(line, facts), json)
    raise_failed(failed, len(pictures))
