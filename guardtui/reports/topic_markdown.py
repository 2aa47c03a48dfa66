"""The report on one evaluation as Markdown."""

from __future__ import annotations

from guardtui.reports import as_markdown
from guardtui.reports.base import ReportInput
from guardtui.reports.topic_document import topic_document


def write(report: ReportInput) -> str:
    """Return the whole report; lists of prompts are cut, and say how many are left out."""
    return as_markdown.write(topic_document(report))
