"""Validation without truth: how good is a denoised image, and where is it wrong, from the noisy one alone."""

from epitomes.audit.error_map import ErrorMap, error_map
from epitomes.audit.probe import Denoiser
from epitomes.audit.residual import Audit, audit
from epitomes.audit.sure import Sure, sure

__all__ = ["Audit", "Denoiser", "ErrorMap", "Sure", "audit", "error_map", "sure"]
