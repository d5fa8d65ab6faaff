"""Checks of phi and coders, for those of the library and for your own, and the self-test of an installation."""

from epitomes.testing.coder import check_coder
from epitomes.testing.phi import check_phi
from epitomes.testing.self_test import Extra, Installation, installation, run_self_test

__all__ = ["Extra", "Installation", "check_coder", "check_phi", "installation", "run_self_test"]
