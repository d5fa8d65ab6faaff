"""Learning: from patches X to an epitome E, codes and dictionary steps in turn (paper, sections 3 and 4)."""

from epitomes.learn.alternate import alternate
from epitomes.learn.moments import Moments
from epitomes.learn.multiscale import Scale, multiscale, scales
from epitomes.learn.objective import cost, gradient
from epitomes.learn.online import online
from epitomes.learn.steps import Fit, Progress, Step, run
from epitomes.learn.update import Fista, PreconditionedFista, ProjectedGradient, Update, Updated

__all__ = [
    "Fista",
    "Fit",
    "Moments",
    "PreconditionedFista",
    "Progress",
    "ProjectedGradient",
    "Scale",
    "Step",
    "Update",
    "Updated",
    "alternate",
    "cost",
    "gradient",
    "multiscale",
    "online",
    "run",
    "scales",
]
