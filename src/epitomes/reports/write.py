"""Write a report, and read its numbers back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epitomes.draw import EmbeddedImage, Series, epitome_picture, page, svg_curve, usage_picture
from epitomes.epitome import Epitome
from epitomes.files import write_atomically
from epitomes.learn import Fit
from epitomes.reports.data import ReportData
from epitomes.reports.figures import evidence_tables, figures, setting_tables
from epitomes.reports.pictures import LEAK, NARROW, WIDE, album, embed_enlarged
from epitomes.reports.planes import views
from epitomes.reports.summary import number, sentence, summarise
from epitomes.reports.usage import HELD, Usage, usage

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_BYTES = 6_000_000  # of a page
MARGIN = 80_000  # bytes for the words, the style and the script of the page
LEAST_BYTES = 500_000  # of its images, however long the rest is
FIGURES = '<script type="application/json" id="figures">'  # opens the element with the numbers, in report.html


def write_report(path: str | os.PathLike[str], data: ReportData, *, overwrite: bool = False) -> None:
    """Write an HTML report about a denoised image.

    The page opens with a verdict, four figures, and the image before and after. It holds everything it shows, works
    offline, and sends no request.

    Parameters
    ----------
    path : path-like
        File to write. It is written completely or not at all.
    data : ReportData
        Content of the report.
    overwrite : bool, optional
        Whether an existing file may be replaced.

    Raises
    ------
    FileExistsError
        If the file exists and `overwrite` is False.
    TypeError
        If `data` is not a ReportData.

    See Also
    --------
    report_html : The same page as a string.
    read_figures : Read the numbers of a report.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from epitomes.reports import ReportData, read_figures, write_report
    >>> noisy = np.random.default_rng(0).normal(100.0, 5.0, (32, 32))
    >>> data = ReportData(noisy=noisy, restored=np.full((32, 32), 100.0), sigma=5.0, name="flat.png")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(Path(folder) / "flat.html", data)
    ...     read_figures(Path(folder) / "flat.html")["verdict"]
    'check'
    """
    if not isinstance(data, ReportData):
        raise TypeError(
            f"data must be a ReportData, got {type(data).__name__}: make one with ReportData(noisy=..., ...)"
        )
    content = report_html(data).encode("utf-8", "replace")  # file names may hold bytes that are no text
    write_atomically(Path(path), content, overwrite=overwrite)


def report_html(data: ReportData) -> str:
    """Make an HTML report about a denoised image.

    Parameters
    ----------
    data : ReportData
        Content of the report.

    Returns
    -------
    str
        The whole page, to be stored as UTF-8.

    See Also
    --------
    write_report : Write the page to a file.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.reports import ReportData, report_html
    >>> noisy = np.random.default_rng(0).normal(100.0, 5.0, (32, 32))
    >>> text = report_html(ReportData(noisy=noisy, restored=noisy, sigma=5.0, name="flat.png"))
    >>> "<title>flat.png</title>" in text, "Nothing removed" in text
    (True, True)
    """
    summary = summarise(data)
    sigma = data.level or float((data.before - data.after).std())
    used = None if data.epitome is None else usage(data.before, data.epitome, sigma)
    numbers = figures(data, summary, used)
    rest = MARGIN + len(json.dumps(numbers))
    room = max(LEAST_BYTES, (MOST_BYTES - rest) * 3 // 4)  # base64 takes four bytes for three
    pictures = album(data, room if data.volume is None else room // 2)
    planes = [] if data.volume is None else views(data.volume, pictures.low, pictures.high, room // 2)
    numbers["picture"] = {"factor": pictures.factor, "black": pictures.low, "white": pictures.high}
    values = {
        "data": data,
        "summary": summary,
        "album": pictures,
        "planes": planes,
        "sources": [view.as_dict() for view in planes],
        "scale": {name: number(getattr(pictures, name)) for name in ("low", "high", "spread", "most_error")},
        "most_leak": number(LEAK),
        "notes": [*map(sentence, data.notes)],
        "plan": [*map(sentence, data.plan)],
        "phi": None if data.epitome is None else data.epitome.phi,
        "epitome": None if data.epitome is None else _drawn(data.epitome, used),
        "usage": used,
        "usage_map": None if data.epitome is None or used is None else _usage_map(data.epitome, used),
        "held": HELD,
        "curve": None if data.fit is None else _curve(data.fit),
        "evidence": evidence_tables(numbers),
        "facts": setting_tables(numbers),
        "figures": numbers,
    }
    return page("report.html", values, styles=["report.css"], scripts=["viewer.js", "usage.js", "planes.js"])


def read_figures(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the numbers of a report.

    Parameters
    ----------
    path : path-like
        A file written by `write_report`.

    Returns
    -------
    dict
        All numbers of the page as plain values: ``"verdict"``, ``"sigma"``, ``"noise"``, ``"gain"``, ``"audit"``,
        ``"settings"``, ``"seconds"`` and more.

    Raises
    ------
    ValueError
        If the file is not a report.

    See Also
    --------
    write_report : Write a report.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from epitomes.reports import ReportData, read_figures, write_report
    >>> image = np.zeros((16, 16))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(Path(folder) / "report.html", ReportData(noisy=image, restored=image, sigma=2.0))
    ...     read_figures(Path(folder) / "report.html")["sigma"]
    2.0
    """
    text = Path(path).read_text(encoding="utf-8")
    _, found, rest = text.partition(FIGURES)
    if not found:
        raise ValueError(f"{path} is not a report: it holds no figures; write_report makes such pages")
    values: dict[str, Any] = json.loads(rest.partition("</script>")[0])
    return values


def _drawn(epitome: Epitome, used: Usage | None) -> EmbeddedImage:
    return embed_enlarged(epitome_picture(epitome) if used is None else used.sheet, WIDE)


def _usage_map(epitome: Epitome, used: Usage) -> EmbeddedImage:
    return embed_enlarged(usage_picture(epitome, used.codes, enlarge=1), NARROW)


def _curve(fit: Fit) -> Markup:
    line = Series("objective", [one.index for one in fit.history], [one.objective for one in fit.history])
    return svg_curve([line], title="Objective after each step", x_label="step", y_label="mean per patch")
