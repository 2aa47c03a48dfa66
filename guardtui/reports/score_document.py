"""Scores of outputs as a document: metrics of each scorer, groups, and what was not scored."""

from __future__ import annotations

import math
from collections.abc import Iterator

from guardtui.domain.document import (
    Block,
    Column,
    Document,
    Facts,
    Foreign,
    Lines,
    Paragraph,
    Phrase,
    Section,
    Table,
    TitledLines,
)
from guardtui.domain.figures import UNDEFINED, count_text
from guardtui.reports import as_text
from guardtui.reports.score_report import ScoreReport, scores_csv, scores_json
from guardtui.scorer.aggregate import ScorerSummary
from guardtui.session.score_run import ScorerResult

FORMATS = ("table", "json", "csv")
"""Formats of a report on scores."""


def write_scores(report: ScoreReport, name: str) -> str:
    """Return the report in one of `FORMATS`."""
    if name == "table":
        return as_text.write(score_document(report))
    return scores_json(report) if name == "json" else scores_csv(report)


def score_document(report: ScoreReport) -> Document:
    """Return what was scored, the metrics of each scorer and its groups, and the errors."""
    sections: list[Section] = []
    for number, result in enumerate(report.results, start=1):
        parts: list[list[Block]] = [
            [Facts(tuple(_scorer(result)))],
            *_metrics(result),
            *_groups(report, result),
            *_errors(report, result),
        ]
        sections += [
            Section(f"Scorer {number}", f"scorer-{number}-{part}", tuple(blocks), titled=False)
            for part, blocks in enumerate(parts, start=1)
        ]
    return Document("Scores", (), tuple(sections), made_with=Facts(tuple(_head(report))))


def _head(report: ScoreReport) -> Iterator[tuple[Phrase, Phrase]]:
    outputs = report.outputs
    samples = (
        "" if outputs.samples == len(outputs) else f" of {count_text(outputs.samples, 'sample')}"
    )
    yield "outputs", (Foreign(outputs.source), f": {count_text(len(outputs), 'row')}{samples}")
    for model in report.models:
        roles = ", ".join(role for role, names in report.roles.items() if model in names)
        yield "model", Foreign(f"{model} ({roles})" if roles else model)
    if report.asked or report.found:
        yield "graders", f"asked {report.asked}, known before {report.found}"
    if report.cluster is not None:
        yield "cluster", Foreign(report.cluster)


def _scorer(result: ScorerResult) -> Iterator[tuple[Phrase, Phrase]]:
    scores = result.scores
    yield "scorer", Foreign(scores.judge.expression)
    counts = {
        "scored": scores.scored,
        "unscored": scores.unscored,
        "declined": scores.declined,
        "errors": len(scores.errors),
    }
    always = ("scored", "errors")
    yield (
        "rows",
        "  ".join(f"{name} {count}" for name, count in counts.items() if count or name in always),
    )


def _metrics(result: ScorerResult) -> Iterator[list[Block]]:
    if reason := result.without_metrics:
        yield [Paragraph((Foreign(reason),))]
    for summary in result.summaries:
        if summary.metrics:
            pairs = tuple(
                (Foreign(name), number_text(metric.value))
                for name, metric in summary.metrics.items()
            )
            yield [*_title(summary, result), Facts(pairs)]


def _title(summary: ScorerSummary, result: ScorerResult) -> list[Block]:
    """Return what distinguishes this summary from the scorer's others; empty for a single one."""
    parts: list[str | Foreign] = []
    if summary.name != result.scores.judge.name:
        parts += ["key ", Foreign(summary.name)]
    if summary.reducer is not None:
        parts += [*[", "] * bool(parts), "epochs by ", Foreign(summary.reducer)]
    elif len({other.reducer for other in result.summaries}) > 1:
        parts += [*[", "] * bool(parts), "every epoch"]
    # The counts of rows do not include samples without a value after the reducer.
    if parts and summary.unscored and summary.unscored != result.scores.unscored:
        parts.append(f" ({count_text(summary.unscored, 'sample')} without a value)")
    return [Paragraph(tuple(parts))] if parts else []


def _groups(report: ScoreReport, result: ScorerResult) -> Iterator[list[Block]]:
    """Yield a table for each summary that some group has."""
    if report.group is None:
        return
    kinds = dict.fromkeys(
        (summary.name, summary.reducer) for group in result.groups for summary in group.summaries
    )
    for kind in kinds:
        summaries = [
            (group, summary)
            for group in result.groups
            for summary in group.summaries
            if (summary.name, summary.reducer) == kind and summary.metrics
        ]
        if not summaries:
            continue
        metrics = list(dict.fromkeys(name for _, summary in summaries for name in summary.metrics))
        columns = (
            Column(Foreign(report.group), figure=False),
            Column("rows"),
            *(Column(Foreign(name)) for name in metrics),
        )
        rows = tuple(
            (
                Foreign(group.name) if group.name else "(none)",
                str(group.rows),
                *(
                    number_text(summary.metrics[name].value) if name in summary.metrics else ""
                    for name in metrics
                ),
            )
            for group, summary in summaries
        )
        yield [*_title(summaries[0][1], result), Table(columns, rows, named="Groups")]


def _errors(report: ScoreReport, result: ScorerResult) -> Iterator[list[Block]]:
    errors = result.scores.errors
    rows = sorted(errors)

    def line(number: int) -> Phrase:
        row = rows[number]
        reason = errors[row].replace("\n", "; ")
        identity = Foreign(report.outputs.ids[row])
        return (f"line {report.outputs.lines[row]}, id ", identity, ": ", Foreign(reason))

    if rows:
        yield [TitledLines(f"not scored ({len(rows)})", Lines(len(rows), line))]


def number_text(value: float) -> str:
    """Return a metric with three decimals, a large one with six digits; `n/a` for none."""
    if math.isnan(value):
        return UNDEFINED
    return f"{value:.3f}" if abs(value) < 1e9 else f"{value:.6g}"
