"""What `from epitomes import *` gives: a promise, so changes here are changes of the interface."""

from __future__ import annotations

import inspect

import epitomes


def test_every_public_name_exists_and_says_what_it_is() -> None:
    assert sorted(epitomes.__all__) == sorted(set(epitomes.__all__))
    for name in epitomes.__all__:
        thing = getattr(epitomes, name)
        if name != "Codes":  # an alias of scipy's csr_array
            assert inspect.getdoc(thing), f"{name} has no docstring"


def test_nothing_public_is_missing() -> None:
    for package in (epitomes.phi, epitomes.coders, epitomes.testing):
        assert set(package.__all__) <= set(epitomes.__all__), package.__name__
