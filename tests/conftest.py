"""Fixtures that every test may use."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    """A fresh generator with a fixed seed: every test sees the same numbers, whatever ran before it."""
    return np.random.default_rng(0)
