"""The laws as functions: prove them on our operators and coders, and on your own."""

from epitomes.testing.coder import check_coder
from epitomes.testing.phi import check_phi

__all__ = ["check_coder", "check_phi"]
