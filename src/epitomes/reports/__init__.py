"""HTML reports: one page that shows a denoised image, what was done to it, and whether to trust it.

>>> from epitomes.reports import ReportData, write_report
"""

from epitomes.reports.comparison_page import Exhibit, write_comparison
from epitomes.reports.data import ReportData
from epitomes.reports.write import read_figures, report_html, write_report

__all__ = ["Exhibit", "ReportData", "read_figures", "report_html", "write_comparison", "write_report"]
