"""The log of iterations that refinement protocols share: results.tsv."""

from __future__ import annotations

import re

from guardtui.domain.text import display_text, starts_formula
from guardtui.reports.base import ReportInput
from guardtui.session.session import Iteration

HEADER = ("iteration", "coverage", "tpr", "tnr", "f1", "status", "description", "examples")

_BREAKS = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")


def write(report: ReportInput) -> str:
    """One row per iteration, oldest first: three decimals, examples joined by "|".

    The format is another tool's, whose undefined rates are 0. In its texts line ends and controls
    are blanks, other characters that do not show are signs, and what could start a formula has a
    "'" before it, which is taken away again when the log is read.
    """
    rows = ["\t".join(HEADER), *map(_row, report.iterations)]
    return "\n".join(rows) + "\n"


def _row(iteration: Iteration) -> str:
    topic, metrics = iteration.evaluation.topic, iteration.evaluation.metrics
    rates = (
        metrics.coverage,
        metrics.true_positive_rate,
        metrics.true_negative_rate,
        metrics.f1,
    )
    cells = (
        str(iteration.number),
        *(f"{rate or 0.0:.3f}" for rate in rates),
        iteration.decision.value,
        topic.description,
        "|".join(topic.examples),
    )
    return "\t".join(map(_cell, cells))


def _cell(text: str) -> str:
    shown = display_text(_BREAKS.sub(" ", text))
    return f"'{shown}" if starts_formula(shown) else shown
