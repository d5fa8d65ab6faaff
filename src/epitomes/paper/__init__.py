"""The tables and figures of the paper, measured again: one file each.

`MEMBERS` lists them by name. Each takes a `Setting` and a `Log` of rows and returns a `Report`. `make` runs some of
them and writes pages, images and rows.
"""

from epitomes.paper.photos import Photo, Photos, find_photos
from epitomes.paper.registry import MEMBERS
from epitomes.paper.report import Grid, Report, Setting
from epitomes.paper.rows import Log, Row
from epitomes.paper.write import make

__all__ = ["MEMBERS", "Grid", "Log", "Photo", "Photos", "Report", "Row", "Setting", "find_photos", "make"]
