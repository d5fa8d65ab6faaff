"""The non-local method: groups of similar patches are estimated together, in passes that refine one another."""

from epitomes.restoration.non_local.correction import RegressionPass, WienerPass
from epitomes.restoration.non_local.method import NonLocal
from epitomes.restoration.non_local.passes import AdaptPass, AtomsPass, FeedbackPass, Pass

__all__ = ["AdaptPass", "AtomsPass", "FeedbackPass", "NonLocal", "Pass", "RegressionPass", "WienerPass"]
