"""Rows of the results as text for the clipboard, inert in terminals and spreadsheets."""

from __future__ import annotations

import csv
import io

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.comparison import ABSENT, Change
from guardtui.domain.text import display_text, spreadsheet_text
from guardtui.domain.verdicts import Outcome
from guardtui.tui.results.model import Results, part_name

HEADER = ("line", "prompt", "expected", "outcome", "score", "matched", "change", "was")

_TOLD = ("error", "note", "stopped_by", "reason")
"""Further columns, each only if any row has a value."""


def prompts_as_lines(results: Results, rows: NDArray[np.intp]) -> str:
    """Return the prompts of these rows, inert; a single one keeps its line feeds."""
    texts = results.prompts.prompts[rows].to_list()
    return "\n".join(display_text(text, newlines=len(texts) == 1) for text in texts)


def rows_as_tsv(results: Results, rows: NDArray[np.intp]) -> str:
    """Return tab-separated values with a header: built-in columns and those of the prompt set.

    Control and invisible characters, tabs and line ends become signs; a text that could start a
    formula gets a "'" before it; a cell with a quote is quoted, as spreadsheets expect it.
    """
    prompts, evaluation = results.prompts, results.evaluation
    verdicts, comparison, numbers = evaluation.verdicts, results.comparison, rows.tolist()
    empty = [""] * len(numbers)
    columns: dict[str, list[object]] = {
        "line": prompts.frame["line"][rows].to_list(),
        "prompt": prompts.prompts[rows].to_list(),
        "expected": ["true" if label else "false" for label in evaluation.expected[rows].tolist()],
        "outcome": [Outcome(code).name for code in evaluation.codes[rows].tolist()],
        "score": ["" if score != score else f"{score:.4f}" for score in verdicts.score[rows]],
        "matched": [part_name(part) for part in verdicts.matched[rows].tolist()],
        "change": [*empty],
        "was": [*empty],
    }
    if comparison is not None:
        columns["change"] = [_change(code) for code in comparison.changes[rows].tolist()]
        before = comparison.before[rows].tolist()
        columns["was"] = ["" if code == ABSENT else Outcome(code).name for code in before]
    stopped = {row: ", ".join(names) for row, names in verdicts.stopped_by.items()}
    by_name = (verdicts.errors, verdicts.notes, stopped, verdicts.reasons)
    for name, by_row in zip(_TOLD, by_name, strict=True):
        if any(by_row.get(row) for row in numbers):
            columns[name] = [by_row.get(row, "") for row in numbers]
    header = [*columns]
    for name in map(_cell, prompts.extra_columns):
        while name in header:  # a built-in column, or one that looks the same once inert
            name += " (prompt set)"
        header.append(name)
    own = [prompts.frame[name][rows].to_list() for name in prompts.extra_columns]
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
    writer.writerow(header)
    for line in zip(*columns.values(), *own, strict=True):
        writer.writerow([_cell(cell) for cell in line])
    return stream.getvalue().removesuffix("\n")


def _change(code: int) -> str:
    kind = Change(code)
    return "" if kind is Change.SAME else kind.name.lower().replace("_", " ")


def _cell(value: object) -> str:
    return "" if value is None else spreadsheet_text(display_text(str(value)))
