"""Sparse coders: (X, D) -> A. A coder is a small frozen object whose fields are its parameters."""

from epitomes.coders.lasso import Lasso
from epitomes.coders.lasso_lars import LassoLARS
from epitomes.coders.protocol import Coder, Codes
from epitomes.coders.pursuit import OLS, OMP

__all__ = ["OLS", "OMP", "Coder", "Codes", "Lasso", "LassoLARS"]
