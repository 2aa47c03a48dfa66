"""The report on one evaluation for terminals."""

from __future__ import annotations

from guardtui.reports import as_text
from guardtui.reports.base import ReportInput
from guardtui.reports.topic_document import topic_document


def write(report: ReportInput) -> str:
    """Return metrics, counts, what changed, categories and the first mistakes of each kind."""
    return as_text.write(topic_document(report))
