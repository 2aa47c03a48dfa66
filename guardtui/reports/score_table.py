"""Scores of outputs for terminals."""

from __future__ import annotations

from guardtui.reports import as_text
from guardtui.reports.score_base import ScoreReport
from guardtui.reports.score_document import score_document


def write(report: ScoreReport) -> str:
    """Return what was scored, the metrics of each scorer, its groups, and the first errors."""
    return as_text.write(score_document(report))
