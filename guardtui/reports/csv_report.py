"""The report for spreadsheets, a row per prompt, without formulas or control characters."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence

from guardtui.domain.text import display_text, spreadsheet_text
from guardtui.reports.base import ReportInput, ReportRow

COLUMNS = (
    "line", "prompt", "expected", "should_trigger", "triggered", "outcome", "score", "matched",
    "change", "was",
)  # fmt: skip

TOLD = ("error", "note", "stopped_by", "reason", "epochs")
"""Further columns, each if any prompt has a value in it."""

BYTE_ORDER_MARK = "\ufeff"

_NAMES = {"expected": "expected_label"}  # of a row, where they differ
_ANSWERS = {True: "yes", False: "no", None: "none"}


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
    verdicts = report.evaluation.verdicts
    known = (
        bool(report.evaluation.metrics.errors),
        bool(verdicts.notes) or any(verdicts.triggered[row] < -1 for row in verdicts.errors),
        bool(verdicts.stopped_by),
        bool(verdicts.reasons),
        verdicts.repeats is not None,
    )
    names = [name for name, is_known in zip(TOLD, known, strict=True) if is_known]

    def cells(row: ReportRow) -> list[object]:
        told = {
            "error": row.error,
            "note": row.note,
            "stopped_by": ", ".join(row.stopped_by),
            "reason": row.reason,
            "epochs": " ".join(_ANSWERS[answer] for answer in row.epochs),
        }
        own = [getattr(row, _NAMES.get(name, name)) for name in COLUMNS]
        return [*own, *(told[name] for name in names), *row.extra]

    text = csv_text(
        (*COLUMNS, *names), report.extra_columns, "prompt set", map(cells, report.every_row())
    )
    return BYTE_ORDER_MARK * excel + text


def csv_text(
    ours: Sequence[str], others: Iterable[str], owner: str, rows: Iterable[Iterable[object]]
) -> str:
    """Return a header and rows as CSV; a name of `others` that is taken gets a suffix, `owner`."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    header = list(ours)
    for name in map(_cell, others):
        # Two names may be equal after they are made inert.
        while name in header:
            name += f" ({owner})"
        header.append(name)
    writer.writerow(header)
    writer.writerows(map(_cell, cells) for cells in rows)
    return stream.getvalue()


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    # A negative number is not a formula.
    if isinstance(value, int | float):
        return str(value)
    return spreadsheet_text(display_text(str(value)))
