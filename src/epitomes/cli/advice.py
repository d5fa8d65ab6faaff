"""Next steps: the command to try after an error or a doubt, composed from the command that was typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from epitomes.cli.errors import CommandError, explained

if TYPE_CHECKING:
    from epitomes.noise import Noise

ALIASES = {"-o": "--output", "--output": "-o"}


@dataclass(frozen=True)
class CommandLine:
    """A command as it was typed, without the name of the program."""

    words: tuple[str, ...]

    def __str__(self) -> str:
        return shlex.join(["epitomes", *self.words])

    def adding(self, name: str, *value: str) -> CommandLine:
        """Return the command with an option; its value replaces one that was given."""
        return replace(self, words=(*self.dropping(name, takes_value=bool(value)).words, name, *value))

    def dropping(self, name: str, *, takes_value: bool = False) -> CommandLine:
        """Return the command without an option."""
        kept, skipped = [], False
        for word in self.words:
            if skipped:
                skipped = False
            elif word in (name, ALIASES.get(name)):
                skipped = takes_value
            elif not word.startswith(f"{name}="):
                kept.append(word)
        return CommandLine(tuple(kept))

    def for_file(self, files: Sequence[Path], file: Path) -> CommandLine:
        """Return the command for one of the files that were named."""
        named = {str(each) for each in files}
        command, *rest = self.words
        return CommandLine((command, str(file), *(word for word in rest if word not in named)))

    def remedy(self, error: Exception) -> str:
        """Return the command that works where this one failed, or shows why it did; "" if none is known."""
        if (context := getattr(error, "ctx", None)) is not None:  # a usage error found by typer
            return f"{context.command_path} --help"
        found = error if isinstance(error, CommandError) else explained(error)
        if found.instead:
            return str(CommandLine(found.instead))
        name, *value = found.options or ("",)
        return str(self.adding(name, *value)) if name else ""


def after_noise(line: CommandLine, goal: Path) -> Callable[[str], CommandLine]:
    """Return what to try after `epitomes noise`, for each kind of doubt; `goal` is the image to write."""
    renamed = (re.sub("^--from(?==|$)", "--noise-from", word) for word in line.words[1:])
    denoise = CommandLine(("denoise", *renamed)).dropping("--save", takes_value=True)
    for flag in ("--json", "--overwrite", "--draw", "--no-draw"):
        denoise = denoise.dropping(flag)
    denoise = denoise.adding("-o", str(goal))
    denoise = denoise.adding("--overwrite") if goal.exists() or _page(goal).exists() else denoise
    same = line.dropping("--save", takes_value=True).dropping("--report", takes_value=True)
    return lambda kind: _step(kind, same, denoise, goal)


def after_denoise(line: CommandLine, goal: Path) -> Callable[[str], CommandLine | None]:
    """Return what to try after `epitomes denoise`, for each kind of doubt; `goal` is the image it wrote."""
    again = line.adding("-o", str(goal)).dropping("--sigma", takes_value=True).adding("--overwrite")
    reported = any(word.split("=")[0] == "--report" for word in line.words)
    return lambda kind: (
        None if reported and kind not in ("growth", "no growth", "moved", "rician") else _step(kind, again, again, goal)
    )


def doubts(noise: Noise, step: Callable[[str], CommandLine | None]) -> list[str]:
    """List the doubts about a noise estimate, each with the command to try next; equal commands are given once."""
    found: dict[str, list[str]] = {}
    for kind, text in zip(noise.doubt_kinds, noise.doubts, strict=True):
        next_step = step(kind) if noise.level > 0 else None
        found.setdefault("" if next_step is None else str(next_step), []).append(text)
    lines = []
    for command, texts in found.items():
        lines += [f"  - {text}" for text in texts]
        lines += [f"    try: {command}"] if command else []
    return lines


def _step(kind: str, same: CommandLine, denoise: CommandLine, goal: Path) -> CommandLine:
    """The command for a kind of doubt: another noise model, one shot, or a report, which shows lost detail."""
    if kind == "moved" and "--no-merge" not in same.words:
        return same.adding("--no-merge")
    if kind == "growth":
        return same.adding("--poisson")
    if kind == "rician" and "--rician" not in same.words:
        return same.dropping("--poisson").adding("--rician")
    if kind == "no growth":
        return same.dropping("--poisson").dropping("--offset", takes_value=True)
    return denoise.adding("--report", str(_page(goal)))


def _page(goal: Path) -> Path:
    return goal.with_suffix(".html")
