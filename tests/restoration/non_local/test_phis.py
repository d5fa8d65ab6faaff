"""Every phi: the non-local method codes with the atoms of exactly this phi, or refuses it before any work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import phi_cases
import pytest
from restoration_cases import Doubles, grey, white_noise, with_noise

from epitomes import Epitome, restore
from epitomes.groups import SharedAtoms
from epitomes.phi import GatherPhi, Phi, flat, turned, union, windows
from epitomes.phi._windows import spatial_axes
from epitomes.restoration import NonLocal, _restore
from epitomes.restoration.non_local import method, passes
from epitomes.restoration.non_local.passes import atoms_of, coding_patches
from epitomes.restoration.patchwise import coding, strong_noise

SIGMA = 25.0
NOISY = with_noise(grey("camera", 40), SIGMA)
Patch = tuple[int, int]

NOT_USABLE = {
    name: phi
    for name, phi in phi_cases.NAMED.items()
    if len(phi.patch_shape) != 2 or getattr(phi, "support", None) is not None or phi.patch_size == 1
}
VOLUMETRIC = [
    name
    for name, phi in NOT_USABLE.items()
    if isinstance(phi, GatherPhi) and phi.support is None and spatial_axes(phi) == 3
]
USABLE = {name: phi for name, phi in phi_cases.NAMED.items() if name not in NOT_USABLE}

RESIZED: dict[str, Callable[[Patch], Phi]] = {
    "single": lambda patch: windows((20, 20), patch),
    "several": lambda patch: windows((5, 12, 12), patch),
    "oblong": lambda patch: windows((9, 15), patch),
    "periodic": lambda patch: windows((12, 12), patch, border="periodic"),
    "several periodic": lambda patch: windows((3, 9, 10), patch, border="periodic"),
    "periodic rows": lambda patch: windows((9, 10), patch, border=("periodic", "valid")),
    "turned": lambda patch: turned(windows((14, 14), patch)),
    "turned several": lambda patch: turned(windows((3, 9, 10), patch)),
    "flipped": lambda patch: turned(windows((10, 12), patch), quarter_turns=False),
    "quarter turns": lambda patch: turned(windows((10, 12), patch), flips=False),
    "shift-invariant": lambda patch: windows((6, 7, 7), patch),
    "union of shapes": lambda patch: union(
        windows((20, 9), patch), windows((2, 8, 8), patch), windows((5, 6, 6), patch)
    ),
    "union with turned": lambda patch: union(turned(windows((9, 9), patch)), windows((7, 7), patch, border="periodic")),
}
"""The same phi for other patches; those that are not here have atoms of one size."""


def epitome_of(phi: Phi) -> Epitome:
    return Epitome(np.random.default_rng(3).standard_normal(phi.epitome_shape), phi)


class Watch:
    """The atoms that the pilot and the passes code with."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pilot: list[Doubles] = []
        self.passes: list[tuple[Patch, Doubles]] = []
        averaged, estimate = coding.averaged, passes.estimate

        def code(patches: Any, guide: Any, coder: Any, dictionary: Any, *given: Any) -> Any:
            self.pilot.append(dictionary.atoms)
            return averaged(patches, guide, coder, dictionary, *given)

        def share(noisy: Any, **given: Any) -> Any:
            if isinstance(given["shrinker"], SharedAtoms):
                self.passes.append((given["matching"].patch[1:], given["shrinker"].atoms))
            return estimate(noisy, **given)

        monkeypatch.setattr(coding, "averaged", code)
        monkeypatch.setattr(passes, "estimate", share)


@pytest.mark.parametrize("name", USABLE)
def test_its_own_atoms_are_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    phi = USABLE[name]
    epitome, watch = epitome_of(phi), Watch(monkeypatch)
    found = restore(NOISY, SIGMA, epitome=epitome, threads=1)
    assert found.epitome is epitome and np.isfinite(found.image).all()
    assert len(watch.pilot) == 1 and len(watch.passes) in (2, 3)
    own = phi(epitome.pixels)
    np.testing.assert_allclose(watch.pilot[0], own, rtol=1e-6)
    for patch, atoms in watch.passes:
        expected = own if patch == phi.patch_shape else RESIZED[name](patch)(epitome.pixels)
        np.testing.assert_allclose(atoms, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["turned", "periodic", "union with turned", "flat", "sub-pixel", "matrix"])
def test_best_adapts_it(name: str) -> None:
    epitome = epitome_of(USABLE[name])
    found = restore(NOISY, SIGMA, method=NonLocal(preset="best", epitome=epitome), threads=1)
    assert found.epitome is not None and found.epitome.phi is epitome.phi
    assert not np.array_equal(found.epitome.pixels, epitome.pixels) and np.isfinite(found.image).all()


@pytest.mark.parametrize("name", RESIZED)
def test_atoms_of_other_sizes(name: str) -> None:
    epitome = epitome_of(USABLE[name])
    for patch in ((5, 5), (4, 6), (6, 4)):
        if coding_patches([patch], epitome) == [patch]:
            np.testing.assert_array_equal(atoms_of(epitome, patch), RESIZED[name](patch)(epitome.pixels))
    assert coding_patches([(5, 5)], epitome) == [(5, 5)]


@pytest.mark.parametrize("name", [name for name in USABLE if "periodic" not in name])
def test_sizes_that_do_not_fit_are_not_asked_for(name: str) -> None:
    phi = USABLE[name]
    assert coding_patches([(60, 60), (3, 3)], epitome_of(phi)) == [phi.patch_shape]


def test_single_atoms_are_not_cut() -> None:
    """A flat dictionary has the atoms it has: windows of them would be another dictionary."""
    epitome = epitome_of(flat(30, (8, 8)))
    assert coding_patches([(6, 6), (10, 10)], epitome) == [(8, 8)]
    assert atoms_of(epitome, (8, 8)) is epitome.dictionary.atoms


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: Any, **__: Any) -> None:
        raise AssertionError("work was done before the epitome was refused")

    for module, name in (
        (_restore, "estimate_noise"),
        (coding, "averaged"),
        (strong_noise, "coded"),
        (method, "coded"),
        (method, "to_planar"),
        (passes, "estimate"),
    ):
        monkeypatch.setattr(module, name, work)


@pytest.mark.parametrize("name", NOT_USABLE)
def test_what_cannot_be_used_is_refused_first(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid(monkeypatch)
    epitome = epitome_of(NOT_USABLE[name])
    with pytest.raises(ValueError, match=r"the non-local method needs .*leave epitome out to use a shipped one"):
        restore(white_noise((40, 40)), epitome=epitome)
    if name not in VOLUMETRIC:
        with pytest.raises(ValueError, match=r"the non-local method needs"):
            NonLocal(epitome=epitome)


@pytest.mark.parametrize("name", VOLUMETRIC)
@pytest.mark.parametrize("preset", ["fast", "best"])
def test_volumes_are_coded_with_windows_of_volumes(name: str, preset: str) -> None:
    epitome = epitome_of(NOT_USABLE[name])
    clean = 9 * np.sin(np.indices((7, 20, 21)).sum(axis=0) / 2)
    volume = clean + white_noise(clean.shape)
    found = restore(volume, 1.0, method=NonLocal(preset=preset, epitome=epitome, planes="still"), threads=1)
    assert found.epitome is epitome and found.plan.planes == 1
    assert np.std(found.image - clean) < 0.8
    without = restore(volume, 1.0, method=NonLocal(preset=preset, planes="still"), threads=1)
    assert not np.array_equal(found.image, without.image)


def test_the_lists_are_not_empty() -> None:
    assert len(USABLE) > 20 and len(NOT_USABLE) > 10 and set(RESIZED) < set(USABLE)
