"""Validation: how good a denoised image is and where it is wrong, without the clean image.

`audit` judges any result by its residual. `sure` and `error_map` estimate the error of a denoiser that can be called
again. `flicker` compares the planes of a clip. `psnr` and `ssim` compare with a clean image that is known.
"""

from epitomes.validation._audit import Audit, audit
from epitomes.validation._error_map import ErrorMap, error_map
from epitomes.validation._flicker import Flicker, flicker
from epitomes.validation._probe import Denoiser
from epitomes.validation._psnr import psnr
from epitomes.validation._ssim import ssim
from epitomes.validation._sure import Sure, sure

__all__ = [
    "Audit",
    "Denoiser",
    "ErrorMap",
    "Flicker",
    "Sure",
    "audit",
    "error_map",
    "flicker",
    "psnr",
    "ssim",
    "sure",
]
