"""Identity: whether two phis are the same map, told by their sizes and index tables."""

from __future__ import annotations

import hashlib

from epitomes.phi import GatherPhi, Phi


def identity(phi: Phi) -> dict[str, object]:
    """Return sizes and a digest of the index table and the support; the digest is None for a phi without a table."""
    table = None
    if isinstance(phi, GatherPhi):
        mask = b"" if phi.support is None else phi.support.tobytes()
        table = hashlib.sha256(mask + phi.index.astype("<i8", copy=False).tobytes()).hexdigest()
    return {
        "epitome_shape": list(phi.epitome_shape),
        "patch_shape": list(phi.patch_shape),
        "n_atoms": phi.n_atoms,
        "patch_size": phi.patch_size,
        "table": table,
    }
