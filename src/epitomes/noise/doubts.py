"""Doubts: short sentences that say why an estimate may be wrong, gathered over channels, planes and images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

MAX_LISTED = 3  # numbers of channels or images that are listed; more are counted


@dataclass(frozen=True)
class Doubt:
    """One reason for doubt."""

    kind: str  # equal for doubts that differ only in their numbers
    text: str  # a sentence
    where: str = ""  # which channels, planes or images it concerns; empty: the whole

    def __str__(self) -> str:
        return f"{self.where[:1].upper()}{self.where[1:]}: {self.text}" if self.where else self.text


Doubts = tuple[Doubt, ...]


def gather(parts: Sequence[Doubts], noun: str, *, majority: bool = False) -> Doubts:
    """The doubts of all parts, one of each kind, with the parts it concerns.

    With `majority`, only doubts that more than half of the parts share.
    """
    found: dict[str, list[int]] = {}
    for number, doubts in enumerate(parts):
        for kind in dict.fromkeys(doubt.kind for doubt in doubts):
            found.setdefault(kind, []).append(number)
    gathered = []
    for kind, numbers in found.items():
        if majority and 2 * len(numbers) <= len(parts):
            continue
        first = next(doubt for doubt in parts[numbers[0]] if doubt.kind == kind)
        places = [_which(numbers, len(parts), noun), first.where]
        gathered.append(replace(first, where=", ".join(place for place in places if place)))
    return tuple(gathered)


def _which(numbers: list[int], total: int, noun: str) -> str:
    if total == 1:
        return ""
    if len(numbers) == total:
        return f"all {total} {noun}s"
    if len(numbers) == 1:
        return f"{noun} {numbers[0]}"
    if len(numbers) <= MAX_LISTED:
        return f"{noun}s {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
    return f"{len(numbers)} of {total} {noun}s"
