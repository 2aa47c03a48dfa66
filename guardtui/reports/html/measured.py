"""What was measured: the verdict in a sentence, rates, confusion matrix, history, groups."""

from __future__ import annotations

from collections.abc import Iterator

from guardtui.domain.figures import capitalized
from guardtui.domain.guardrail import guardrail_label, measured_by
from guardtui.domain.metrics import RATE_TITLES, RATES
from guardtui.domain.significance import CHANGES
from guardtui.domain.statistics import Interval, rate_intervals
from guardtui.reports.base import (
    UNDEFINED,
    ReportInput,
    delta_text,
    missing_text,
    rate_text,
    usage_text,
)
from guardtui.reports.html import charts
from guardtui.reports.html.charts import ChartRenderer
from guardtui.reports.html.page import (
    Content,
    Markup,
    bullets,
    figure,
    join,
    paragraph,
    quoted,
    table,
    tag,
)
from guardtui.session.history import recorded_history
from guardtui.session.session import Decision

LIMIT = 200
"""Iterations, and groups, in one list."""


def verdict(report: ReportInput) -> Markup:
    """The result in a sentence or two, for who reads no further."""
    metrics, comparison = report.evaluation.metrics, report.comparison
    interval = rate_intervals(metrics)["coverage"]
    spread = f" (95 % interval {interval_text(interval)})" if interval else ""
    said = [
        measured_by(report.evaluation.settings),
        f"Coverage is {rate_text(metrics.coverage)}{spread}: "
        f"{_count(metrics.fn, 'prompt')} missed, {_count(metrics.fp, 'false alarm')} "
        f"of {_count(metrics.total, 'prompt')}.",
    ]
    if comparison is not None:
        said.append(f"{capitalized(comparison.describe(report.baseline_name))}.")
    if missing := missing_text(report):
        said.append(f"{missing}.")
    cautions = (paragraph(f"Caution: {caution}.", class_="warn") for caution in report.cautions)
    return join(paragraph(" ".join(said), class_="lead"), *cautions)


def metrics_section(report: ReportInput) -> Markup:
    """Rates with their intervals and changes, the confusion matrix, what is to be kept in mind."""
    metrics, comparison = report.evaluation.metrics, report.comparison
    intervals = rate_intervals(metrics)
    changes = comparison.significance.intervals if comparison is not None else {}
    headers = ["rate", "value", "95 % interval"]
    if comparison is not None:
        headers += ["change", "95 % interval of the change"]
    rows = []
    for name in RATES:
        cells: list[Content] = [RATE_TITLES[name], rate_text(getattr(metrics, name))]
        cells.append(interval_text(intervals.get(name)))
        if comparison is not None:
            cells.append(delta_text(comparison.deltas.get(name)) or UNDEFINED)
            moved = changes.get(name) if name in CHANGES else None
            cells.append(f"{_signed(moved.low)} to {_signed(moved.high)}" if moved else "")
        rows.append(cells)
        if name == "coverage":
            rows += _separation(report, len(headers))
    for own in report.figures:
        problem = quoted(own.problem) if own.problem else ""
        told: list[Content] = [quoted(own.name), own.text, problem]
        rows.append(told + [""] * (len(headers) - len(told)))
    return join(
        tag("div", table(headers, rows), confusion(report), class_="charts"), *_remarks(report)
    )


def _separation(report: ReportInput, width: int) -> list[list[Content]]:
    """The row of the figure that does not depend on the threshold, of so many cells."""
    separation, comparison = report.evaluation.separation, report.comparison
    if separation is None:
        return []
    cells: list[Content] = ["separation", rate_text(separation.area)]
    cells.append(interval_text(separation.interval))
    change = comparison and comparison.separation
    if change:
        cells += [delta_text(change.value), f"{_signed(change.low)} to {_signed(change.high)}"]
    return [cells + [""] * (width - len(cells))]


def confusion(report: ReportInput) -> Markup:
    """The confusion matrix."""
    metrics, evaluation = report.evaluation.metrics, report.evaluation
    should = int(evaluation.should_trigger.sum())
    missing = [should - metrics.tp - metrics.fn, 0]
    missing[1] = metrics.missing - missing[0]
    headers = ["", "triggered", "did not", "no verdict", "all"]
    rows: list[list[Content]] = [
        [
            "should trigger",
            f"TP {metrics.tp}",
            f"FN {metrics.fn}",
            missing[0],
            should,
        ],
        [
            "should not",
            f"FP {metrics.fp}",
            f"TN {metrics.tn}",
            missing[1],
            len(evaluation.keys) - should,
        ],
    ]
    return table(headers, rows, caption="Confusion matrix")


def _remarks(report: ReportInput) -> Iterator[Content]:
    comparison = report.comparison
    if report.operating_text:
        yield paragraph("Operating point: ", quoted(report.operating_text), ".")
    if missing := missing_text(report):
        yield paragraph(f"{missing}.", class_="warn")
    if used := usage_text(report.evaluation.verdicts.used):
        yield paragraph(f"Asked for it: {used}.")
    if report.epochs_text:
        yield paragraph("Repeated: ", report.epochs_text, ".")
    if comparison is None:
        return
    if report.changes:
        yield paragraph(f"Edited: {', '.join(report.changes)}.")
    if comparison.caveats:
        yield paragraph("To be kept in mind:", class_="warn")
        yield bullets(quoted(caveat) for caveat in comparison.caveats)


# --- history ------------------------------------------------------------------------------


def history_section(report: ReportInput, renderer: ChartRenderer) -> Markup:
    """Every iteration: how rates went, and what was edited."""
    shown = list(report.iterations)[-LIMIT:]
    entries = recorded_history(report.iterations)[-LIMIT:]
    rows: list[list[Content]] = []
    values, marked = [], []
    series = ("TPR", "TNR", "coverage")
    for iteration, entry in zip(shown, entries, strict=True):
        metrics = iteration.evaluation.metrics
        rates = (metrics.coverage, metrics.true_positive_rate, metrics.true_negative_rate)
        for name, rate in zip(("coverage", "TPR", "TNR"), rates, strict=True):
            if rate is not None:
                values.append({"number": iteration.number, "rate": round(rate, 6), "series": name})
        if metrics.coverage is not None:
            decision = {"number": iteration.number, "rate": round(metrics.coverage, 6)}
            marked.append({**decision, "decision": iteration.decision.value})
        sign = {Decision.KEEP: "✓ ", Decision.DISCARD: "✗ "}.get(iteration.decision, "")
        rows.append(
            [
                iteration.number,
                f"{sign}{iteration.decision.value}",
                *map(rate_text, (*rates, metrics.f1)),
                quoted(guardrail_label(iteration.evaluation.settings)),
                quoted(entry.what_changed),
                quoted(iteration.created),
            ]
        )
    headers = ["#", "decision", "coverage", "TPR", "TNR", "F1", "measured by", "edit", "recorded"]
    listed = table(headers, rows, text_columns=(1, 6, 7, 8))
    drawn = None
    if len(shown) > 1 and values:
        drawn = renderer.draw(
            lambda alt: charts.rates_by_iteration(alt, series, shown[0].number, shown[-1].number),
            f"Coverage, TPR and TNR of iterations {shown[0].number} to {shown[-1].number}; "
            "the table below has the figures",
            rates=values,
            decisions=marked,
        )
    caption = "Rates by iteration; what was decided is marked on the line of coverage."
    parts: list[Content] = [figure(drawn, caption) if drawn is not None else None, listed]
    if drawn is None and len(shown) > 1:
        parts.insert(0, charts.missing_note())
    if len(report.iterations) > LIMIT:
        parts.append(paragraph(f"The last {LIMIT} of {len(report.iterations)} iterations."))
    return join(*parts)


# --- groups -------------------------------------------------------------------------------


def categories_section(report: ReportInput) -> Markup:
    """Rates of each category."""
    headers = ["category", "prompts", "TPR", "95 %", "TNR", "95 %", "FP", "FN", "no verdict"]
    rows: list[list[Content]] = []
    for name, metrics in list(report.by_category.items())[:LIMIT]:
        found = rate_intervals(metrics)
        rows.append(
            [
                quoted(_short(name)),
                metrics.prompts,
                rate_text(metrics.true_positive_rate),
                interval_text(found["true_positive_rate"]),
                rate_text(metrics.true_negative_rate),
                interval_text(found["true_negative_rate"]),
                metrics.fp,
                metrics.fn,
                metrics.missing,
            ]
        )
    rest = None
    if len(report.by_category) > LIMIT:
        rest = paragraph(f"… and {len(report.by_category) - LIMIT} more categories")
    return join(table(headers, rows), rest)


def clusters_section(report: ReportInput) -> Markup:
    """Prompts that are alike, with their error rates; n/a where nothing is known of them."""
    survey = report.survey
    if survey is None:
        return paragraph(
            f"{UNDEFINED}: nobody looked for groups of alike prompts here. guardtui does, with the "
            "embedded engine, for up to 5 000 prompts that are all at hand; for more, see ",
            tag("code", "guardtui check TOPIC --prompts FILE --clusters"),
            ".",
            class_="muted",
        )
    texts = survey.prompts.prompts
    headers = [
        "cluster",
        "prompts",
        "true",
        "false",
        "error",
        "95 %",
        "FP",
        "FN",
        "lacks",
        "typical",
    ]
    rows: list[list[Content]] = [
        [
            quoted(one.name),
            one.size,
            one.belong,
            one.others,
            rate_text(one.error_rate),
            interval_text(one.error_interval),
            one.metrics.fp,
            one.metrics.fn,
            one.lacks,
            quoted(_short(str(texts[one.central]))),
        ]
        for one in survey.clusters[:LIMIT]
    ]
    found = survey.duplicates
    return join(
        paragraph(
            "Prompts that are alike, worst error rate first; true and false count labels. "
            "The vectors are those of the embedded engine."
        ),
        table(headers, rows, text_columns=(0, 8, 9)),
        paragraph(
            f"Near-duplicates (cosine {found.near} or more): {_count(found.total, 'pair')}, "
            f"{found.contradicting} with contradicting labels."
        ),
    )


def _short(value: str, most: int = 160) -> str:
    return value if len(value) <= most else value[:most] + "…"


def interval_text(interval: Interval | None) -> str:
    """An interval with three decimals; "" for none."""
    return f"{interval.low:.3f} – {interval.high:.3f}" if interval is not None else ""


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
