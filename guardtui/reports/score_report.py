"""Scores of outputs, every row: as JSON with all metrics, or as CSV."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Annotated, Any, Literal

from guardtui.files.output_files import OutputSet
from guardtui.reports.csv_report import csv_text
from guardtui.reports.json_data import Count, Omitted, encode
from guardtui.scorer.aggregate import ScorerSummary
from guardtui.scorer.registry import is_registered, registry_info
from guardtui.scorer.types import Score, is_unscored
from guardtui.session.score_run import NamedScorer, ScorerResult

COLUMNS = (
    "line", "id", "epoch", "scorer", "value", "answer", "explanation", "reason", "error",
    "input", "target", "output", "score_metadata", "scorer_metadata",
)  # fmt: skip


PARTS = ("value", "answer", "explanation", "reason")
"""Parts of a score that have a column of their own."""


@dataclass(frozen=True, eq=False)
class ScoreReport:
    """Content of a report on scores; `group` and `cluster` are names of columns.

    `models` are the grading models, `roles` those with a role. `found` of their answers were
    cached, `asked` were requested.
    """

    outputs: OutputSet
    results: Sequence[ScorerResult]
    group: str | None = None
    cluster: str | None = None
    models: Sequence[str] = ()
    roles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    asked: int = 0
    found: int = 0

    def rows(self) -> Iterator[tuple[int, ScorerResult, Score | None, str]]:
        """Yield row, scorer, score and error of every score, in the order of the file."""
        for row in range(len(self.outputs)):
            for result in self.results:
                scores = result.scores
                yield row, result, scores.scores[row], scores.errors.get(row, "")


def scorer_metadata(judge: NamedScorer) -> dict[str, Any]:
    """Return the other arguments of a scorer's decorator, as JSON values."""
    if not is_registered(judge.scorer):
        return {}
    metadata = registry_info(judge.scorer).metadata
    return {name: json_value(value) for name, value in metadata.items() if name != "metrics"}


# --- spreadsheets -------------------------------------------------------------------------


def scores_csv(report: ScoreReport) -> str:
    """Return CSV with a row per output and scorer: guardtui's columns, then those of the file.

    A column of the file with the name of one of guardtui's gets the suffix " (file)". Control
    characters, invisible characters and line ends are shown as signs; the JSON report has the exact
    texts. A score without a value is an empty cell.
    """
    outputs = report.outputs
    own = list(outputs.metadata.values())
    of_scorers = {id(result): scorer_metadata(result.scores.judge) for result in report.results}

    def cells(row: int, result: ScorerResult, score: Score | None, error: str) -> list[object]:
        target = outputs.targets[row]
        values = [
            outputs.lines[row],
            outputs.ids[row],
            outputs.epochs[row],
            result.scores.judge.name,
            *(None if score is None else getattr(score, part) for part in PARTS),
            error,
            outputs.inputs[row],
            target[0] if len(target) == 1 else list(target),
            outputs.outputs[row],
            None if score is None else score.metadata or None,
            of_scorers[id(result)] or None,
            *(column[row] for column in own),
        ]
        return [
            value
            if value is None or isinstance(value, str | bool | int | float)
            else json.dumps(json_value(value), ensure_ascii=False)
            for value in values
        ]

    return csv_text(COLUMNS, outputs.metadata, "file", (cells(*row) for row in report.rows()))


# --- programs -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MetricsData:
    """Metrics of a scorer over samples, by name; `params` are those that a metric was made with."""

    of: str
    reducer: str | None
    scored: Count
    unscored: Count
    values: dict[str, Any]
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class GroupData:
    """Metrics over the rows with the same value in the column that groups them."""

    name: str
    rows: Count
    metrics: list[MetricsData]


@dataclass(frozen=True, slots=True)
class ScorerData:
    """A scorer with its metrics; rows are scored, without a value, declined, or errors."""

    name: str
    expression: str
    metadata: dict[str, Any]
    scored: Count
    unscored: Count
    declined: Count
    errors: Count
    metrics: list[MetricsData]
    groups: list[GroupData]


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """A row by one scorer; `value` is null without a score, infinities are texts."""

    line: int
    id: str
    epoch: int
    scorer: str
    status: Literal["scored", "unscored", "declined", "error"]
    value: Any
    answer: Any
    explanation: Any
    reason: Any
    score_metadata: Any
    error: str | None
    input: str
    target: tuple[str, ...]
    output: str
    choices: Annotated[tuple[str, ...] | None, Omitted]
    input_messages: Annotated[Any, Omitted]
    metadata: Annotated[Any, Omitted]


@dataclass(frozen=True, slots=True)
class ScoresData:
    """Scores of a model's outputs; `asked` answers of models were requested, `known` cached."""

    file: str
    rows: Count
    samples: Count
    group: str | None
    cluster: str | None
    models: Sequence[str]
    roles: Mapping[str, Sequence[str]]
    asked: Count
    known: Count
    scorers: list[ScorerData]
    results: list[ScoredRow]


def scores_json(report: ScoreReport) -> str:
    """Return JSON, one line per entry of `results`; see `encode`.

    NaN is null; infinities are the texts "inf" and "-inf".
    """
    outputs = report.outputs
    data = ScoresData(
        file=outputs.source,
        rows=len(outputs),
        samples=outputs.samples,
        group=report.group,
        cluster=report.cluster,
        models=report.models,
        roles=report.roles,
        asked=report.asked,
        known=report.found,
        scorers=[_judge(summary) for summary in report.results],
        results=[_row(report, *scored) for scored in report.rows()],
    )
    return encode("scores", data)


def _judge(result: ScorerResult) -> ScorerData:
    scores = result.scores
    return ScorerData(
        name=scores.judge.name,
        expression=scores.judge.expression,
        metadata=scorer_metadata(scores.judge),
        scored=scores.scored,
        unscored=scores.unscored,
        declined=scores.declined,
        errors=len(scores.errors),
        metrics=_summaries(result.summaries),
        groups=[
            GroupData(group.name, group.rows, _summaries(group.summaries))
            for group in result.groups
        ],
    )


def _summaries(summaries: Sequence[ScorerSummary]) -> list[MetricsData]:
    return [
        MetricsData(
            of=summary.name,
            reducer=summary.reducer,
            scored=summary.scored,
            unscored=summary.unscored,
            values={name: json_value(metric.value) for name, metric in summary.metrics.items()},
            params={
                name: json_value(dict(metric.params))
                for name, metric in summary.metrics.items()
                if metric.params
            },
        )
        for summary in summaries
    ]


def _row(
    report: ScoreReport, row: int, result: ScorerResult, score: Score | None, error: str
) -> ScoredRow:
    outputs = report.outputs
    messages = outputs.input_messages[row] if outputs.input_messages else None
    return ScoredRow(
        line=outputs.lines[row],
        id=outputs.ids[row],
        epoch=outputs.epochs[row],
        scorer=result.scores.judge.name,
        status=_status(score, error),
        **{part: None if score is None else json_value(getattr(score, part)) for part in PARTS},
        score_metadata=None if score is None else json_value(score.metadata),
        error=error or None,
        input=outputs.inputs[row],
        target=outputs.targets[row],
        output=outputs.outputs[row],
        choices=outputs.choices[row] or None,
        input_messages=json_value(messages) if messages else None,
        metadata=json_value(outputs.metadata_of(row)) if outputs.metadata else None,
    )


def _status(score: Score | None, error: str) -> Literal["scored", "unscored", "declined", "error"]:
    if error:
        return "error"
    if score is None:
        return "declined"
    return "unscored" if is_unscored(score.value) else "scored"


def json_value(value: Any) -> Any:
    """Return a value as a JSON type: null for NaN, a text for infinities and unknown types.

    Objects with fields, such as the messages of a grader, become mappings of their fields.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): json_value(item_value) for key, item_value in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item_value) for item_value in value]
    if is_dataclass(value) and not isinstance(value, type):
        named = {item_value.name: getattr(value, item_value.name) for item_value in fields(value)}
        return json_value(
            {name: item_value for name, item_value in named.items() if item_value not in (None, [])}
        )
    dump = getattr(value, "model_dump", None)  # a pydantic model
    if callable(dump) and not isinstance(value, type):
        return json_value(dump())
    item = getattr(value, "item", None)  # a numpy number
    return json_value(item()) if callable(item) else str(value)
