"""JUnit XML in which only regressions fail, for gates that accept known mistakes."""

from __future__ import annotations

from guardtui.reports import junit
from guardtui.reports.base import ReportError, ReportInput


def write(report: ReportInput) -> str:
    """Return the JUnit XML of `junit.write`, with all mistakes except regressions `skipped`.

    Raises ReportError without a baseline, which would let everything pass.
    """
    if report.comparison is None:
        raise ReportError(
            "junit-regressions: there is no baseline, so no mistake is a regression\n"
            "  name a baseline (--baseline), or use the format junit"
        )
    return junit.write(report, only_regressions=True)
