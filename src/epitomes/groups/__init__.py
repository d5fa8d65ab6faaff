"""Groups of similar patches: found by block matching, estimated together, put back into the image."""

from epitomes.groups._estimate import estimate
from epitomes.groups.collaborative import Collaborative
from epitomes.groups.matching import Matching
from epitomes.groups.ridge import Ridge
from epitomes.groups.shrinkage import LowRank, SharedAtoms, Shrinker
from epitomes.groups.wiener import Wiener

__all__ = ["Collaborative", "LowRank", "Matching", "Ridge", "SharedAtoms", "Shrinker", "Wiener", "estimate"]
