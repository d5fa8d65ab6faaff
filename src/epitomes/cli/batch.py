"""One file or many: patterns, the names of the results, and failures that do not stop the other files."""

from __future__ import annotations

import glob
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

from epitomes.cli.common import STREAM, Result, answer, require_picture, require_picture_goal
from epitomes.cli.errors import INPUT, PARTIAL, USAGE, CommandError, explained, fail, lines_kept, tell, usage
from epitomes.cli.progress import counting

MOST_NAMED = 5  # files that failed, in the last line
SMALL_FILE = 2**21  # bytes: of larger ones, one after the other keeps all cores busy and needs less memory


def files_of(names: Sequence[Path]) -> list[Path]:
    """Return the files that are named; patterns that the shell did not expand and directories are expanded, sorted."""
    found: dict[Path, None] = {}
    for name in names:
        if not is_pattern(name):
            found[name] = None
            continue
        if name.is_dir():
            found.update(dict.fromkeys(_images_in(name)))
            continue
        matches = sorted(glob.glob(str(name), recursive=True))
        if not matches:
            raise CommandError(INPUT, f"{name}: no file matches this pattern")
        found.update(dict.fromkeys(map(Path, matches)))
    if Path(STREAM) in found and len(found) > 1:
        raise usage(f"{STREAM} reads one image from stdin, and other files were named as well: run two commands")
    return list(found)


def is_pattern(name: Path) -> bool:
    """Return whether a name stands for many files: a pattern with *, ? or [, or a directory that is not an image."""
    from epitomes.formats import is_folder_format

    if name.is_dir():
        return not is_folder_format(name)
    return glob.has_magic(str(name)) and not name.exists()


def _images_in(folder: Path) -> list[Path]:
    """Return the images in a directory, sorted, and name the files that are none."""
    from epitomes.formats import is_folder_format, suffix_of_file

    images, others = list[Path](), list[Path]()
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or (path.is_dir() and not is_folder_format(path)):
            continue
        (images if suffix_of_file(path) else others).append(path)
    if not images:
        raise CommandError(INPUT, f"{folder}: expected images in this directory, found none")
    if others:
        names = ", ".join(path.name for path in others[:MOST_NAMED]) + (" ..." if len(others) > MOST_NAMED else "")
        tell(
            f"note: {folder}: {len(others)} of {len(images) + len(others)} files are no images and are skipped: {names}"
        )
    return images


def into_folder(names: Sequence[Path], files: Sequence[Path], output: Path) -> bool:
    """Return whether `output` is a directory for the results; refuse an output that does not suit the files."""
    from epitomes.formats import is_folder_format
    from epitomes.formats.registry import BY_SUFFIX, suffix_of

    if len(files) == 1 and not any(map(is_pattern, names)):
        return output.is_dir() and not is_folder_format(output)
    if str(output) == STREAM:
        raise usage(f"--output {STREAM} takes one image, got {len(files)}: name a directory", "-o", "clean")
    if output.exists() and not output.is_dir():
        raise usage(f"--output {output}: several images need a directory, this is a file", "-o", "clean")
    if suffix_of(output) in BY_SUFFIX and (not output.exists() or is_folder_format(output)):
        directory = output.with_name(output.name[: -len(suffix_of(output))])
        raise usage(f"--output {output}: several images need a directory", "-o", str(directory))
    if not output.parent.is_dir():
        raise usage(f"--output {output}: there is no directory {output.parent}: create it first")
    return True


def goals_of(
    names: Sequence[Path], files: Sequence[Path], output: Path, suffix: str | None, overwrite: bool
) -> dict[Path, Path]:
    """Return where the result of each file goes; refuse, before any work, an output that cannot be written."""
    if into_folder(names, files, output):
        return goals_in(output, files, suffix)
    if suffix is not None:
        raise usage("--suffix sets the format of files in a directory: --output names a single file")
    require_picture(files[0])
    require_picture_goal(output, overwrite)
    return {files[0]: output}


def goals_in(folder: Path, files: Sequence[Path], suffix: str | None) -> dict[Path, Path]:
    """Return where the result of each file goes: its name, in the directory."""
    _require_suffix(suffix)
    if files == [Path(STREAM)]:
        raise usage(f"--output {folder}: stdin has no name, so name a file in the directory")
    goals = {file: folder / name_of_result(file, suffix) for file in files}
    twice = [goal for goal, count in Counter(goals.values()).items() if count > 1]
    if twice:
        same = " and ".join(str(file) for file, goal in goals.items() if goal == twice[0])
        raise usage(f"the results of {same} would have the same name, {twice[0]}: denoise one directory at a time")
    return goals


def name_of_result(file: Path, suffix: str | None = None) -> str:
    """Return the name of a file with another suffix if one is given, or if its format cannot be written."""
    from epitomes.formats import suffix_of_file
    from epitomes.formats.registry import BY_SUFFIX, Format, suffix_of

    own = suffix_of(file)
    known = own in BY_SUFFIX
    kind = BY_SUFFIX.get(own if known else suffix_of_file(file))
    if suffix is None and (kind is None or kind.write is not None):
        return file.name if known or kind is None else f"{file.name}{kind.suffixes[0]}"
    first = re.match(r"\.\w+", kind.instead) if isinstance(kind, Format) else None
    return file.name[: len(file.name) - len(own) * known] + (suffix or (first[0] if first else ".tif"))


def each(
    files: Sequence[Path],
    work: Callable[[Path], Result],
    *,
    done: str,
    json: bool = False,
    aside: bool = False,
    at_once: int = 1,
) -> None:
    """Do the work for every file and print each result and a summary; the failure of a single file is raised.

    `at_once` files are worked on at the same time. What is printed has the order of the files all the same.
    """
    began, failed = time.perf_counter(), []
    results = None if at_once == 1 else _results(files, work, at_once)
    for file in files:
        try:
            result = work(file) if results is None else next(results)()
        except Exception as error:
            failure = _of_file(file, error)
            if len(files) == 1:
                raise failure from error
            failed.append(file)
            fail(failure)
            if not json:
                continue
            result = Result("", {"input": str(file), "error": str(failure), "exit_code": failure.code})
        answer(result, json, aside=aside)
    if len(files) == 1:
        return
    n_done, seconds = len(files) - len(failed), time.perf_counter() - began
    facts = {"files": len(files), "done": n_done, "failed": [str(file) for file in failed], "seconds": seconds}
    answer(Result(f"{n_done} of {len(files)} files {done} in {seconds:.1f} s", facts), json)
    if failed:
        named = " ".join(map(str, failed[:MOST_NAMED])) + (" ..." if len(failed) > MOST_NAMED else "")
        raise CommandError(PARTIAL, f"{len(failed)} of {len(files)} files failed: {named}")


def files_at_once(files: Sequence[Path], threads: int | None) -> int:
    """How many files to work on at the same time: one per core if all are small, else one after the other."""
    from epitomes.blocks import n_threads

    if len(files) < 2 or not all(file.is_file() and file.stat().st_size <= SMALL_FILE for file in files):
        return 1
    return min(n_threads(threads), len(files))


def _results(files: Sequence[Path], work: Callable[[Path], Result], at_once: int) -> Iterator[Callable[[], Result]]:
    """The result of every file in their order, as a call that may raise, as soon as those before it are there."""
    from epitomes import blocks

    with counting(len(files)) as count, ThreadPoolExecutor(at_once, thread_name_prefix="file") as pool:
        told: dict[Path, list[str]] = {file: [] for file in files}
        futures = {file: pool.submit(_keeping, told[file], work, file) for file in files}
        try:
            for file, future in futures.items():
                while not future.done():  # the main thread must be free to hear Ctrl-C
                    wait([future], timeout=0.05)
                    count(sum(each.done() for each in futures.values()))
                for line in told[file]:
                    tell(line)
                yield future.result
        except BaseException:
            blocks.cancel()
            pool.shutdown(wait=True, cancel_futures=True)
            blocks.cancel(False)
            raise


def _keeping(lines: list[str], work: Callable[[Path], Result], file: Path) -> Result:
    """Do the work and keep the lines about it: those of files that are worked on at once must not mix."""
    with lines_kept(lines):
        return work(file)


def _of_file(file: Path, error: Exception) -> CommandError:
    """The error with the name of the file; what the library refuses about an image is the fault of the image."""
    found = explained(error)
    refused = found.code == USAGE and isinstance(error, ValueError)
    known = str(file) in str(found) or str(found).startswith("--")
    message = str(found) if known else f"{file}: {found}"
    return CommandError(INPUT if refused else found.code, message, *found.options, instead=found.instead)


def _require_suffix(suffix: str | None) -> None:
    from epitomes.formats import ImageFileError, require_format

    if suffix is None:
        return
    try:
        require_format(f"result{suffix if suffix.startswith('.') else ''}")
    except ImageFileError as error:
        raise usage(f"--suffix {suffix}: {error}") from error
