"""The report for spreadsheets, a row per prompt, without formulas or control characters."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

from guardtui.domain.text import display_text, spreadsheet_text
from guardtui.reports.base import ReportInput, ReportRow

COLUMNS = (
    "line",
    "prompt",
    "expected",
    "should_trigger",
    "triggered",
    "outcome",
    "score",
    "matched",
    "change",
    "was",
)

TOLD = ("error", "note", "stopped_by", "reason", "epochs")
"""Further columns, each if any prompt has a value in it."""


BYTE_ORDER_MARK = "\ufeff"


def write(report: ReportInput, *, excel: bool = False) -> str:
    """Return CSV (RFC 4180 with line feeds): guardtui's columns, then those of the prompt set.

    Every prompt is listed, however many there are.

    `error`, `note`, `stopped_by`, `reason` and `epochs` (the answers in order) are columns only if
    any prompt has a value in them. A column of the prompt set with the name of one of guardtui's
    gets the suffix " (prompt set)". Control characters, invisible characters and line ends are
    shown as signs, so that each prompt is one line. A "'" stands before a text that could be a
    formula. The JSON report has the exact prompts. For Excel a byte order mark comes first, by
    which it knows that a file is UTF-8.
    """
    stream = io.StringIO()
    if excel:
        stream.write(BYTE_ORDER_MARK)
    writer = csv.writer(stream, lineterminator="\n")
    verdicts = report.evaluation.verdicts
    known = (
        bool(report.evaluation.metrics.errors),
        bool(verdicts.notes) or any(verdicts.triggered[row] < -1 for row in verdicts.errors),
        bool(verdicts.stopped_by),
        bool(verdicts.reasons),
        verdicts.repeats is not None,
    )
    names = [name for name, is_known in zip(TOLD, known, strict=True) if is_known]
    header = [*COLUMNS, *names]
    for name in map(_cell, report.extra_columns):
        # Two names may be equal after they are made inert.
        while name in header:
            name += " (prompt set)"
        header.append(name)
    writer.writerow(header)
    for row in report.every_row():
        cells = (
            row.line,
            row.prompt,
            row.expected,
            row.should_trigger,
            row.triggered,
            row.outcome,
            row.score,
            row.matched,
            row.change,
            row.was,
            *(_TOLD_OF[name](row) for name in names),
            *row.extra,
        )
        writer.writerow([_cell(cell) for cell in cells])
    return stream.getvalue()


_ANSWERS = {True: "yes", False: "no", None: "none"}
_TOLD_OF: dict[str, Callable[[ReportRow], str]] = {
    "error": lambda row: row.error,
    "note": lambda row: row.note,
    "stopped_by": lambda row: ", ".join(row.stopped_by),
    "reason": lambda row: row.reason,
    "epochs": lambda row: " ".join(_ANSWERS[answer] for answer in row.epochs),
}


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    # A negative number is not a formula.
    if isinstance(value, int | float):
        return str(value)
    return spreadsheet_text(display_text(str(value)))
