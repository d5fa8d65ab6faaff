"""`epitomes merge`: add statistics files and make the next epitome."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from epitomes.cli.common import Json, Overwrite, Result, Threads, answer, examples, require_goal, size
from epitomes.cli.errors import usage

EXAMPLES = examples(
    "merge lab1.stats lab2.stats -o joint.epitome",
    "merge lab1.stats lab2.stats -o both.stats",
)

SUFFIX = ".stats"


def merge(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help='statistics files written by "epitomes stats", at least one')
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="model file (.epitome) or statistics file (.stats)"),
    ],
    threads: Threads = None,
    json: Json = False,
    overwrite: Overwrite = False,
) -> None:
    """Add statistics of different images and make the next epitome.

    The result is that of all images together, up to rounding. All files must have been made with the same model file
    and the same lambda. For another step, code the images again with the new epitome.
    """
    twice = [file for number, file in enumerate(files) if file.resolve() in {each.resolve() for each in files[:number]}]
    if twice:
        raise usage(f"{twice[0]} is named twice, and its images would count twice: name it once")
    require_goal(output, overwrite)

    from epitomes.model_file import Provenance, save
    from epitomes.scale import dictionary_step, load_statistics, pairwise, save_statistics

    parts = [load_statistics(file) for file in files]
    try:
        total = pairwise(parts)
    except ValueError as error:
        raise usage(f"{', '.join(map(str, files))}: {error}") from error
    assert total is not None  # there is at least one file
    facts = {
        "output": str(output),
        "n_files": len(files),
        "n_pictures": total.n_pictures,
        "n_skipped": total.n_skipped,
        "n_patches": total.count,
        "lam": total.lam,
        "epitome_shape": list(total.epitome.phi.epitome_shape),
    }
    line = f"{total.count} patches of {total.n_pictures} pictures in {len(files)} files"
    if output.suffix == SUFFIX:
        save_statistics(output, total, overwrite=overwrite)
        answer(Result(f"added {line}, written to {output}", facts), json)
        return
    learned = dictionary_step(total, threads=threads)
    origin = Provenance(lam=total.lam, n_steps=1, source=line, note="merged statistics")
    save(output, learned, origin, overwrite=overwrite)
    shape = size(total.epitome.phi.epitome_shape)
    answer(Result(f"learned {shape} from {line}, written to {output}", facts), json)
