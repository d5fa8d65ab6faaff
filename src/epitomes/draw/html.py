"""HTML from templates: pages that hold everything they show.

Templates, styles and scripts are in `epitomes/templates`. Jinja2 escapes every value. The content security policy of a
page names its style and its script by hash, so a browser runs nothing else, and no request leaves the page.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from epitomes.draw.tones import Bytes
from epitomes.formats import encode_png

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

Cell = str | int | float
QUALITY = 88  # of JPEG


@dataclass(frozen=True)
class EmbeddedImage:
    """A PNG file inside a page, or one of another kind, with its size on the page."""

    png: bytes
    width: int  # CSS pixels
    height: int
    sharp: bool = False  # enlarged pixels stay squares
    kind: str = "png"

    @property
    def uri(self) -> str:
        """The file as a data URI."""
        return f"data:image/{self.kind};base64,{b64encode(self.png).decode()}"


@dataclass(frozen=True)
class Table:
    """A table of a page. Numeric cells are aligned right; the first `n_labels` columns name the row."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    n_labels: int = 1

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.caption!r} needs {len(self.columns)} cells in each row, got {len(row)}")


def embed(pixels: Bytes, *, zoom: int = 1, sharp: bool = False) -> EmbeddedImage:
    """Encode pixels for a page; each is shown as a square of `zoom` CSS pixels."""
    height, width = pixels.shape[:2]
    return EmbeddedImage(encode_png(np.ascontiguousarray(pixels)), width * zoom, height * zoom, sharp)


def embed_photo(pixels: Bytes) -> EmbeddedImage:
    """Encode pixels for a page as JPEG, for many images that need not be exact."""
    from PIL import Image

    content, (height, width) = BytesIO(), pixels.shape[:2]
    Image.fromarray(np.ascontiguousarray(pixels)).save(content, "JPEG", quality=QUALITY, subsampling=0)
    return EmbeddedImage(content.getvalue(), width, height, kind="jpeg")


def page(
    template: str, values: Mapping[str, object], *, styles: Sequence[str] = (), scripts: Sequence[str] = ()
) -> str:
    """Render a page with `base.css`, other styles and scripts inside it, and a policy that allows nothing else."""
    style, script = "\n".join(map(_asset, ("base.css", *styles))), "\n".join(map(_asset, scripts))
    allowed = [f"style-src {_digest(style)}", *([f"script-src {_digest(script)}"] if script else [])]
    policy = "; ".join(["default-src 'none'", "img-src data:", *allowed, "base-uri 'none'", "form-action 'none'"])
    return render(template, {**values, "style": style, "script": script, "policy": policy})


def render(template: str, values: Mapping[str, object]) -> str:
    """Fill in a template; every value is escaped."""
    return _environment().get_template(template).render(values)


def fragment(template: str, values: Mapping[str, object]) -> Markup:
    """Render a part of a page, marked as safe so that the page does not escape it again."""
    from markupsafe import Markup

    return Markup(render(template, values))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("epitomes"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.policies["json.dumps_kwargs"] = {"allow_nan": False}
    made.tests["numeric"] = is_numeric
    return made


def is_numeric(cell: Cell) -> bool:
    """Whether a cell is a number, or a dash in place of one."""
    try:
        float(cell)
    except ValueError:
        return cell in ("–", "-")
    return True


def _asset(name: str) -> str:
    return (files("epitomes") / "templates" / name).read_text(encoding="utf-8")


def _digest(content: str) -> str:
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"
