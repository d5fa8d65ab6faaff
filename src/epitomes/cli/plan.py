"""From the options of `epitomes learn` to a learner of the library, new or gone on with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from epitomes.cli.errors import tell
from epitomes.cli.starts import Start, start_of

if TYPE_CHECKING:
    from epitomes.checks import Array
    from epitomes.learn import Progress, Scale, Step
    from epitomes.patches import Patches

MOST_ROWS = 1_000_000  # patches of several pictures that are kept in memory


@dataclass(frozen=True)
class Plan:
    """What the options say of the epitome and of the way to it."""

    width: int
    count: int
    patch: int
    start: Start
    lam: float
    steps: int
    sample: int | None
    n_scales: int
    online: bool
    seed: int
    threads: int | None

    def shapes(self, image: Array) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Of epitome and patch, for pictures with the axes of this one."""
        colours = image.shape[2:]
        lead = (self.count,) if self.count > 1 else ()
        return (*lead, self.width, self.width, *colours), (self.patch, self.patch, *colours)

    def scales(self, image: Array) -> tuple[Scale, ...]:
        """The scales, coarsest first; steps are shared among them, and the coarsest takes what is left over."""
        from epitomes.learn import scales

        each, left = divmod(self.steps, self.n_scales)
        return scales(*self.shapes(image), lam=self.lam, n_steps=[each + left, *[each] * (self.n_scales - 1)])


def steps_of(plan: Plan, pictures: list[Array], after: Step | None) -> Iterator[Step]:
    """The learner that the options ask for."""
    from epitomes.coders import Lasso
    from epitomes.learn import alternate, multiscale, online
    from epitomes.phi import windows

    image = pictures[0]
    epitome_shape, patch_shape = plan.shapes(image)
    if plan.n_scales > 1:
        scales = plan.scales(image)
        coarsest = windows(scales[0].epitome_shape, scales[0].patch_shape)
        natural = plan.start in (Start.natural, Start.data)  # of full size, and reduced as the picture is
        phi = windows(epitome_shape, patch_shape) if natural else coarsest
        first = start_of(plan.start, phi, image, plan.seed)
        return multiscale(
            image, first, scales=scales, sample=plan.sample, rng=plan.seed, after=after, threads=plan.threads
        )
    first = start_of(plan.start, windows(epitome_shape, patch_shape), image, plan.seed)
    patches, coder = _patches(pictures, patch_shape, plan.seed), Lasso(lam=plan.lam)
    if plan.online:
        return online(
            patches,
            first,
            coder=coder,
            batch=plan.sample or 2048,
            rng=plan.seed,
            after=after,
            threads=plan.threads,
        )
    return alternate(patches, first, coder=coder, sample=plan.sample, rng=plan.seed, after=after, threads=plan.threads)


def resumed(plan: Plan, pictures: list[Array], checkpoint: Path) -> tuple[Step | None, tuple[Progress, ...]]:
    """The step to go on from and what was done before; neither where there is no checkpoint yet."""
    from epitomes.learn.checkpoint import load_history, load_step
    from epitomes.phi import windows

    if not checkpoint.exists():
        tell(f"there is no {checkpoint} yet: beginning anew")
        return None, ()
    epitome_shape, patch_shape = plan.shapes(pictures[0])
    if plan.n_scales > 1:
        scales = plan.scales(pictures[0])
        reached = scales[min(load_history(checkpoint)[-1].scale, len(scales) - 1)]
        epitome_shape, patch_shape = reached.epitome_shape, reached.patch_shape
    return load_step(checkpoint, windows(epitome_shape, patch_shape))


def _patches(pictures: list[Array], patch_shape: tuple[int, ...], seed: int) -> Patches | Array:
    """Patches of one picture as they are; of several as rows, at most MOST_ROWS of them."""
    import numpy as np

    from epitomes.patches import Patches

    sources = [Patches(image, patch_shape) for image in pictures]
    if len(sources) == 1:
        return sources[0]
    total = sum(map(len, sources))
    if total > MOST_ROWS:
        tell(f"{MOST_ROWS} of the {total} patches are used, drawn at random")
    share = min(1.0, MOST_ROWS / total)
    random = np.random.default_rng(seed)
    chosen = [random.choice(len(one), max(1, int(share * len(one))), replace=False) for one in sources]
    return np.concatenate([one.at_index(np.sort(rows))[0] for one, rows in zip(sources, chosen, strict=True)])
