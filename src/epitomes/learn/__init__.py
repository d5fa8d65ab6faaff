"""Learning: from patches X to an epitome E, by sparse coding and dictionary steps in turn (paper, sections 3 and 4)."""

from epitomes.learn._alternate import alternate
from epitomes.learn._learn_epitome import learn_epitome
from epitomes.learn._multiscale import Scale, multiscale, scales
from epitomes.learn._natural import natural
from epitomes.learn._online import online
from epitomes.learn.block_coordinate import BlockCoordinate
from epitomes.learn.checkpoint import load_step, save_step
from epitomes.learn.least_squares import LeastSquares
from epitomes.learn.moments import Moments
from epitomes.learn.objective import cost, gradient
from epitomes.learn.start import cosines, random_windows, smooth_noise
from epitomes.learn.steps import Fit, Progress, Step, run
from epitomes.learn.update import Fista, PreconditionedFista, ProjectedGradient, Update, Updated

__all__ = [
    "BlockCoordinate",
    "Fista",
    "Fit",
    "LeastSquares",
    "Moments",
    "PreconditionedFista",
    "Progress",
    "ProjectedGradient",
    "Scale",
    "Step",
    "Update",
    "Updated",
    "alternate",
    "cosines",
    "cost",
    "gradient",
    "learn_epitome",
    "load_step",
    "multiscale",
    "natural",
    "online",
    "random_windows",
    "run",
    "save_step",
    "scales",
    "smooth_noise",
]
