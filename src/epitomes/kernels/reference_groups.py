"""Block matching and groups: the NumPy specification of the kernels `match` and `shrink_groups`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epitomes.kernels.protocol import ConditionalMean, Groups, GroupSettings, Shrinkage, WienerFilter

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
        if isinstance(settings, WienerFilter):
            estimates, by = _filtered(members, guide, float(level) ** 2 * settings.noise)
        elif isinstance(settings, ConditionalMean):
            variances = settings.variances[pixels].astype(np.float64)
            estimates, by = _completed(members, guide, variances, float(level) ** 2)[: settings.most], 1.0
            places = places[: settings.most]
        else:
            estimates, by = _shrunk(members, guide, settings, float(level))
        goals = places[:, None] - groups.shift + groups.sum_offsets
        np.add.at(total, goals, (by * estimates).astype(np.float32))
        np.add.at(weight, goals, np.float32(by))


def _filtered(
    members: NDArray[np.float64], guide: NDArray[np.float64], noise: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Apply the Wiener filter, by a singular value decomposition. Return estimates and their weight."""
    spread = guide - guide.mean(axis=0)
    removed = np.linalg.lstsq(spread.T @ spread / len(guide) + noise, noise, rcond=None)[0]
    mean = members.mean(axis=0)
    estimates = members - (members - mean) @ removed
    return estimates, float(1.0 / (1.0 + len(noise) - np.trace(removed)))


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

    Return None if the remaining error is above the noise level.
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
    return basis if (left**2).sum() <= voters.size * level**2 else None
