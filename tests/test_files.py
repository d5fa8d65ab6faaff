"""Files are complete or absent, whatever stops the writer."""

from __future__ import annotations

import os
import signal
import stat
import threading
import time
from pathlib import Path

import pytest
from processes import lines, python

from epitomes.files import ABANDONED, write_atomically


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_writes_and_replaces(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    for content in (b"", b"old", b"new" * 10_000):
        write_atomically(file, content)
        assert file.read_bytes() == content
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_name_in_the_present_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_atomically(Path("a.bin"), b"here")
    assert (tmp_path / "a.bin").read_bytes() == b"here"


def test_overwriting_must_be_allowed(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    write_atomically(file, b"first", overwrite=False)
    with pytest.raises(FileExistsError, match=r"a\.bin exists already: choose another name"):
        write_atomically(file, b"second", overwrite=False)
    assert file.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_of_many_writers_one_gets_a_free_name(tmp_path: Path) -> None:
    """The name is free when all of them check it; exactly one may get it."""
    file = tmp_path / "a.bin"
    ready, won, lost = threading.Barrier(8), [], []

    def write(number: int) -> None:
        ready.wait()
        try:
            write_atomically(file, bytes([number]) * 1000, overwrite=False)
            won.append(number)
        except FileExistsError:
            lost.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert len(lost) == 7
    assert file.read_bytes() == bytes(won) * 1000
    assert os.listdir(tmp_path) == ["a.bin"]


def test_file_systems_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    file = tmp_path / "a.bin"
    write_atomically(file, b"first", overwrite=False)
    with pytest.raises(FileExistsError):
        write_atomically(file, b"second", overwrite=False)
    assert file.read_bytes() == b"first"


@pytest.mark.parametrize("broken", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_a_failed_write_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str, error: BaseException
) -> None:
    file = tmp_path / "a.bin"
    write_atomically(file, b"old")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(type(error)):
        write_atomically(file, b"new")
    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_file_and_folder_go_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The content before the name, the name after: otherwise a power cut could leave a name without content."""
    events: list[str] = []
    fsync, replace = os.fsync, os.replace

    def watched_fsync(descriptor: int) -> None:
        events.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "content")
        fsync(descriptor)

    def watched_replace(source: Path, goal: Path) -> None:
        events.append("name")
        replace(source, goal)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    write_atomically(tmp_path / "a.bin", b"new")
    assert events == ["content", "name", "folder"]


def test_permissions(tmp_path: Path) -> None:
    plain, file = tmp_path / "plain", tmp_path / "a.bin"
    plain.write_bytes(b"")
    write_atomically(file, b"new")
    assert mode(file) == mode(plain)  # those that the user's umask gives
    file.chmod(0o600)
    write_atomically(file, b"newer")
    assert mode(file) == 0o600  # a private file stays private


def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    other, link = tmp_path / "other", tmp_path / "link"
    other.write_bytes(b"precious")
    link.symlink_to(other)
    write_atomically(link, b"new")
    assert other.read_bytes() == b"precious"
    assert not link.is_symlink()
    assert link.read_bytes() == b"new"


def test_impossible_goals_are_named(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a directory: give the name of a file"):
        write_atomically(tmp_path, b"")
    with pytest.raises(FileNotFoundError, match=r"directory .*absent does not exist, make it first"):
        write_atomically(tmp_path / "absent" / "a.bin", b"")


def test_long_names(tmp_path: Path) -> None:
    file = tmp_path / ("ü" * 127)  # 254 bytes of the 255 that a name may have
    write_atomically(file, b"new")
    assert file.read_bytes() == b"new"


def test_abandoned_temporaries_go_young_and_foreign_ones_stay(tmp_path: Path) -> None:
    old, young, foreign, other = (
        tmp_path / name for name in (f".a.{'0' * 16}.tmp", f".a.{'1' * 16}.tmp", ".a.notes.tmp", f".b.{'0' * 16}.tmp")
    )
    for file in (old, young, foreign, other):
        file.write_bytes(b"")
    long_ago = time.time() - ABANDONED - 60
    for file in (old, foreign, other):
        os.utime(file, (long_ago, long_ago))
    write_atomically(tmp_path / "a", b"new")
    assert {file.name for file in tmp_path.iterdir()} == {"a", young.name, foreign.name, other.name}


def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    """A child writes one content after another until it is killed: what remains is one of them, complete."""
    file = tmp_path / "a.bin"
    write_atomically(file, bytes(1_000_000))
    loop = (
        "import sys; from pathlib import Path; from epitomes.files import write_atomically\n"
        "n = 0\n"
        "while True:\n"
        "    n = n % 255 + 1; write_atomically(Path(sys.argv[1]), bytes([n]) * 1_000_000); print(flush=True)"
    )
    for wait in (0.0, 0.003, 0.011):
        with python("-c", loop, file) as child:
            next(lines(child))  # it has begun
            time.sleep(wait)
            child.send_signal(signal.SIGKILL)
        content = file.read_bytes()
        assert len(content) == 1_000_000
        assert len(set(content)) == 1
