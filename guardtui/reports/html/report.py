"""The report of one evaluation as a page: for a browser, from disk, on paper."""

from __future__ import annotations

from guardtui.domain.text import display_start
from guardtui.reports.base import ReportInput
from guardtui.reports.html.charts import ChartRenderer
from guardtui.reports.html.curves import threshold_section
from guardtui.reports.html.definition import definition_section, provenance_section
from guardtui.reports.html.listing import rows_section
from guardtui.reports.html.measured import (
    categories_section,
    clusters_section,
    history_section,
    metrics_section,
    verdict,
)
from guardtui.reports.html.page import Section, page

_NAME = 120  # characters of the topic's name in the title


def write(report: ReportInput) -> str:
    """The whole page. Charts are drawn when the packages of the extra `html` are there."""
    renderer = ChartRenderer()
    sections = [
        Section("Definition", "definition", definition_section(report)),
        Section("Metrics", "metrics", metrics_section(report)),
    ]
    if report.iterations:
        sections.append(Section("History", "history", history_section(report, renderer)))
    sections.append(Section("Threshold", "threshold", threshold_section(report, renderer)))
    if report.by_category:
        sections.append(Section("By category", "categories", categories_section(report)))
    sections.append(Section("Clusters", "clusters", clusters_section(report)))
    sections.append(Section("Prompts", "prompts", rows_section(report)))
    sections.append(Section("Provenance", "provenance", provenance_section(report)))
    name = display_start(report.topic.name, _NAME)
    return page(f"Guardrail topic report: {name}", sections, lead=verdict(report))
