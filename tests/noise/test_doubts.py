"""Doubts of parts, gathered into those of the whole."""

from __future__ import annotations

import pytest

from epitomes.noise import Noise
from epitomes.noise.combine import Estimate
from epitomes.noise.doubts import Doubt, gather

A, A2, B = Doubt("a", "A is 1."), Doubt("a", "A is 2."), Doubt("b", "B.")


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([()], []),
        ([(A,)], ["A is 1."]),
        ([(), (A,)], ["Channel 1: A is 1."]),
        ([(A,), (A2,)], ["All 2 channels: A is 1."]),
        ([(A,), (), (A2, B)], ["Channels 0 and 2: A is 1.", "Channel 2: B."]),
        ([(A,), (A,), (), (A,)], ["Channels 0, 1 and 3: A is 1."]),
        ([(), (A,), (A,), (A,), (A,)], ["4 of 5 channels: A is 1."]),
    ],
)
def test_one_of_each_kind(parts: list[tuple[Doubt, ...]], expected: list[str]) -> None:
    assert list(map(str, gather(parts, "channel"))) == expected


def test_majority() -> None:
    parts = [(A,), (A,), (A, B), (B,)]
    assert list(map(str, gather(parts, "plane", majority=True))) == ["Planes 0, 1 and 2: A is 1."]


def test_places_within_places() -> None:
    inner = gather([(), (A,)], "channel")
    assert str(gather([(), inner], "image")[0]) == "Image 1, channel 1: A is 1."


def test_kinds_are_kept_for_programs() -> None:
    """Each sentence of an estimate has its kind, also for channels and stacks."""
    estimate = Estimate(Noise(estimated=True), gather([(A,), (A2, B)], "channel"))
    found = estimate.finished()
    assert found.doubts == ("All 2 channels: A is 1.", "Channel 1: B.") and found.doubt_kinds == ("a", "b")
    assert found.as_dict()["doubt_kinds"] == ["a", "b"]
