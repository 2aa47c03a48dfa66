"""Reports read back as evaluations."""

from __future__ import annotations

from pathlib import Path

from guardtui.domain.evaluation import Evaluation
from guardtui.session.report_reader import evaluation_of_document, read_document


def evaluation_from_report(path: Path) -> Evaluation:
    """Return the evaluation in a JSON report. Raises `RecordedError`."""
    return evaluation_of_document(path, read_document(path))
