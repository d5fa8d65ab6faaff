"""What the races of coders share: run the rivals in turn, and fill the columns that do not depend on the race."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from scipy.sparse import csr_array

from benchmarks import timing
from benchmarks.options import Options
from benchmarks.pictures import Picture
from benchmarks.record import Race
from benchmarks.rivals import Rival
from benchmarks.timing import Lap


@dataclass(frozen=True, eq=False)
class Finish:
    """Times of a rival, scaled to all patches, and its codes."""

    rival: Rival
    lap: Lap[Any]
    codes: csr_array

    @property
    def peer_patches(self) -> int | None:
        """Number of patches, if only a sample was coded."""
        return None if self.rival.chosen is None else len(self.rival.chosen)


def race(rivals: list[Rival], n_patches: int, options: Options) -> dict[str, Finish]:
    """Run every rival once per round. Codes are converted outside the timing."""
    laps = timing.interleave(
        {rival.name: rival.run for rival in rivals},
        rounds=options.rounds,
        clock=timing.clock_name(options.threads),
        patience=options.patience,
    )
    done = {}
    for rival in rivals:
        lap = laps[rival.name]
        share = 1.0 if rival.chosen is None else n_patches / len(rival.chosen)
        done[rival.name] = Finish(rival, lap.scaled(share), rival.codes(lap.result))
    return done


def row(name: str, ours: Finish, peer: Finish, picture: Picture, options: Options, epitome: str, seed: int) -> Race:
    """Make the row of one pair; a race adds its own columns with `dataclasses.replace`."""
    return Race(
        race=name,
        image=picture.name,
        method=ours.rival.name,
        peer=peer.rival.name,
        ratio=timing.ratio(peer.lap, ours.lap),
        seconds=ours.lap.seconds,
        peer_seconds=peer.lap.seconds,
        paired_ratio=timing.paired_ratio(peer.lap, ours.lap),
        rounds=len(ours.lap.rounds),
        clock=timing.clock_name(options.threads),
        threads=options.threads,
        n_patches=ours.codes.shape[0],
        pictures=picture.source,
        epitome=epitome,
        seed=seed,
        peer_patches=peer.peer_patches,
    )


replace = dataclasses.replace
