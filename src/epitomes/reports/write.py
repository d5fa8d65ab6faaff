"""The page itself: sections of `draw.page`, with a script for the slider and for the epitome, and with the numbers."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from epitomes.draw import Command, Figure, Section, Series, Text, epitome_picture, page, svg_curve, usage_picture
from epitomes.draw._page import Part
from epitomes.epitome import Epitome
from epitomes.files import write_atomically
from epitomes.learn import Fit
from epitomes.reports.figures import as_json, cell, figures, plain, table
from epitomes.reports.pictures import LEAK, Album, Shown, album, shown
from epitomes.reports.story import Story
from epitomes.reports.usage import HELD, Usage, usage

MOST_BYTES = 6_000_000  # of a page
MARGIN = 50_000  # bytes for the words of the page
LEAST_BYTES = 500_000  # of its pictures, however long the rest is


def write_report(path: str | os.PathLike[str], story: Story, *, overwrite: bool = False) -> None:
    """Write the page, all at once or not at all. A file that is there is replaced only if `overwrite` says so."""
    if not isinstance(story, Story):
        raise TypeError(
            f"write_report tells a Story, got {type(story).__name__}: Story(noisy=..., restored=...) makes one"
        )
    content = report(story).encode("utf-8", "replace")  # file names may hold what no text can
    write_atomically(Path(path), content, overwrite=overwrite)


def report(story: Story) -> str:
    """The whole page as text."""
    epitome: Epitome | None = story.restored.epitome
    used = None if epitome is None else usage(story.before, epitome, story.level)
    learned = [] if epitome is None else _epitome(epitome, used)
    curve = [] if story.restored.fit is None else [_curve(story.restored.fit)]
    rest = len(as_json(figures(story, None, used))) + sum(len(part.picture) for part in (*learned, *curve))
    pictures = album(story, max(LEAST_BYTES, (MOST_BYTES - MARGIN - rest) * 3 // 4))
    numbers = figures(story, pictures, used)
    sections = [
        Section("Before and after", _compared(pictures)),
        Section("Can it be believed?", _judged(story, numbers)),
        Section("What was taken away", _taken(story, pictures)),
        Section("The epitome, and where the image uses it", learned),
        Section("How it was learned", curve),
        Section("Numbers", _numbers(numbers)),
        Section("Run it again", [Command(story.command)] if story.command else []),
    ]
    text = page(f"Denoised: {story.name}", [one for one in sections if one.parts], summary=_summary(story))
    return _alive(text, as_json(numbers))


def read_figures(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The numbers that a page of `write_report` holds."""
    text = Path(path).read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', text, re.DOTALL)
    if found is None:
        raise ValueError(f"{path} is no report: it holds no figures; write_report makes such pages")
    values: dict[str, Any] = json.loads(found[1])
    return values


def _summary(story: Story) -> str:
    told = [f"Noise of level {cell(story.level)}, {'given' if story.noise is None else 'found in the image itself'}"]
    if story.noise is not None and not story.noise.reliable:
        told.append(f"but not surely ({story.noise.reason})")
    if story.sure is not None:
        psnr = plain(story.sure.psnr)
        told.append("estimated PSNR " + ("too high to be told" if psnr is None else f"{psnr:.2f} dB"))
    if story.audit is not None:
        told.append("the audit passes" if story.audit.verdict == "pass" else "the audit warns")
    return ", ".join(told) + "." + "".join(f" {note[:1].upper()}{note[1:].rstrip('.')}." for note in story.notes)


def _compared(pictures: Album) -> list[Part]:
    scale = f"black is {cell(pictures.low)}, white is {cell(pictures.high)} in both"
    if pictures.detail is None:
        return [
            _slider("whole", pictures.before, pictures.after, f"Noisy on the left, restored on the right; {scale}.")
        ]
    top, left = pictures.corner
    return [
        _slider(
            "whole",
            pictures.before,
            pictures.after,
            f"Noisy on the left, restored on the right; {scale}. The image is too large for a page: it is shown "
            f"{pictures.factor} times smaller, as means over {pictures.factor} x {pictures.factor} pixels, which hide "
            "most of the noise.",
        ),
        _slider(
            "detail",
            *pictures.detail,
            f"A detail, pixel by pixel, from row {top}, column {left}: here the noise is as it was.",
        ),
    ]


def _slider(name: str, before: Shown, after: Shown, caption: str) -> Figure:
    what = {"whole": "image", "detail": "detail of the image"}[name]
    markup = (
        f'<div class="compare" id="{name}">{before.tag(f"The noisy {what}", "before")}'
        f"{after.tag(f'The restored {what}', 'after')}</div>"
        f'<p class="slide"><label for="{name}-cut">Share of the noisy {what}</label> '
        f'<input type="range" id="{name}-cut" min="0" max="100" value="50"></p>'
    )
    return Figure(markup, caption, "")


def _judged(story: Story, numbers: dict[str, Any]) -> list[Part]:
    parts: list[Part] = []
    if story.audit is None:
        parts.append(Text("The result was not audited."))
    else:
        passed = story.audit.verdict == "pass"
        head = "Pass: what was taken away looks like noise." if passed else "Warning: look at the result with care."
        told = "".join(f"<li>{escape(one)}</li>" for one in (*story.audit.reasons, *story.audit.advice))
        kind = "pass" if passed else "warn"
        markup = f'<div class="verdict {kind}"><strong>{head}</strong>{f"<ul>{told}</ul>" if told else ""}</div>'
        about = "Noise has no structure, and no more and no less of it may be taken than there was."
        parts.append(Figure(markup, about, ""))
    if story.noise is not None:
        parts.append(table("How much noise there was, found in the image", numbers["noise"]))
    if story.sure is not None:
        parts.append(table("How good the result is, estimated without the clean image", numbers["sure"]))
    if story.audit is not None:
        parts.append(table("What the audit measured", numbers["audit"], without=("verdict", "reasons", "advice")))
    return parts


def _taken(story: Story, pictures: Album) -> list[Part]:
    spread = cell(pictures.spread)
    parts: list[Part] = [
        Figure(
            pictures.residual.tag("What was taken away: the noisy minus the restored image"),
            f"The residual, noisy minus restored: grey is 0, black is -{spread}, white is {spread}. No shapes of the "
            "image should be seen.",
            "",
        )
    ]
    if pictures.error is not None:
        caption = f"The estimated error of each pixel: dark is 0, yellow is {cell(pictures.most_error)} and above."
        parts.append(Figure(pictures.error.tag("Map of the estimated error, larger at edges and texture"), caption, ""))
    if pictures.leak is not None:
        caption = (
            f"Structure in the residual, in standard deviations of what noise shows by chance: dark is 0, yellow is "
            f"{LEAK:g}. Above 4 something of the image was taken."
        )
        parts.append(Figure(pictures.leak.tag("Map of the structure that was taken away with the noise"), caption, ""))
    return parts


def _epitome(epitome: Epitome, used: Usage | None) -> list[Figure]:
    phi = epitome.phi
    size, patch = (" x ".join(map(str, shape)) for shape in (phi.epitome_shape, phi.patch_shape))
    about = f"The epitome, {size} pixels. Its {phi.n_atoms} windows of {patch} are the atoms."
    if used is None:
        return [Figure(shown(epitome_picture(epitome)).tag("The epitome"), about, "")]
    every = "every patch" if used.stride == 1 else f"patches {used.stride} pixels apart"
    image = _stage("image", "", "Image: move to see the windows that code a patch")
    drawn = _stage("epitome", shown(used.sheet).tag("The epitome"), "Epitome: move to see where a pixel is used")
    helped = (
        '<p id="usage-help">Point at the image, or move in it with the arrow keys: the windows that code the patch '
        "light up in the epitome. Point at the epitome: all patches that use the pixel light up. Shift moves farther, "
        "Escape clears.</p>"
    )
    said = '<p id="usage-said" role="status">Nothing is chosen.</p>'
    told = f"{about} Shown are the {HELD} weightiest windows of {every}, each coded by itself up to the noise."
    return [
        Figure(f'{helped}<div class="linked">{image}{drawn}</div>{said}', told, ""),
        Figure(
            shown(usage_picture(epitome, used.codes, enlarge=1), small=True).tag("How often each pixel is used"),
            "How often each pixel of the epitome is used: the brighter, the more.",
            "",
        ),
    ]


def _stage(name: str, inside: str, label: str) -> str:
    return (
        f'<div class="stage" id="{name}-stage" tabindex="0" role="application" aria-label="{label}" '
        f'aria-describedby="usage-help">{inside}<canvas aria-hidden="true"></canvas></div>'
    )


def _curve(fit: Fit) -> Figure:
    line = Series("objective", [one.index for one in fit.history], [one.objective for one in fit.history])
    chart = svg_curve([line], title="Objective after each step", x_label="step", y_label="mean per patch")
    about = (
        f"The objective after each step ({fit.reason}). Where steps see different patches, it may rise as well as fall."
    )
    return Figure(chart, about, "")


def _numbers(numbers: dict[str, Any]) -> list[Part]:
    told = ("name", "shape", "dtype", "sigma", "atoms_per_patch", "epitome", "library")
    facts = {name: numbers[name] for name in told}
    facts |= {f"{name} of what was taken away": value for name, value in numbers["residual"].items()}
    tables = [
        table("The image and the result", facts),
        table("Estimated error of the pixels", {**(numbers["error"] or {}), "sure": None}),
        table("Settings", numbers["settings"]),
        table("Seconds", numbers["seconds"]),
    ]
    where = "Programs find all these numbers, and more, as JSON in the element of this file named figures."
    return [*(one for one in tables if one.rows), Text(where)]


def _alive(text: str, data: str) -> str:
    """The page with its script, its looks and its data, and with a policy that lets nothing else run.

    All text of the page is escaped, so that the elements found here are those that were made for it.
    """
    room = files("epitomes.reports")
    looks, script = ((room / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    ends = f'<script type="application/json" id="figures">{data}</script>\n<script>{script}</script>\n</body>'
    text = text.replace("</head>", f"<style>{looks}</style>\n</head>", 1).replace("\n</body>", f"\n{ends}", 1)
    styles = " ".join(sorted({_hash(one) for one in re.findall(r"<style>(.*?)</style>", text, re.DOTALL)}))
    policy = (
        f"default-src 'none'; img-src data:; style-src {styles}; script-src {_hash(script)}; base-uri 'none'; "
        "form-action 'none'"
    )
    meta = r'(<meta http-equiv="Content-Security-Policy" content=")[^"]*'
    return re.sub(meta, lambda found: found[1] + policy, text, count=1)


def _hash(content: str) -> str:
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"
