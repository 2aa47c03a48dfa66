"""Scores for spreadsheets: one row per output and scorer, inert: no formulas, no controls."""

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
    """CSV (RFC 4180 with line feeds): our columns, then the file's own.

    A column of the file that is called like one of ours gets the ending " (file)". Control and
    invisible characters stand as signs and line ends too, as in the other reports for spreadsheets;
    the JSON has every text as it is. A score without a value has an empty one.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    outputs = report.outputs
    header = list(COLUMNS)
    for name in map(_cell, outputs.metadata):
        # Two names may look the same once they are inert.
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
    # A negative number is no formula, and is left to be a number.
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str):
        value = json.dumps(json_value(value), ensure_ascii=False)
    return spreadsheet_text(display_text(value))
