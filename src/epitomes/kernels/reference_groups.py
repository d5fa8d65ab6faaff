"""Block matching and groups: the NumPy specification of the kernels `match` and `shrink_groups`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epitomes.kernels.protocol import (
    CollaborativeFilter,
    ConditionalMean,
    Groups,
    GroupSettings,
    RidgeCombination,
    Shrinkage,
    WienerFilter,
)

_DEPENDENT = 1e-5  # below this squared distance from the basis, an atom adds nothing


def match(
    image: NDArray[np.float32],
    patch: tuple[int, int, int],
    reach: tuple[int, int, int],
    plane: int,
    tops: NDArray[np.int64],
    lefts: NDArray[np.int64],
    places: NDArray[np.int32],
    distances: NDArray[np.float32],
) -> None:
    """Compare every reference with every patch in its search window."""
    shape = image.shape[1:]
    ends = [size - side for size, side in zip(shape, patch, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(image.astype(np.float64), patch, axis=(1, 2, 3))
    for row, centre in enumerate((plane, int(top), int(left)) for top in tops for left in lefts):
        low = [max(0, at - far) for at, far in zip(centre, reach, strict=True)]
        high = [min(end, at + far) + 1 for end, at, far in zip(ends, centre, reach, strict=True)]
        near = windows[(slice(None), *(slice(a, b) for a, b in zip(low, high, strict=True)))]
        found = ((near - windows[(slice(None), *centre)][:, None, None, None]) ** 2).sum(axis=(0, 4, 5, 6))
        there = np.stack(np.meshgrid(*map(np.arange, low, high), indexing="ij"), axis=-1).reshape(-1, 3)
        index: NDArray[np.intp] = np.asarray(np.ravel_multi_index(tuple(there.T), shape))
        found = found.ravel()
        found[index == np.ravel_multi_index(centre, shape)] = -1.0  # the reference comes first
        order: NDArray[np.intp] = np.argsort(found, kind="stable")[: places.shape[1]]
        n = len(order)
        places[row, :n], distances[row, :n] = index[order], np.maximum(found[order], 0.0)
        places[row, n:], distances[row, n:] = index[order[-1]], np.inf


def shrink_groups(
    groups: Groups, settings: GroupSettings, total: NDArray[np.float32], weight: NDArray[np.float32]
) -> None:
    """Estimate one group after another, in float64."""
    for row, count, level in zip(groups.places, groups.counts, groups.levels, strict=True):
        places = row[:count].astype(np.int64)
        pixels = places[:, None] + groups.offsets
        members, guide = (image[pixels].astype(np.float64) for image in (groups.noisy, groups.guide))
        by: float | NDArray[np.float64]  # of the group, (m,) of its pixels, or (n, 1) of its members
        if isinstance(settings, WienerFilter):
            estimates, by = _filtered(members, guide, settings, float(level) ** 2)
        elif isinstance(settings, RidgeCombination):
            estimates, by = _combined(members, guide, settings, float(level) ** 2)
        elif isinstance(settings, CollaborativeFilter):
            n = 2 ** (len(members).bit_length() - 1)
            while (4 * n * n - 1) // 3 > len(settings.along):
                n //= 2
            estimates, by = _collaborated(members[:n], guide[:n], settings, float(level))
            places = places[:n]
        elif isinstance(settings, ConditionalMean):
            variances = settings.variances[pixels].astype(np.float64)
            estimates, by = _completed(members, guide, variances, float(level) ** 2)[: settings.most], 1.0
            places = places[: settings.most]
        else:
            estimates, by = _shrunk(members, guide, settings, float(level))
        goals = places[:, None] - groups.shift + groups.sum_offsets
        np.add.at(total, goals, (by * estimates).astype(np.float32))
        np.add.at(weight, goals, np.broadcast_to(by, estimates.shape).astype(np.float32))


def _filtered(
    members: NDArray[np.float64], guide: NDArray[np.float64], settings: WienerFilter, variance: float
) -> tuple[NDArray[np.float64], float]:
    """Apply the Wiener filter, by a singular value decomposition. Return estimates and their weight."""
    if settings.flat > 0 and members.var() <= settings.flat * variance:
        return np.full_like(members, members.mean()), 1.0 if settings.even else 0.5
    noise, spread = variance * settings.noise, guide - guide.mean(axis=0)
    system = spread.T @ spread / len(guide) + (1 - settings.in_guide) * noise
    removed = np.linalg.lstsq(system, noise, rcond=None)[0]
    mean = members.mean(axis=0)
    estimates = members - (members - mean) @ removed
    return estimates, 1.0 if settings.even else float(1.0 / (1.0 + len(noise) - np.trace(removed)))


def _combined(
    members: NDArray[np.float64], guide: NDArray[np.float64], settings: RidgeCombination, variance: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Combine members, by an eigenvalue decomposition. Return estimates and the weights of the members."""
    n, m = members.shape
    noise = m * variance
    values, vectors = np.linalg.eigh(guide @ guide.T)
    added = (1 + settings.extra - settings.in_guide) * noise
    removed = (vectors * ((1 + settings.extra) * noise / (np.maximum(values, 0) + added))) @ vectors.T
    if settings.affine:
        sums = removed.sum(axis=1)
        removed = removed - np.outer(sums, sums) / sums.sum()
    factors = np.eye(n) - removed
    return factors @ members, 1.0 / np.clip((factors**2).sum(axis=1, keepdims=True), 1 / n, 1.0)


def _collaborated(
    members: NDArray[np.float64], guide: NDArray[np.float64], settings: CollaborativeFilter, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shrink coefficients, with transforms that are matrices on whole patches. Return estimates and pixel weights."""
    n, m = members.shape
    along = settings.along[(n * n - 1) // 3 :][: n * n].reshape(n, n).astype(np.float64)
    depth = np.eye(m // (len(settings.down) * len(settings.across)))
    there = np.kron(depth, np.kron(settings.down, settings.across).astype(np.float64))
    back = np.kron(depth, np.kron(settings.down_back, settings.across_back).astype(np.float64))
    found, seen = (along @ patches @ there.T for patches in (members, guide))
    factors = seen**2 / (seen**2 + level**2) if settings.wiener else (np.abs(found) > settings.threshold * level) * 1.0
    factors[0, :: m // len(depth)] = 1.0
    return along.T @ (factors * found) @ back.T, settings.window.astype(np.float64) / (factors**2).sum()


def _completed(
    members: NDArray[np.float64], guide: NDArray[np.float64], variances: NDArray[np.float64], added: float
) -> NDArray[np.float64]:
    """Compute the conditional mean of each member given its known pixels, by a singular value decomposition."""
    mean = guide.mean(axis=0)
    covariance = (guide - mean).T @ (guide - mean) / len(guide) + added * np.eye(len(mean))
    estimates = np.tile(mean, (len(members), 1))
    for estimate, member, variance in zip(estimates, members, variances, strict=True):
        known = np.isfinite(variance)
        system = covariance[np.ix_(known, known)] + np.diag(variance[known])
        estimate += np.linalg.lstsq(system, member[known] - mean[known], rcond=None)[0] @ covariance[known]
    return estimates


def _shrunk(
    members: NDArray[np.float64], guide: NDArray[np.float64], shrinkage: Shrinkage, level: float
) -> tuple[NDArray[np.float64], float]:
    """Project on atoms and shrink, by a singular value decomposition. Return estimates and their weight."""
    basis = _chosen(guide[: shrinkage.n_voters], shrinkage, level) if len(shrinkage.atoms) else None
    codes = members if basis is None else members @ basis.T
    mean = codes.mean(axis=0)
    left, values, right = np.linalg.svd(codes - mean, full_matrices=False)
    root, most = np.sqrt(len(members)), np.sqrt(len(members)) + np.sqrt(codes.shape[1])
    four_c = (8.0 * shrinkage.strength * root + shrinkage.edge * most**2) * level**2
    kept = np.where(values**2 > four_c, (values + np.sqrt(np.maximum(values**2 - four_c, 0.0))) / 2.0, 0.0)
    estimates = mean + (left * kept) @ right
    if basis is not None:
        estimates = estimates @ basis
    return estimates, 1.0 / (1.0 + np.count_nonzero(kept)) if shrinkage.by_rank else 1.0


def _chosen(voters: NDArray[np.float64], shrinkage: Shrinkage, level: float) -> NDArray[np.float64] | None:
    """Select atoms greedily by the energy that they explain in all voters; return an orthonormal basis as rows.

    Return None if the remaining error is above the noise level and above the bound.
    """
    basis = shrinkage.base.astype(np.float64)
    left = voters - voters @ basis.T @ basis
    goal = shrinkage.bound * level**2 * len(voters)
    for _ in range(shrinkage.most_atoms):
        if (left**2).sum() <= goal:
            break
        atom = shrinkage.atoms[np.argmax(((left @ shrinkage.atoms.T) ** 2).sum(axis=0))].astype(np.float64)
        atom = atom - atom @ basis.T @ basis
        if atom @ atom <= _DEPENDENT:
            break
        basis = np.vstack([basis, atom / np.sqrt(atom @ atom)])
        left = voters - voters @ basis.T @ basis
    return basis if (left**2).sum() <= max(goal, voters.size * level**2) else None
