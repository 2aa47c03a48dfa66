"""The prompts of a report on one evaluation: regressions, fixes, mistakes, and the reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.comparison import Change
from guardtui.domain.document import (
    Block,
    Cell,
    Foreign,
    GridColumn,
    Group,
    Kind,
    Lines,
    Phrase,
    Prompts,
    PromptView,
    TitledLines,
    parts_of,
)
from guardtui.domain.figures import capitalized
from guardtui.domain.verdicts import Outcome
from guardtui.reports.base import GONE, ReportInput, ReportRow, grounds, other_topics

_MORE_CHANGES = {
    "Relabelled": Change.RELABELLED,
    "Added": Change.ADDED,
    "Without a verdict in one of the two": Change.NO_VERDICT,
    "Not asked in one of the two": Change.OPEN,
}
_STATES = {
    "FN": "missed",
    "FP": "wrongly stopped",
    "ERROR": "no verdict",
    "OPEN": "not asked",
}


_MISTAKES = {Kind.MISSED: Outcome.FN, Kind.STOPPED: Outcome.FP}
_CHANGES = {Kind.BROKE: Change.REGRESSION, Kind.FIXED: Change.FIX}
_GROUPS = 40
"""Categories that are shown with their prompts."""


def changed_groups(report: ReportInput) -> Iterator[Group]:
    """Yield the prompts that the edit broke, and those that it fixed."""
    for kind, change in _CHANGES.items():
        if report.comparison is not None:
            rows = np.flatnonzero(report.comparison.changes == change)
            if len(rows):
                yield _group(report, capitalized(kind), {kind: len(rows)}, rows)


def mistake_groups(report: ReportInput) -> Iterator[Group]:
    """Yield the mistakes by category, the most first; without categories by their kind."""
    codes = report.evaluation.codes
    wrong = np.flatnonzero(np.isin(codes, list(_MISTAKES.values())))
    if not report.by_category:
        for kind, code in _MISTAKES.items():
            if len(rows := wrong[codes[wrong] == code]):
                yield _group(report, capitalized(kind), {kind: len(rows)}, rows)
        return
    of, names = report.categories
    counted = np.bincount(of[wrong][of[wrong] >= 0], minlength=len(names))
    for index in np.argsort(-counted, kind="stable")[:_GROUPS].tolist():
        if counted[index]:
            rows = wrong[of[wrong] == index]
            counts = {kind: int((codes[rows] == code).sum()) for kind, code in _MISTAKES.items()}
            total = report.by_category[names[index]].prompts
            yield _group(report, Foreign(names[index]), counts, rows, f" of {total}")


def _group(
    report: ReportInput,
    name: Phrase,
    counts: Mapping[Kind, int],
    rows: NDArray[np.intp],
    total: str = "",
) -> Group:
    """Return a group of prompts, the worst first."""
    rows = report.worst_first(rows)
    text = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    lines = Lines(len(rows), lambda index: prompt_line(report, report.row(int(rows[index]))))
    return Group(name, tuple(counts.items()), f"{text}{total}", lines)


def prompt_blocks(report: ReportInput) -> Iterator[Block]:
    """Yield the prompts, and of two compared evaluations those that only the baseline has."""
    yield topic_prompts(report)
    removed = report.removed
    if removed and report.baseline_title:

        def line(number: int) -> Phrase:
            prompt = removed[number]
            place = f"line {prompt.line}, " if prompt.line else ""
            text = GONE if prompt.prompt is None else Foreign(prompt.prompt)
            return (f"{place}was {prompt.was}: ", text)

        yield TitledLines(f"Removed ({len(removed)})", Lines(len(removed), line))


def topic_prompts(report: ReportInput) -> Prompts:
    """Return every prompt that is listed, with the lists that matter as views."""
    evaluation = report.evaluation
    category = report.prompts.category_column if report.prompts is not None else None
    extra = report.extra_columns
    category_index = extra.index(category) if category in extra else None
    others = [index for index in range(len(extra)) if index != category_index]
    compared = report.comparison is not None
    verdicts = evaluation.verdicts
    scored, matched = not np.isnan(verdicts.score).all(), bool((verdicts.matched >= 0).any())
    columns = (
        GridColumn("line", 4, priority=2, decimals=0),
        GridColumn("outcome", 13),
        *([GridColumn("change", 9, priority=3)] if compared else []),
        GridColumn("prompt"),
        *([GridColumn("score", 5, priority=2, decimals=3)] if scored else []),
        *([GridColumn("matched", 10, priority=3)] if matched else []),
        *([GridColumn("category", 14, priority=3)] if category_index is not None else []),
        GridColumn("was", grid=False),
        GridColumn("expected", grid=False, printed=False),
        GridColumn("error", grid=False),
        GridColumn("note", grid=False),
        GridColumn("stopped by", grid=False),
        GridColumn("reason", grid=False),
        GridColumn("epochs", grid=False),
        *(GridColumn(extra[index], grid=False, printed=False) for index in others),
    )
    count = len(evaluation.keys)
    numbers = np.arange(count)
    if report.listed is not None:
        numbers = np.concatenate([report.listed, np.setdiff1d(numbers, report.listed)])
        count = len(report.listed)

    def cells(number: int) -> list[Cell]:
        row = report.row(int(numbers[number]))
        stopped = ", ".join(row.stopped_by)
        if alone := other_topics(report, row):
            stopped = f"only {alone}"
        return [
            row.number + 1 if row.line is None else row.line,
            _STATES.get(row.outcome, row.outcome),
            *([row.change] if compared else []),
            GONE if row.prompt is None else row.prompt,
            *([row.score] if scored else []),
            *([row.matched or ""] if matched else []),
            *([_cell(row.extra[category_index])] if category_index is not None else []),
            row.was,
            "true" if row.expected_label else "false",
            row.error,
            row.note,
            stopped,
            row.reason,
            _epochs(row),
            *(_cell(row.extra[index]) for index in others),
        ]

    def line(number: int) -> Phrase:
        return prompt_line(report, report.row(int(numbers[number])))

    return Prompts(
        "Prompts and their verdicts",
        columns,
        count,
        len(numbers),
        cells,
        line,
        tuple(_views(report, numbers)),
        whole=report.every_mistake,
    )


def _views(report: ReportInput, numbers: NDArray[np.intp]) -> Iterator[PromptView]:
    def view(
        title: str, codes: NDArray[np.int8], code: int, *, listed: bool = True, always: bool = False
    ) -> PromptView:
        return PromptView(title, np.flatnonzero(codes[numbers] == code).tolist(), listed, always)

    comparison, codes, metrics = (
        report.comparison,
        report.evaluation.codes,
        report.evaluation.metrics,
    )
    alone = not report.baseline_title
    if comparison is not None:
        yield view("Regressions", comparison.changes, Change.REGRESSION, always=True)
        yield view("Fixes", comparison.changes, Change.FIX, always=True)
        for title, change in _MORE_CHANGES.items():
            if not alone and (comparison.changes == change).any():
                yield view(title, comparison.changes, change)
    # Of two compared evaluations only what differs is listed.
    for kind, code in _MISTAKES.items():
        yield view(capitalized(kind), codes, code, listed=alone, always=alone)
    if metrics.errors:
        yield view("Without a verdict", codes, Outcome.ERROR)
    if metrics.open:
        yield view("Not asked", codes, Outcome.OPEN, listed=False)
    yield PromptView("All prompts", listed=False)


def prompt_line(report: ReportInput, row: ReportRow) -> Phrase:
    """Return a line about a prompt: its position, its outcome with the reason, and its text."""
    position = f"line {row.line}" if row.line is not None else f"prompt {row.number + 1}"
    parts: list[str | Foreign] = [f"{position}, {_STATES.get(row.outcome, row.outcome)}"]
    if row.change == "regression":
        parts.append(", regression")
    for phrase in grounds(report, row):
        parts += [", ", *parts_of(phrase)]
    return (*parts, ": ", GONE if row.prompt is None else Foreign(row.prompt))


def _cell(value: object) -> Cell:
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _epochs(row: ReportRow) -> str:
    names = {True: "triggered", False: "did not", None: "no verdict"}
    return ", ".join(names[answer] for answer in row.epochs)
