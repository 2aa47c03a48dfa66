"""All prompts of a report as one table: regressions, fixes, mistakes, and the reasons of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from guardtui.domain.comparison import Change
from guardtui.domain.verdicts import Outcome
from guardtui.reports.base import ReportInput, Row, other_topics
from guardtui.reports.html.page import Cell, Column, Markup, View, join, paragraph, rows_table

GONE = "(no longer in the prompt file)"

_STATES = {"ERROR": "no verdict", "OPEN": "not asked"}


def rows_section(report: ReportInput) -> Markup:
    """Every prompt, with the lists that matter as views of one table."""
    evaluation = report.evaluation
    category = report.prompts.category_column if report.prompts is not None else None
    extra = report.extra_columns
    place = extra.index(category) if category in extra else None
    others = [at for at in range(len(extra)) if at != place]
    compared = report.comparison is not None
    columns = [
        Column("line", 6, priority=2, decimals=0),
        Column("outcome", 9),
        *([Column("change", 12, priority=2)] if compared else []),
        Column("prompt"),
        Column("score", 6, priority=2, decimals=3),
        Column("matched", 12, priority=2),
        *([Column("category", 16, priority=3)] if place is not None else []),
        Column("was", grid=False),
        Column("expected", grid=False, printed=False),
        Column("error", grid=False),
        Column("note", grid=False),
        Column("stopped by", grid=False),
        Column("reason", grid=False),
        Column("epochs", grid=False),
        *(Column(extra[at], grid=False, printed=False) for at in others),
    ]

    def cells(row: Row) -> list[Cell]:
        stopped = ", ".join(row.stopped_by)
        if alone := other_topics(report, row):
            stopped = f"only {alone}"
        return [
            row.number + 1 if row.line is None else row.line,
            _STATES.get(row.outcome, row.outcome),
            *([row.change] if compared else []),
            GONE if row.prompt is None else row.prompt,
            row.score,
            row.matched,
            *([_plain(row.extra[place])] if place is not None else []),
            row.was,
            "true" if row.expected else "false",
            row.error,
            row.note,
            stopped,
            row.reason,
            _epochs(row),
            *(_plain(row.extra[at]) for at in others),
        ]

    listed = list(report.rows())
    rows = list(map(cells, listed))
    places = np.fromiter((row.number for row in listed), np.intp, len(listed))
    # Columns that are empty throughout tell nothing.
    told = [
        at
        for at, column in enumerate(columns)
        if column.grid or any(row[at] not in (None, "") for row in rows)
    ]
    if len(told) < len(columns):
        columns = [columns[at] for at in told]
        rows = [[row[at] for at in told] for row in rows]

    def view(title: str, codes: Any, code: int) -> View:
        return View(title, np.flatnonzero(codes[places] == code).tolist())

    views = []
    if report.comparison is not None:
        changes = report.comparison.changes
        views += [
            view("Regressions", changes, Change.REGRESSION),
            view("Fixes", changes, Change.FIX),
        ]
    views += [
        view("False positives", evaluation.codes, Outcome.FP),
        view("False negatives", evaluation.codes, Outcome.FN),
    ]
    if evaluation.metrics.errors:
        views.append(view("Without a verdict", evaluation.codes, Outcome.ERROR))
    if evaluation.metrics.open:
        views.append(view("Not asked", evaluation.codes, Outcome.OPEN))
    views.append(View("All prompts", printed=False))
    made = rows_table(columns, rows, views, label="Prompts and their verdicts")
    if len(rows) == len(evaluation.keys):
        return made
    return join(paragraph(f"{len(rows)} of {len(evaluation.keys)} prompts are listed."), made)


def _plain(value: object) -> Cell:
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _epochs(row: Row) -> str:
    names = {True: "triggered", False: "did not", None: "no verdict"}
    return ", ".join(names[answer] for answer in row.epochs)
