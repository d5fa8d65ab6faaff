"""Lists of frames on the command line."""

from __future__ import annotations

import pytest

from epitomes.cli.errors import CommandError
from epitomes.cli.frames import chosen_frames, require_frames


@pytest.mark.parametrize(
    ("words", "frames"),
    [("3", [3]), ("1, 4", [1, 4]), ("2::3", [2, 5]), ("4:", [4, 5, 6, 7]), (":2,7", [0, 1, 7]), ("1:6:2", [1, 3, 5])],
)
def test_numbers_ranges_and_steps(words: str, frames: list[int]) -> None:
    assert [int(k) for k in chosen_frames(require_frames(words), 8).nonzero()[0]] == frames


@pytest.mark.parametrize("words", ["", "a", "1,,2", "-1", "1:2:0", "1.5"])
def test_what_is_no_list(words: str) -> None:
    with pytest.raises(CommandError, match="--frames needs numbers or ranges"):
        require_frames(words)
