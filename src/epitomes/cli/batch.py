"""One file or many: names that are patterns, where the results go, and failures that do not stop the others."""

from __future__ import annotations

import glob
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from epitomes.cli.common import STREAM, Result, answer
from epitomes.cli.errors import INPUT, PARTIAL, CommandError, explained, tell, usage

MOST_NAMED = 5  # files that failed, in the last line


def files_of(names: Sequence[Path]) -> list[Path]:
    """The files that are named; patterns with *, ? or [ that the shell has left alone are filled in, in order."""
    found: dict[Path, None] = {}
    for name in names:
        if not is_pattern(name):
            found[name] = None
            continue
        matches = sorted(glob.glob(str(name), recursive=True))
        if not matches:
            raise CommandError(INPUT, f"no file matches {name}: list the folder, or put quotes around the pattern")
        found.update(dict.fromkeys(map(Path, matches)))
    if Path(STREAM) in found and len(found) > 1:
        raise usage("- is stdin, and must be the only picture: denoise it apart")
    return list(found)


def is_pattern(name: Path) -> bool:
    """Whether a name stands for many files."""
    return glob.has_magic(str(name)) and not name.exists()


def into_folder(names: Sequence[Path], files: Sequence[Path], output: Path) -> bool:
    """Whether `output` is a folder for the results; refused where it cannot be what the number of files needs."""
    from epitomes.formats import is_folder_format
    from epitomes.formats.registry import BY_SUFFIX, suffix_of

    if len(files) > 1 or any(map(is_pattern, names)):
        if str(output) == STREAM:
            raise usage(f"--output - takes one picture, and {len(files)} were given: name a folder")
        if output.exists() and not output.is_dir():
            raise usage(f"--output {output} is a file, and the results of several need a folder: name one")
        if suffix_of(output) in BY_SUFFIX and (not output.exists() or is_folder_format(output)):
            raise usage(f"--output {output} names one file, and the results of several need a folder: name one")
        if not output.parent.is_dir():
            raise usage(f"--output {output}: there is no folder {output.parent}; make it first")
        return True
    return output.is_dir() and not is_folder_format(output)


def goals_in(folder: Path, files: Sequence[Path], suffix: str | None) -> dict[Path, Path]:
    """Where the result of each file goes: its name, in the folder."""
    _require_suffix(suffix)
    if files == [Path(STREAM)]:
        raise usage(f"--output {folder} is a folder, and stdin has no name: name the file to write")
    goals = {file: folder / _name_in_folder(file, suffix) for file in files}
    twice = [goal for goal, count in Counter(goals.values()).items() if count > 1]
    if twice:
        same = " and ".join(str(file) for file, goal in goals.items() if goal == twice[0])
        raise usage(f"{same} would both become {twice[0]}: rename one, or take them one folder at a time")
    return goals


def each(
    files: Sequence[Path], work: Callable[[Path], Result], *, done: str, json: bool = False, aside: bool = False
) -> None:
    """Do the work for every file, with a line for each and a summary; a single file is no batch, and fails as such."""
    if len(files) == 1:
        answer(work(files[0]), json, aside=aside)
        return
    began, failed = time.perf_counter(), []
    for file in files:
        try:
            result = work(file)
        except Exception as error:
            code, words = explained(error)
            failed.append(file)
            tell(words if str(file) in words else f"{file}: {words}")
            if not json:
                continue
            result = Result("", {"input": str(file), "error": words, "exit_code": code})
        answer(result, json)
    n_done, seconds = len(files) - len(failed), time.perf_counter() - began
    facts = {"files": len(files), "done": n_done, "failed": [str(file) for file in failed], "seconds": seconds}
    answer(Result(f"{n_done} of {len(files)} files {done} in {seconds:.1f} s", facts), json)
    if failed:
        named = " ".join(map(str, failed[:MOST_NAMED])) + (" ..." if len(failed) > MOST_NAMED else "")
        raise CommandError(PARTIAL, f"{len(failed)} of {len(files)} files failed; try again with these: {named}")


def _require_suffix(suffix: str | None) -> None:
    from epitomes.formats import ImageFileError, require_format

    if suffix is None:
        return
    try:
        require_format(f"result{suffix if suffix.startswith('.') else ''}")
    except ImageFileError as error:
        raise usage(f"--suffix {suffix}: {error}") from error


def _name_in_folder(file: Path, suffix: str | None) -> str:
    """The name with another suffix where one is asked for, or where the format is read and not written."""
    from epitomes.formats.registry import BY_SUFFIX, suffix_of

    own = suffix_of(file)
    kind = BY_SUFFIX.get(own)
    if suffix is None and (kind is None or kind.write is not None):
        return file.name
    instead = ".mkv" if kind is not None and kind.name == "video" else ".tif"
    return file.name[: len(file.name) - len(own)] + (suffix or instead)
