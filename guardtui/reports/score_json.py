"""Scores for programs: every row, and all metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guardtui.reports.json_data import encode
from guardtui.reports.score_base import ScoreReport, json_value, scorer_metadata
from guardtui.scorer.aggregate import ScorerSummary
from guardtui.scorer.types import Score, is_unscored
from guardtui.session.score_run import ScorerResult


def write(report: ScoreReport) -> str:
    """Return JSON, one line per entry of `results`; see `encode`.

    NaN is null; infinities are the texts "inf" and "-inf".
    """
    outputs = report.outputs
    data = {
        "file": outputs.source,
        "rows": len(outputs),
        "samples": outputs.samples,
        "group": report.group,
        "cluster": report.cluster,
        "models": report.models,
        "roles": report.roles,
        "asked": report.asked,
        "known": report.found,
        "scorers": [_judge(summary) for summary in report.results],
        "results": [_row(report, *scored) for scored in report.rows()],
    }
    return encode("scores", data)


def _judge(result: ScorerResult) -> dict[str, Any]:
    scores = result.scores
    return {
        "name": scores.judge.name,
        "expression": scores.judge.expression,
        "metadata": scorer_metadata(scores.judge),
        "scored": scores.scored,
        "unscored": scores.unscored,
        "declined": scores.declined,
        "errors": len(scores.errors),
        "metrics": _summaries(result.summaries),
        "groups": [
            {"name": group.name, "rows": group.rows, "metrics": _summaries(group.summaries)}
            for group in result.groups
        ],
    }


def _summaries(summaries: Sequence[ScorerSummary]) -> list[dict[str, Any]]:
    return [
        {
            "of": summary.name,
            "reducer": summary.reducer,
            "scored": summary.scored,
            "unscored": summary.unscored,
            "values": {name: json_value(metric.value) for name, metric in summary.metrics.items()},
            "params": {
                name: json_value(dict(metric.params))
                for name, metric in summary.metrics.items()
                if metric.params
            },
        }
        for summary in summaries
    ]


def _row(
    report: ScoreReport, row: int, result: ScorerResult, score: Score | None, error: str
) -> dict[str, Any]:
    outputs = report.outputs
    entry: dict[str, Any] = {
        "line": outputs.lines[row],
        "id": outputs.ids[row],
        "epoch": outputs.epochs[row],
        "scorer": result.scores.judge.name,
        "status": _status(score, error),
        "value": None if score is None else json_value(score.value),
        "answer": None if score is None else score.answer,
        "explanation": None if score is None else score.explanation,
        "reason": None if score is None else score.reason,
        "score_metadata": None if score is None else json_value(score.metadata),
        "error": error or None,
        "input": outputs.inputs[row],
        "target": list(outputs.targets[row]),
        "output": outputs.outputs[row],
    }
    if outputs.choices[row]:
        entry["choices"] = list(outputs.choices[row])
    if outputs.input_messages and outputs.input_messages[row]:
        entry["input_messages"] = json_value(outputs.input_messages[row])
    if outputs.metadata:
        entry["metadata"] = json_value(outputs.metadata_of(row))
    return entry


def _status(score: Score | None, error: str) -> str:
    if error:
        return "error"
    if score is None:
        return "declined"
    return "unscored" if is_unscored(score.value) else "scored"
