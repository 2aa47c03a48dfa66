"""The report for people: Markdown in which no text that is not ours can act."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from guardtui import __version__
from guardtui.domain.comparison import Change
from guardtui.domain.figures import capitalized, count_text
from guardtui.domain.guardrail import guardrail_label, measured_by
from guardtui.domain.metrics import RATE_TITLES, RATES, Metrics
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.text import display_start
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
from guardtui.session.history import recorded_history

LIMIT = 200
"""Prompts in one list."""

_CHARACTERS = 1000  # of one text of the definition
_LISTED = 300  # of one prompt in a list; the line number tells where the rest is
_TICKS = re.compile("`+")


def code_span(text: str, *, cell: bool = False, characters: int = _CHARACTERS) -> str:
    """Text as a Markdown code span of one line: no markup, link, image, mention or HTML acts in it.

    The fence is longer than any run of backticks inside. In a table's cell "|" becomes "¦", since
    tables are split before code spans are read.
    """
    shown = display_start(text, characters) + ("…" if len(text) > characters else "")
    if not shown:
        return "(empty)"
    if cell:
        shown = shown.replace("|", "¦")
    fence = "`" * (max((len(run) for run in _TICKS.findall(shown)), default=0) + 1)
    # Renderers strip one blank on each side, and must not see a fence that touches a backtick.
    edge = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{edge}{shown}{edge}{fence}"


def write(report: ReportInput) -> str:
    """The whole report, in the order of a review: the result, the edit, what it broke and mended.

    Lists are cut after `LIMIT` prompts, and say how many are left out.
    """
    sections = (
        _summary(report),
        _definition(report),
        _metrics(report),
        _list("Regressions", report.with_change(Change.REGRESSION), report.comparison is not None),
        _list("Fixes", report.with_change(Change.FIX), report.comparison is not None),
        _categories(report),
        _history(report),
        _list("False positives", report.with_outcome(Outcome.FP)),
        _list("False negatives", report.with_outcome(Outcome.FN)),
        _list("Without a verdict", report.with_outcome(Outcome.ERROR), always=False),
        _made_with(report),
    )
    return "\n".join(line for section in sections for line in section).rstrip("\n") + "\n"


def _summary(report: ReportInput) -> Iterator[str]:
    metrics, comparison = report.evaluation.metrics, report.comparison
    yield from (f"# Guardrail topic report: {code_span(report.topic.name)}", "")
    yield from (measured_by(report.evaluation.settings, code_span), "")
    parts = [
        count_text(metrics.fn, "false negative"),
        count_text(metrics.fp, "false positive"),
    ]
    if metrics.errors:
        parts.append(f"{metrics.errors} without a verdict")
    if metrics.open:
        parts.append(f"{metrics.open} not asked")
    of = count_text(metrics.prompts, "prompt")
    yield f"Coverage {rate_text(metrics.coverage)}: {', '.join(parts)}, of {of}."
    yield ""
    if comparison is not None:
        yield from (f"{capitalized(comparison.describe(report.baseline_name))}.", "")
    for caution in report.cautions:
        yield from (f"Caution: {caution}.", "")


def _definition(report: ReportInput) -> Iterator[str]:
    topic = report.topic
    before = None if report.baseline is None else report.baseline.topic
    old = () if before is None else before.examples
    yield from ("## Definition", "")
    yield _field("name", topic.name, before.name if before else None)
    yield _field("description", topic.description, before.description if before else None)
    for number, example in enumerate(topic.examples, start=1):
        was = old[number - 1] if number <= len(old) else None
        new = before is not None and was is None
        yield _field(f"example {number}", example, was) + (" (new)" if new else "")
    for number, example in enumerate(old[len(topic.examples) :], start=len(topic.examples) + 1):
        yield f"- example {number}: removed, was {code_span(example)}"
    yield f"- intent: {topic.intent.value}" + (
        f", was {before.intent.value}" if before and before.intent is not topic.intent else ""
    )
    if report.profile:
        yield f"- profile: {code_span(report.profile)}"
    for companion in report.companions:
        yield f"- measured together with: {code_span(companion.name)} ({companion.intent.value})"
    if report.sample:
        yield f"- prompts: {report.sample}"
    yield ""


def _field(name: str, text: str, before: str | None) -> str:
    was = "" if before is None or before == text else f", was {code_span(before)}"
    return f"- {name}: {code_span(text)}{was}"


def _made_with(report: ReportInput) -> Iterator[str]:
    settings = report.evaluation.settings
    threshold = ""
    if settings.threshold is not None:
        source = f" ({code_span(settings.threshold_source)})" if settings.threshold_source else ""
        threshold = f", threshold {settings.threshold:.3f}{source}"
    revision = f", revision {code_span(settings.revision)}" if settings.revision else ""
    yield from ("## Made with", "")
    yield (
        f"- scanner: {code_span(settings.name)}, {code_span(settings.identity)}{revision}"
        f"{threshold}"
    )
    if report.prompt_file:
        yield f"- prompt file: {code_span(report.prompt_file)}"
    yield f"- definition: sha256 {code_span(report.topic.fingerprint)}"
    if report.baseline is not None and report.baseline.topic != report.topic:
        yield f"- definition of the baseline: sha256 {code_span(report.baseline.topic.fingerprint)}"
    yield f"- prompt set: sha256 {code_span(report.evaluation.prompt_set)}"
    yield f"- guardtui {__version__}"
    yield ""


def _metrics(report: ReportInput) -> Iterator[str]:
    metrics, comparison = report.evaluation.metrics, report.comparison
    intervals = rate_intervals(metrics)
    yield from ("## Metrics", "", "| rate | value | change | 95 % interval |", "|---|--:|--:|---|")
    for name in RATES:
        interval = intervals.get(name)
        bounds = f"{interval.low:.3f} – {interval.high:.3f}" if interval else ""
        delta = delta_text(comparison.deltas.get(name)) if comparison else ""
        yield f"| {RATE_TITLES[name]} | {rate_text(getattr(metrics, name))} | {delta} | {bounds} |"
        if name == "coverage":
            yield from _separation(report)
    for figure in report.figures:
        problem = code_span(figure.problem, cell=True) if figure.problem else ""
        yield f"| {code_span(figure.name, cell=True)} | {figure.text} | | {problem} |"
    yield from (
        "",
        f"TP {metrics.tp}, FN {metrics.fn}, FP {metrics.fp}, TN {metrics.tn}, "
        f"no verdict {metrics.errors}{f', open {metrics.open}' if metrics.open else ''}.",
        "",
    )
    if report.operating_text:
        yield from (f"Operating point: {code_span(report.operating_text)}.", "")
    if missing := missing_text(report):
        yield from (f"{missing}.", "")
    if used := usage_text(report.evaluation.verdicts.used):
        yield from (f"Asked for it: {used}.", "")
    if report.epochs_text:
        yield from (f"Repeated: {code_span(report.epochs_text)}.", "")
    if comparison is None:
        return
    edited = f"Edited: {_plain(report.changes)}." if report.changes else ""
    if edited:
        yield from (edited, "")
    if comparison.caveats:
        yield from (f"- caution: {code_span(caveat)}" for caveat in comparison.caveats)
        yield ""


def _separation(report: ReportInput) -> Iterator[str]:
    separation, comparison = report.evaluation.separation, report.comparison
    if separation is None:
        return
    interval, change = separation.interval, comparison and comparison.separation
    bounds = f"{interval.low:.3f} – {interval.high:.3f}" if interval else ""
    delta = delta_text(change.value) if change else ""
    yield f"| separation | {rate_text(separation.area)} | {delta} | {bounds} |"


def _plain(changes: Iterable[str]) -> str:
    return ", ".join(map(code_span, changes))


def _short_cell(text: str) -> str:
    return code_span(text, cell=True, characters=20)


def _history(report: ReportInput) -> Iterator[str]:
    if not report.iterations:
        return
    yield from (
        "## History",
        "",
        "| # | decision | coverage | TPR | TNR | F1 | measured by | edit |",
    )
    yield "|--:|---|--:|--:|--:|--:|---|---|"
    for iteration, entry in zip(
        report.iterations, recorded_history(report.iterations), strict=True
    ):
        metrics = iteration.evaluation.metrics
        rates = " | ".join(
            map(
                rate_text,
                (
                    metrics.coverage,
                    metrics.true_positive_rate,
                    metrics.true_negative_rate,
                    metrics.f1,
                ),
            )
        )
        label = guardrail_label(iteration.evaluation.settings, _short_cell)
        yield (
            f"| {iteration.number} | {iteration.decision.value} | {rates} "
            f"| {label} | {code_span(entry.what_changed, cell=True)} |"
        )
    yield ""


def _categories(report: ReportInput) -> Iterator[str]:
    if not report.by_category:
        return
    yield from ("## By category", "", "| category | prompts | TPR | TNR | FP | FN | no verdict |")
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for name, metrics in report.by_category.items():
        yield f"| {code_span(name, cell=True)} | {_category_cells(metrics)} |"
    yield ""


def _category_cells(metrics: Metrics) -> str:
    cells = (
        metrics.prompts,
        rate_text(metrics.true_positive_rate),
        rate_text(metrics.true_negative_rate),
        metrics.fp,
        metrics.fn,
        metrics.missing,
    )
    return " | ".join(map(str, cells))


def _list(title: str, rows: Listing, always: bool = True) -> Iterator[str]:
    report = rows.report
    if not len(rows) and not always:
        return
    yield from (f"## {title} ({len(rows)})", "")
    for row in rows.first(LIMIT):
        yield f"- {_about(report, row)}"
    if len(rows) > LIMIT:
        yield f"- … and {len(rows) - LIMIT} more"
    yield ""


def _about(report: ReportInput, row: Row) -> str:
    parts = [f"line {row.line}" if row.line is not None else f"prompt {row.number + 1}"]
    if verdict := verdict_text(row):
        parts.append(verdict)
    if row.change == "regression":
        parts.append("regression")
    if row.error:
        parts.append(code_span(row.error, characters=_LISTED))
    if others := other_topics(report, row):
        parts.append(f"stopped by {code_span(others, characters=_LISTED)}")
    known = [answer for answer in row.epochs if answer is not None]
    if known:
        parts.append(f"triggered in {sum(known)} of {len(known)} epochs")
    if row.note:
        parts.append(f"note {code_span(row.note, characters=_LISTED)}")
    if row.reason:
        parts.append(f"reason {code_span(row.reason, characters=_LISTED)}")
    missing = "(no longer in the prompt file)"
    text = missing if row.prompt is None else code_span(row.prompt, characters=_LISTED)
    return f"{', '.join(parts)}: {text}"
