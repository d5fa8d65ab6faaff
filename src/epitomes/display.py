"""How values show themselves in notebooks: the one place that looks up instead of down.

Notebooks ask a value for `_repr_html_`. Epitomes, fits and restored images lie below the drawing and do not import it;
they borrow this method, which finds the drawing when it is asked and not before.
"""

from __future__ import annotations

from importlib import import_module


def repr_html(self: object) -> str:
    """HTML that a notebook shows for this value."""
    html: str = import_module("epitomes.notebook").html(self)
    return html
