"""The log of iterations, results.tsv, a format shared with other tools."""

from __future__ import annotations

import re

from guardtui.domain.text import display_text, starts_formula
from guardtui.reports.base import ReportInput
from guardtui.session.session import Iteration

HEADER = ("iteration", "coverage", "tpr", "tnr", "f1", "status", "description", "examples")

_BREAKS = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")


def write(report: ReportInput) -> str:
    """Return a row per iteration, oldest first: three decimals, examples joined by "|".

    In this format, which is another tool's, an undefined rate is 0. Line ends and control
    characters in texts are blanks, other invisible characters are signs, and a "'" stands before a
    text that could be a formula.
    """
    rows = ["\t".join(HEADER), *map(_row, report.iterations)]
    return "\n".join(rows) + "\n"


def _row(iteration: Iteration) -> str:
    topic, metrics = iteration.evaluation.topic, iteration.evaluation.metrics
    rates = (metrics.coverage, metrics.true_positive_rate, metrics.true_negative_rate, metrics.f1)
    cells = (
        str(iteration.number),
        *(f"{rate or 0.0:.3f}" for rate in rates),
        iteration.decision.value,
        topic.description,
        "|".join(topic.examples),
    )
    shown = (display_text(_BREAKS.sub(" ", cell)) for cell in cells)
    return "\t".join(f"'{cell}" if starts_formula(cell) else cell for cell in shown)
