"""The report of one evaluation as a page, with its charts."""

from __future__ import annotations

from guardtui.reports.base import ReportInput
from guardtui.reports.html import as_page
from guardtui.reports.html.charts import ChartRenderer
from guardtui.reports.html.curves import threshold_section
from guardtui.reports.html.rates_chart import rates_chart
from guardtui.reports.topic_document import topic_document


def write(report: ReportInput) -> str:
    """Return the page. Charts need the packages of the extra `html`."""
    renderer = ChartRenderer()
    drawn = {
        "history": rates_chart(report, renderer),
        "threshold": threshold_section(report, renderer),
    }
    return as_page.write(topic_document(report), drawn)
