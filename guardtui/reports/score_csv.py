"""Scores for spreadsheets, a row per output and scorer, without formulas or control characters."""

from __future__ import annotations

import csv
import io
import json
import math

from guardtui.domain.text import display_text, spreadsheet_text
from guardtui.reports.score_base import ScoreReport, json_value, scorer_metadata

COLUMNS = (
    "line", "id", "epoch", "scorer", "value", "answer", "explanation", "reason", "error",
    "input", "target", "output", "score_metadata", "scorer_metadata",
)  # fmt: skip


def write(report: ScoreReport) -> str:
    """Return CSV (RFC 4180 with line feeds): guardtui's columns, then those of the file.

    A column of the file with the name of one of guardtui's gets the suffix " (file)". Control
    characters, invisible characters and line ends are shown as signs; the JSON report has the exact
    texts. A score without a value is an empty cell.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    outputs = report.outputs
    header = list(COLUMNS)
    for name in map(_cell, outputs.metadata):
        # Two names may be equal after they are made inert.
        while name in header:
            name += " (file)"
        header.append(name)
    writer.writerow(header)
    own = list(outputs.metadata.values())
    of_scorers = {id(result): scorer_metadata(result.scores.judge) for result in report.results}
    for row, result, score, error in report.rows():
        target = outputs.targets[row]
        cells = (
            outputs.lines[row],
            outputs.ids[row],
            outputs.epochs[row],
            result.scores.judge.name,
            None if score is None else score.value,
            None if score is None else score.answer,
            None if score is None else score.explanation,
            None if score is None else score.reason,
            error,
            outputs.inputs[row],
            target[0] if len(target) == 1 else list(target),
            outputs.outputs[row],
            None if score is None else score.metadata or None,
            of_scorers[id(result)] or None,
            *(values[row] for values in own),
        )
        writer.writerow([_cell(cell) for cell in cells])
    return stream.getvalue()


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    # A negative number is not a formula.
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str):
        value = json.dumps(json_value(value), ensure_ascii=False)
    return spreadsheet_text(display_text(value))
