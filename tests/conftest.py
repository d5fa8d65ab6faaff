"""Fixtures and options that every test may use."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    """A fresh generator with a fixed seed: every test sees the same numbers, whatever ran before."""
    return np.random.default_rng(0)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", action="store_true", help="leave out slow and serial tests, and all but the first case of the others"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--quick`, keep one case of each test: `make quick` looks at everything once, `make test` at all of it."""
    if not config.getoption("quick"):
        return
    first: dict[str, pytest.Item] = {}
    for item in items:
        if not any(item.iter_markers("slow")) and not any(item.iter_markers("serial")):
            first.setdefault(item.nodeid.split("[")[0], item)
    kept = set(first.values())
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = first.values()
