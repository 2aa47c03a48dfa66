"""Scores for terminals: metrics with their standard errors, groups and errors, every line inert."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from guardtui.domain.text import display_start, display_text
from guardtui.reports.base import UNDEFINED
from guardtui.reports.score_base import ScoreReport
from guardtui.scorer.aggregate import ScorerSummary
from guardtui.session.score_run import Group, JudgeResult

LIMIT = 20
"""Errors in the list of one scorer."""

_NAME_CHARACTERS = 40
_ERROR_CHARACTERS = 200
_EXPRESSION_CHARACTERS = 200


def write(report: ScoreReport) -> str:
    """What was scored, the metrics of each scorer, its groups, and the first `LIMIT` errors."""
    sections: list[Iterable[str]] = [_head(report)]
    for result in report.results:
        sections.append(_judge(result))
        sections += [_metrics(summary, result) for summary in result.summaries]
        if report.group is not None:
            sections += _groups(report.group, result)
        sections.append(_errors(report, result))
    return "\n\n".join(text for one in sections if (text := "\n".join(one))) + "\n"


def _head(report: ScoreReport) -> Iterator[str]:
    outputs = report.outputs
    samples = "" if outputs.samples == len(outputs) else f" of {_count(outputs.samples, 'sample')}"
    yield f"outputs    {display_text(outputs.source)}: {_count(len(outputs), 'row')}{samples}"
    roles = {
        model: f" ({', '.join(role for role, names in report.roles.items() if model in names)})"
        for model in report.models
        if any(model in names for names in report.roles.values())
    }
    for model in report.models:
        yield f"model      {display_text(model + roles.get(model, ''))}"
    if report.asked or report.found:
        yield f"graders    asked {report.asked}, known before {report.found}"
    if report.cluster is not None:
        yield f"cluster    {display_text(report.cluster)}"


def _judge(result: JudgeResult) -> Iterator[str]:
    scores = result.scores
    yield f"scorer     {display_start(scores.judge.expression, _EXPRESSION_CHARACTERS)}"
    counts = {
        "scored": scores.scored,
        "unscored": scores.unscored,
        "declined": scores.declined,
        "errors": len(scores.errors),
    }
    always = ("scored", "errors")
    yield "rows       " + "  ".join(
        f"{name} {count}" for name, count in counts.items() if count or name in always
    )


def _metrics(summary: ScorerSummary, result: JudgeResult) -> Iterator[str]:
    if not summary.metrics:
        return
    title = _title(summary, result)
    if title:
        yield title
    width = max(10, *(_cells(display_start(one, _NAME_CHARACTERS)) for one in summary.metrics))
    for name, metric in summary.metrics.items():
        yield f"{_padded(display_start(name, _NAME_CHARACTERS), width)} {_number(metric.value)}"


def _title(summary: ScorerSummary, result: JudgeResult) -> str:
    """What tells this summary from the others of the scorer; "" when there is but one."""
    parts = []
    if summary.name != result.scores.judge.name:
        parts.append(f"key {display_start(summary.name, _NAME_CHARACTERS)}")
    if summary.reducer is not None:
        parts.append(f"epochs by {display_text(summary.reducer)}")
    elif len({one.reducer for one in result.summaries}) > 1:
        parts.append("every epoch")
    title = ", ".join(parts)
    # That a reducer leaves a sample without a value is not told by the counts of rows.
    if title and summary.unscored and summary.unscored != result.scores.unscored:
        title += f" ({_count(summary.unscored, 'sample')} without a value)"
    return title


def _groups(column: str, result: JudgeResult) -> Iterator[list[str]]:
    """A table for each summary that some group has."""
    places = dict.fromkeys(
        (one.name, one.reducer) for group in result.groups for one in group.summaries
    )
    for place in places:
        rows = [
            (group, one)
            for group in result.groups
            for one in group.summaries
            if (one.name, one.reducer) == place and one.metrics
        ]
        if rows:
            title = _title(rows[0][1], result)
            yield [*([title] if title else []), *_group_table(column, rows)]


def _group_table(column: str, rows: Sequence[tuple[Group, ScorerSummary]]) -> Iterator[str]:
    metrics = list(dict.fromkeys(name for _, one in rows for name in one.metrics))
    titles = [display_start(name, _NAME_CHARACTERS) for name in metrics]
    names = [display_start(group.name, _NAME_CHARACTERS) or "(none)" for group, _ in rows]
    head = display_start(column, _NAME_CHARACTERS)
    width = max(map(_cells, (head, *names)))
    yield f"{_padded(head, width)}    rows  " + "  ".join(f"{one:>7}" for one in titles)
    for name, (group, one) in zip(names, rows, strict=True):
        cells = []
        for metric, title in zip(metrics, titles, strict=True):
            found = one.metrics.get(metric)
            shown = "" if found is None else _number(found.value)
            cells.append(" " * (max(7, _cells(title)) - len(shown)) + shown)
        yield f"{_padded(name, width)}  {group.rows:>6}  {'  '.join(cells)}".rstrip()


def _errors(report: ScoreReport, result: JudgeResult) -> Iterator[str]:
    errors = result.scores.errors
    if not errors:
        return
    yield f"not scored ({len(errors)})"
    for row in sorted(errors)[:LIMIT]:
        name = display_start(report.outputs.ids[row], _NAME_CHARACTERS)
        place = f"line {report.outputs.lines[row]}"
        reason = errors[row].replace("\n", "; ")
        yield f"  {place:<10} id {name}  {display_start(reason, _ERROR_CHARACTERS)}"
    if len(errors) > LIMIT:
        yield f"  … and {len(errors) - LIMIT} more"


def _number(value: float) -> str:
    if math.isnan(value):
        return UNDEFINED
    return f"{value:.3f}" if abs(value) < 1e9 else f"{value:.6g}"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _cells(text))


def _cells(text: str) -> int:
    """Columns that a terminal gives the text, near enough to line up names."""
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)
    return len(text) + wide - sum(unicodedata.combining(sign) > 0 for sign in text)
