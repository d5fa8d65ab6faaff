"""The report: one HTML page that shows what was done to an image, and why to believe it.

    from epitomes.reports import Story, write_report

    story = Story(
        noisy=noisy,                  # (height, width) or (height, width, 3), any real dtype
        restored=restored,            # what `denoise` returned for it
        sigma=25.0,                   # the level that was used: a number, one per channel, or a map
        name="scan.tif",              # for people; escaped
        command="epitomes denoise scan.tif -o clean.tif",
        noise=estimate_noise(noisy),  # how sigma was found; left out: it was given
        audit=audit(...), sure=sure(...), error=error_map(...),  # each may be left out
        seconds={"learning": 3.2, "coding": 1.1},
        settings={"method": "epitome", "seed": 0},
        notes=("plane 3 of 12",),
    )
    write_report(path, story, overwrite=False)

`report(story)` is the page as text, and `read_figures(path)` gives back the numbers that a page holds. Of a stack or a
volume, give the plane that is to be shown. All that a page needs is in it: no request leaves it.
"""

from epitomes.reports.story import Story
from epitomes.reports.write import read_figures, report, write_report

__all__ = ["Story", "read_figures", "report", "write_report"]
