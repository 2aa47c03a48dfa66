"""The CSV report with a byte order mark, by which Excel knows that a file is UTF-8."""

from __future__ import annotations

from guardtui.reports import csv_report
from guardtui.reports.base import ReportInput

BYTE_ORDER_MARK = "\ufeff"


def write(report: ReportInput) -> str:
    """Return the CSV report, with a byte order mark before it."""
    return BYTE_ORDER_MARK + csv_report.write(report)
