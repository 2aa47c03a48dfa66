"""The report for terminals: plain text, without colours, whose every line is inert."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from guardtui.domain.comparison import Change
from guardtui.domain.figures import capitalized
from guardtui.domain.guardrail import measured_by
from guardtui.domain.metrics import RATE_TITLES, RATES, missing_counts
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.text import display_start, display_text
from guardtui.domain.verdicts import Outcome
from guardtui.reports.base import (
    Listing,
    ReportInput,
    Row,
    delta_text,
    missing_text,
    other_topics,
    rate_text,
    usage_text,
    verdict_text,
)

LIMIT = 20
"""Prompts in one list, unless every mistake is to be listed."""

_CHARACTERS = 100  # of one prompt
_NAME_CHARACTERS = 40  # of a category


def write(report: ReportInput) -> str:
    """Metrics, counts, what changed, categories and mistakes of each kind (see `LIMIT`)."""
    sections = (
        _head(report),
        _metrics(report),
        _comparison(report),
        _categories(report),
        _list("regressions", report.with_change(Change.REGRESSION)),
        _list("fixes", report.with_change(Change.FIX)),
        _list("false positives", report.with_outcome(Outcome.FP)),
        _list("false negatives", report.with_outcome(Outcome.FN)),
        _list("without a verdict", report.with_outcome(Outcome.ERROR)),
    )
    return "\n\n".join(text for section in sections if (text := "\n".join(section))) + "\n"


def _head(report: ReportInput) -> Iterator[str]:
    settings = report.evaluation.settings
    yield measured_by(settings)
    yield f"topic      {display_text(report.topic.name)} ({report.topic.intent.value})"
    if report.profile:
        yield f"profile    {display_text(report.profile)}"
    for companion in report.companions:
        yield f"with       {display_text(companion.name)} ({companion.intent.value})"
    if report.sample:
        yield f"prompts    {report.sample}"
    threshold = ""
    if settings.threshold is not None:
        source = (
            f" ({display_text(settings.threshold_source)})" if settings.threshold_source else ""
        )
        threshold = f", threshold {settings.threshold:.3f}{source}"
    revision = f", revision {settings.revision}" if settings.revision else ""
    yield f"scanner    {display_text(settings.identity + revision)}{threshold}"
    if report.operating_text:
        yield f"fitted     {report.operating_text}"


def _metrics(report: ReportInput) -> Iterator[str]:
    metrics, comparison = report.evaluation.metrics, report.comparison
    intervals = rate_intervals(metrics)
    for name in RATES:
        interval = intervals.get(name)
        bounds = f"[{interval.low:.3f} – {interval.high:.3f}]" if interval else ""
        delta = delta_text(comparison.deltas.get(name)) if comparison else ""
        value = rate_text(getattr(metrics, name))
        yield f"{RATE_TITLES[name]:<10} {value:<5}  {delta:<6}  {bounds}".rstrip()
        if name == "coverage":
            yield from _separation(report)
    for figure in report.figures:
        name = display_start(figure.name, _NAME_CHARACTERS)
        problem = f"  {display_start(figure.problem, _CHARACTERS)}" if figure.problem else ""
        yield f"{name}{' ' * (10 - _cells(name))} {figure.text}{problem}"
    yield (
        f"TP {metrics.tp}  FN {metrics.fn}  FP {metrics.fp}  TN {metrics.tn}  "
        f"{missing_counts(metrics)}"
    )
    yield from (f"caution: {caution}" for caution in report.cautions)
    if missing := missing_text(report):
        yield missing
    if report.checked is not None:
        yield f"likely flips checked: {report.checked.text}"
    if used := usage_text(report.evaluation.verdicts.used):
        yield f"asked: {used}"
    if report.epochs_text:
        yield display_text(report.epochs_text)


def _separation(report: ReportInput) -> Iterator[str]:
    separation, comparison = report.evaluation.separation, report.comparison
    if separation is None:
        return
    interval, change = separation.interval, comparison and comparison.separation
    bounds = f"[{interval.low:.3f} – {interval.high:.3f}]" if interval else ""
    delta = delta_text(change.value) if change else ""
    yield f"separation {rate_text(separation.area):<5}  {delta:<6}  {bounds}".rstrip()


def _comparison(report: ReportInput) -> Iterator[str]:
    comparison = report.comparison
    if comparison is None:
        return
    yield capitalized(comparison.describe(report.baseline_name))
    if report.changes:
        yield f"edited: {display_text(', '.join(report.changes))}"
    for caveat in comparison.caveats:
        yield f"caution: {display_text(caveat)}"


def _categories(report: ReportInput) -> Iterator[str]:
    if not report.by_category:
        return
    names = {name: display_start(name, _NAME_CHARACTERS) or "(none)" for name in report.by_category}
    width = max(len("category"), *map(_cells, names.values()))
    some_open = any(metrics.open for metrics in report.by_category.values())
    yield f"{'category':<{width}}  prompts    TPR    TNR   FP   FN{'    open' * some_open}  errors"
    for name, metrics in report.by_category.items():
        padding = " " * (width - _cells(names[name]))
        yield (
            f"{names[name]}{padding}  {metrics.prompts:>7}  "
            f"{rate_text(metrics.true_positive_rate):>5}  "
            f"{rate_text(metrics.true_negative_rate):>5}  "
            f"{metrics.fp:>3}  {metrics.fn:>3}  {f'{metrics.open:>6}  ' * some_open}"
            f"{metrics.errors:>6}"
        )


def _cells(text: str) -> int:
    """Columns that a terminal gives the text, near enough to line up names."""
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)
    return len(text) + wide - sum(unicodedata.combining(sign) > 0 for sign in text)


def _list(title: str, rows: Listing) -> Iterator[str]:
    if not len(rows):
        return
    yield f"{title} ({len(rows)})"
    shown = len(rows) if rows.report.every_mistake else min(len(rows), LIMIT)
    for row in rows.first(shown):
        yield f"  {_about(rows.report, row)}"
    if len(rows) > shown:
        yield f"  … and {len(rows) - shown} more"


def _about(report: ReportInput, row: Row) -> str:
    place = f"line {row.line}" if row.line is not None else f"prompt {row.number + 1}"
    verdict = display_text(row.error) if row.error else verdict_text(row)
    if others := other_topics(report, row):
        verdict += f", by {display_start(others, _NAME_CHARACTERS)}"
    if row.note:
        verdict += f", note: {display_start(row.note, _CHARACTERS)}"
    verdict = verdict.removeprefix(", ")
    if row.prompt is None:
        text = "(no longer in the prompt file)"
    else:
        text = display_start(row.prompt, _CHARACTERS)
        text += "…" if len(row.prompt) > _CHARACTERS else ""
    return f"{place:<10} {row.outcome}  {verdict + '  ' if verdict else ''}{text}"
