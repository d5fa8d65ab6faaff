"""Pages: one HTML file with everything in it, for light and dark screens, for paper, and for no network at all.

Pictures are data URIs with words for those who cannot see them; there is no script, and the page says so itself to the
browser. All text is escaped.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from epitomes.draw.tones import Bytes
from epitomes.formats import encode_png


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    words: str


@dataclass(frozen=True)
class Command:
    """Lines to type, as they are."""

    lines: str


@dataclass(frozen=True, eq=False)
class Figure:
    """A picture, as pixels or as SVG made by `svg_curve`, with a caption and with words in its place."""

    picture: Bytes | str
    caption: str
    alt: str
    sharp: bool = False  # pixels stay squares when the browser enlarges them: epitomes and dictionaries


@dataclass(frozen=True)
class Table:
    """Rows of cells under column names; cells that are numbers, or words for numbers, stand to the right."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float]]
    n_labels: int = 1  # columns, from the left, that name their row


Part = Text | Command | Figure | Table


@dataclass(frozen=True)
class Section:
    """A heading with its parts; figures that follow each other stand side by side where there is room."""

    heading: str
    parts: Sequence[Part]


def page(title: str, sections: Sequence[Section], *, summary: str = "") -> str:
    """The whole page as text, to be written as UTF-8."""
    marks = [f"section-{number}" for number in range(1, len(sections) + 1)]
    links = "".join(
        f'<li><a href="#{mark}">{escape(one.heading)}</a></li>' for mark, one in zip(marks, sections, strict=True)
    )
    body = "\n".join(_section(mark, one) for mark, one in zip(marks, sections, strict=True))
    lead = f'<p class="summary">{escape(summary)}</p>' if summary else ""
    contents = f'<nav aria-label="Sections"><ul>{links}</ul></nav>' if len(sections) > 1 else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><h1>{escape(title)}</h1>{lead}{contents}</header>
<main id="content">
{body}
</main>
</body>
</html>
"""


def _section(mark: str, one: Section) -> str:
    pieces: list[str] = []
    beside = False
    for part in one.parts:
        if isinstance(part, Figure) != beside:
            pieces.append("</div>" if beside else '<div class="figures">')
            beside = not beside
        pieces.append(_part(part))
    if beside:
        pieces.append("</div>")
    inside = "\n".join(pieces)
    heading = f'<h2 id="{mark}-h">{escape(one.heading)}</h2>'
    return f'<section id="{mark}" aria-labelledby="{mark}-h">{heading}\n{inside}\n</section>'


def _part(part: Part) -> str:
    match part:
        case Text():
            return f"<p>{escape(part.words)}</p>"
        case Command():
            return f'<pre tabindex="0"><code>{escape(part.lines)}</code></pre>'
        case Figure():
            return _figure(part)
        case Table():
            return _table(part)


def _figure(part: Figure) -> str:
    if isinstance(part.picture, str):
        shown, kind = part.picture, ' class="wide"'  # SVG describes itself, by its aria-label
    else:
        height, width = part.picture.shape[:2]
        uri = f"data:image/png;base64,{b64encode(encode_png(part.picture)).decode()}"
        sharp = ' class="sharp"' if part.sharp else ""
        shown, kind = f'<img{sharp} src="{uri}" width="{width}" height="{height}" alt="{escape(part.alt)}">', ""
    return f"<figure{kind}>{shown}<figcaption>{escape(part.caption)}</figcaption></figure>"


def _table(part: Table) -> str:
    for row in part.rows:
        if len(row) != len(part.columns):
            raise ValueError(f"a row of the table {part.caption!r} needs {len(part.columns)} cells, got {len(row)}")
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in part.columns)
    rows = "\n".join(
        f"<tr>{''.join(_cell(cell, number < part.n_labels) for number, cell in enumerate(row))}</tr>"
        for row in part.rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(part.caption)}"><table>'
        f"<caption>{escape(part.caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>"
    )


def _cell(cell: str | int | float, label: bool) -> str:
    kind = ' class="number"' if _is_number(cell) else ""
    return f'<th scope="row"{kind}>{escape(str(cell))}</th>' if label else f"<td{kind}>{escape(str(cell))}</td>"


def _is_number(cell: str | int | float) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell in ("–", "-")  # no number where one could be
    return True


STYLE = """
:root{--paper:#fff;--ink:#1d1d1f;--quiet:#56565c;--line:#d4d4da;--block:#f4f4f6;--link:#0057b8}
@media(prefers-color-scheme:dark){
:root{--paper:#17181b;--ink:#e7e7ea;--quiet:#a9a9b2;--line:#3b3c42;--block:#22242a;--link:#7db8ff}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem clamp(1rem,4vw,3rem) 4rem;max-width:76rem;background:var(--paper);color:var(--ink);
font:1rem/1.55 system-ui,sans-serif}
h1{font-size:1.9rem;line-height:1.2;margin:.5rem 0}
h2{font-size:1.25rem;margin:2.2rem 0 .6rem;border-bottom:1px solid var(--line);padding-bottom:.25rem}
p{max-width:46rem}
.summary{font-size:1.1rem}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.3rem .6rem}
nav ul{list-style:none;padding:0;margin:.5rem 0;display:flex;flex-wrap:wrap;gap:.3rem 1.2rem}
.figures{display:flex;flex-wrap:wrap;gap:1.2rem;align-items:flex-start;margin:1rem 0}
figure{margin:0;max-width:100%}
figure img{max-width:100%;height:auto;display:block}
img.sharp{image-rendering:pixelated}
figcaption{color:var(--quiet);font-size:.92rem;margin-top:.35rem;max-width:42rem}
figure:not(.wide) figcaption{max-width:27rem}
.scroll{overflow-x:auto;margin:1rem 0}
table{border-collapse:collapse}
caption{text-align:left;color:var(--quiet);padding-bottom:.4rem}
th,td{padding:.3rem .9rem .3rem 0;text-align:left;border-bottom:1px solid var(--line);font-weight:normal;
vertical-align:top}
thead th{font-weight:600}
.number{text-align:right;font-variant-numeric:tabular-nums}
pre{background:var(--block);padding:.8rem 1rem;overflow-x:auto;border-radius:.4rem}
@media print{
:root{--paper:#fff;--ink:#000;--quiet:#333;--line:#999;--block:#f4f4f6;--link:#000}
body{padding:0;max-width:none;font-size:10pt}
nav,.skip{display:none}
figure,table,pre{break-inside:avoid}
h2{break-after:avoid}
pre{white-space:pre-wrap}}
"""
