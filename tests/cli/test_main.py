"""The command as a whole: quick help with examples, exit codes, words without tracebacks, pipes and Ctrl-C."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import epitomes
from epitomes.cli import errors
from epitomes.cli.help import ORDER
from epitomes.cli.main import app
from epitomes.formats import write

Run = Callable[..., tuple[int, str, str]]

COMMANDS = ("denoise", "noise", "report", "compare", "info", "learn", "stats", "merge", "show", "paper", "doctor")


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "epitomes", *map(str, arguments)]


def hear_ctrl_c() -> None:
    """Called in a new process: one that a shell started in the background would ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys; from epitomes.cli.main import main\n"
        "code = main(['--help']); heavy = {'numpy', 'scipy', 'PIL', 'rich'} & set(sys.modules)\n"
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in COMMANDS)


@pytest.mark.slow
def test_help_is_quick() -> None:
    """Processor time, for the clock also counts what else the machine does; and against typer alone, for its speed."""
    import resource

    def seconds(words: list[str]) -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        before = used.ru_utime + used.ru_stime
        subprocess.run(words, stdout=subprocess.DEVNULL, check=True, timeout=60)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime - before

    least = min(seconds([sys.executable, "-c", "import typer"]) for _ in range(3))
    assert min(seconds(command("--help")) for _ in range(4)) < max(0.3, 2 * least)


@pytest.mark.parametrize("name", COMMANDS)
def test_options_under_headings(name: str) -> None:
    """Every option has one line under a heading; none needs a semicolon."""
    shown = CliRunner().invoke(app, [name, "--help"], terminal_width=100).output
    headings = re.findall(r"^([A-Z][a-z]+):$", shown, re.MULTILINE)
    assert headings == [each for each in ORDER if each in headings]
    assert re.findall(r"^  (?:-\w, )?(--[\w-]+)", shown, re.MULTILINE)
    assert not re.search(r"x>=|<list|\{", shown)
    if name == "denoise":
        assert headings == ["Arguments", "Noise", "Method", "Output", "Scale", "Advanced"]
        assert shown.startswith("Usage: epitomes denoise [OPTIONS] FILES...\n")
        assert ";" not in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_examples_that_are_understood(name: str, run: Run, tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, [name, "--help"])
    assert shown.exit_code == 0
    examples = re.findall(rf"^ +epitomes ({name}.*)$", shown.output.split("Examples:")[1], re.MULTILINE)
    assert len(examples) >= 2
    for example in examples:  # its files are not here, and that is the only thing to complain of
        if name not in ("paper", "doctor") and "<" not in example:
            words = [str(tmp_path / word) if re.search(r"\.[a-z]\w*$", word) else word for word in shlex.split(example)]
            code, _, err = run(*words)
            assert code == errors.INPUT and "no" in err.lower() and str(tmp_path) in err


def test_main_help_explains_every_exit_code() -> None:
    shown = CliRunner().invoke(app, ["--help"]).output
    for code, meaning in errors.CODES.items():
        assert re.search(rf"^ +{code} {re.escape(meaning)}$", shown, re.MULTILINE)
    named = {value for name, value in vars(errors).items() if name.isupper() and isinstance(value, int)}
    assert named == set(errors.CODES)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("epitomes d", {"denoise", "doctor"}),
        ("epitomes denoise a.png --method ", {"nonlocal", "paper"}),
        ("epitomes denoise a.png --preset b", {"balanced", "best"}),
        ("epitomes denoise a.png --sigma ", {"auto"}),
        ("epitomes noise --p", {"--poisson"}),
        ("epitomes learn --start d", {"data", "dct"}),
    ],
)
def test_shell_completion(words: str, expected: set[str]) -> None:
    told = {"_EPITOMES_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    done = subprocess.run(command(), env={**os.environ, **told}, capture_output=True, text=True, timeout=60)
    assert set(done.stdout.split()) == expected and done.stderr == ""


def test_no_command_and_version(run: Run) -> None:
    code, _, err = run()
    assert code == errors.USAGE and err.startswith("Usage: epitomes") and "Commands:" in err and "try:" not in err
    assert run("--version")[:2] == (0, f"epitomes {epitomes.__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("lern",), "learn"),
        (("learn", "-o", "x.epitome"), "IMAGE"),
        (("learn", "a.png", "-o", "x.epitome", "--lam", "much"), "--lam"),
        (("learn", "a.png", "-o", "x.epitome", "--lamb", "3"), "--lam"),
        (("learn", "a.png", "-o", "x.epitome", "--lam", "3", "--scales", "9"), "--scales"),
        (("denoise", "a.png", "--sigma", "3"), "--output"),
        (("denoise", "a.png", "-o", "b.png", "--method", "magic"), "nonlocal"),
        (("noise",), "FILES"),
        (("report", "a.png"), "RESTORED"),
        (("show",), "MODEL"),
    ],
)
def test_usage_errors_are_two_lines_that_name_the_help(arguments: tuple[str, ...], words: str, run: Run) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (errors.USAGE, "")
    assert words in err and "--help" in err and len(err.splitlines()) == 2


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (errors.usage("w o r d s"), 2),
        (ValueError("w o r d s"), 2),
        (FileExistsError("w o r d s"), 2),
        (PermissionError(13, "w o r d s", "file"), 3),
        (MemoryError("w o r d s"), 4),
        (KeyError("w o r d s"), 1),
        (RuntimeError("w o r d s"), 1),
    ],
)
def test_exceptions_become_words(
    raised: Exception, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EPITOMES_DEBUG", raising=False)
    with errors.guarded() as outcome:
        raise raised
    assert outcome.code == code
    err = capsys.readouterr().err
    assert err.startswith("error: ") and "w o r d s" in err and "Traceback" not in err and len(err.splitlines()) <= 2
    assert ("EPITOMES_DEBUG" in err) == (code == 1)
    monkeypatch.setenv("EPITOMES_DEBUG", "1")
    with errors.guarded() as outcome:
        raise raised
    assert outcome.code == code
    assert "Traceback" in capsys.readouterr().err


def test_interrupt_is_130(capsys: pytest.CaptureFixture[str]) -> None:
    with errors.guarded() as outcome:
        raise KeyboardInterrupt
    assert outcome.code == 130
    assert "interrupted" in capsys.readouterr().err


def test_warnings_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with errors.guarded() as outcome:
        warnings.warn("two\nlines", stacklevel=1)
    assert outcome.code == 0 and capsys.readouterr().err == "warning: two lines\n"


@pytest.mark.slow
def test_ctrl_c_ends_denoising_at_once(tmp_path: Path) -> None:
    """The kernels hear it within a fifth of a second; the rest is Python's way out, on a busy machine."""
    pixels = np.random.default_rng(0).normal(100, 9, (400, 400)).astype(np.float32)
    write(tmp_path / "noisy.npy", pixels)
    asked = ("denoise", tmp_path / "noisy.npy", "-o", tmp_path / "a.npy", "--sigma", 9, "--preset", "best")
    running = subprocess.Popen(command(*asked), stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=hear_ctrl_c)
    try:
        time.sleep(4)
        running.send_signal(signal.SIGINT)
        began = time.monotonic()
        out, err = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode in (130, -signal.SIGINT)  # the latter if modules were still being imported
    assert (out, err) == (b"", b"interrupted\n") and time.monotonic() - began < 5
    assert not (tmp_path / "a.npy").exists()


@pytest.mark.slow
def test_ctrl_c_ends_learning_and_names_the_checkpoint(tmp_path: Path, noisy: Path) -> None:
    asked = ("learn", noisy, "-o", tmp_path / "a.epitome", "--lam", 60, "--steps", 100_000, "--width", 12)
    kept = tmp_path / "kept"
    running = subprocess.Popen(
        command(*asked, "--start", "noise", "--checkpoint", kept),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=hear_ctrl_c,
    )
    try:
        until = time.monotonic() + 60
        while not kept.exists() and time.monotonic() < until:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130 and out == b""
    assert b"--resume" in err and b"Traceback" not in err
    assert not (tmp_path / "a.epitome").exists()


def test_closed_pipe_is_silent() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command("--help"), stdout=writing, stderr=subprocess.PIPE, timeout=60)
    os.close(writing)
    assert done.returncode == 0 and done.stderr == b""
