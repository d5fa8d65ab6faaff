"""Validation without truth: how good is a denoised image, and where is it wrong, from the noisy one alone."""

from epitomes.validation._error_map import ErrorMap, error_map
from epitomes.validation._probe import Denoiser
from epitomes.validation._sure import Sure, sure
from epitomes.validation.residual import Audit, audit

__all__ = ["Audit", "Denoiser", "ErrorMap", "Sure", "audit", "error_map", "sure"]
