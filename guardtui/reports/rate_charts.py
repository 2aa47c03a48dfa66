"""Charts of a report: mistakes against what is asked, iterations, thresholds, and their tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from guardtui.domain.document import (
    Axis,
    Bar,
    BarChart,
    Block,
    Chart,
    Charts,
    Column,
    Kind,
    Mark,
    Paragraph,
    Series,
    Table,
    Tone,
)
from guardtui.domain.figures import ON_NEW_PROMPTS, UNDEFINED, interval_text, rate_text
from guardtui.domain.guardrail import ENGINE
from guardtui.domain.metrics import Metrics
from guardtui.domain.statistics import Interval, wilson_interval
from guardtui.reports.base import ReportInput
from guardtui.reports.thresholds import ENGINE_THRESHOLD, thresholds_table
from guardtui.session.session import Decision

if TYPE_CHECKING:
    from guardtui.domain.curves import CurvePoint
    from guardtui.domain.sweep import Best, Sweep

_POINTS = 150
_ITERATIONS = 100
_MARKED = 20  # iterations above which only kept ones and that of the report are marked
_MOST_TICKS = 10  # of iterations
_SERIES = {"TPR": "true_positive_rate", "TNR": "true_negative_rate", "coverage": "coverage"}
_DECISIONS = {
    Decision.KEEP: ("●", "kept"),
    Decision.DISCARD: ("□", "discarded"),
    Decision.UNDECIDED: ("△", "undecided"),
}


# --- the result ---------------------------------------------------------------------------


def result_charts(report: ReportInput) -> Charts:
    """Return what is missed and wrongly stopped, and the course of the iterations, if any."""
    metrics, comparison = report.evaluation.metrics, report.comparison
    before = None if comparison is None else comparison.evaluations[0].metrics
    should = int(report.evaluation.should_trigger.sum())
    limit = None if report.least is None else round(1 - report.least, 9)
    name = "the baseline"
    if report.baseline_number is not None:
        name = f"iteration {report.baseline_number}"
    bars, rows = [], []
    for kind, prompts in (
        (Kind.MISSED, should),
        (Kind.STOPPED, len(report.evaluation.keys) - should),
    ):
        wrong, judged = _mistakes(metrics, kind)
        interval = wilson_interval(wrong, judged)
        share = _share(metrics, kind)
        earlier = None if before is None else _share(before, kind)
        count = f"{wrong} of {judged}" if judged else UNDEFINED
        bars.append(Bar(kind, count, share, _ends(interval), earlier))
        cells = [rate_text(share), interval_text(interval)]
        cells += [rate_text(earlier)] * (before is not None)
        rows.append((kind.value, count, *cells, str(prompts - judged)))
    titles = ["prompts", "share", ON_NEW_PROMPTS, *[name] * (before is not None), "no verdict"]
    columns = (Column("mistake", figure=False), *map(Column, titles))
    shown = BarChart(
        "Share of prompts that are missed, and that are wrongly stopped",
        tuple(bars),
        "" if before is None else name,
        limit,
    )
    charts: tuple[Chart | BarChart, ...] = (shown, *_course(report))
    return Charts(charts, Table(columns, tuple(rows), named="Mistakes"))


def _mistakes(metrics: Metrics, kind: Kind) -> tuple[int, int]:
    """Return the mistakes of a kind, and the prompts with a verdict that could be one."""
    if kind is Kind.MISSED:
        return metrics.fn, metrics.tp + metrics.fn
    return metrics.fp, metrics.tn + metrics.fp


def _share(metrics: Metrics, kind: Kind) -> float | None:
    wrong, judged = _mistakes(metrics, kind)
    return wrong / judged if judged else None


def _ends(interval: Interval | None) -> tuple[float, float] | None:
    return None if interval is None else (interval.low, interval.high)


def _course(report: ReportInput) -> Iterator[Chart]:
    """Yield the coverage of the last iterations of this guardrail, if there are two.

    What has open prompts is left out unless it is kept: a few prompts may have any coverage.
    """
    settings = report.evaluation.settings
    measured = [
        (iteration, coverage, iteration.evaluation.intervals["coverage"])
        for iteration in report.iterations
        if iteration.evaluation.settings.guardrail == settings.guardrail
        and (iteration.decision is Decision.KEEP or not iteration.evaluation.metrics.open)
        and (coverage := iteration.evaluation.metrics.coverage) is not None
    ][-_ITERATIONS:]
    if len(measured) < 2:
        return
    marks = tuple(
        Mark(
            iteration.number,
            coverage,
            *_DECISIONS[iteration.decision],
            f"#{iteration.number}" * (iteration.number == report.iteration),
            _ends(interval),
        )
        for iteration, coverage, interval in measured
        if len(measured) <= _MARKED
        or iteration.decision is Decision.KEEP
        or iteration.number == report.iteration
    )
    first, last = measured[0][0].number, measured[-1][0].number
    lowest = min(interval.low if interval else rate for _, rate, interval in measured)
    line = Series("", tuple((iteration.number, rate) for iteration, rate, _ in measured))
    yield Chart(
        f"Coverage of {len(measured)} iterations, with its interval {ON_NEW_PROMPTS}; the "
        "prompts are those of their time",
        Axis("iteration", first, last, tuple(whole_ticks(first, last)), decimals=0),
        "coverage",
        (line,),
        marks,
        limit=None if report.least is None else (report.least, f"at least {report.least:g}"),
        floor=math.floor(min(lowest, report.least or 1.0) * 5) / 5 % 1.0,
    )


def whole_ticks(first: int, last: int) -> list[int]:
    """Return evenly spaced whole numbers from `first` to `last`, at most `_MOST_TICKS`."""
    return list(range(first, last + 1, 1 + (last - first) // _MOST_TICKS))


# --- by threshold -------------------------------------------------------------------------


def threshold_blocks(report: ReportInput) -> Iterator[Block]:
    """Yield sentences about other thresholds, and charts with their table; n/a without scores."""
    from guardtui.domain.sweep import best_threshold, sweep

    evaluation = report.evaluation
    try:
        curve = sweep(evaluation.verdicts.score, evaluation.should_trigger, report.topic.intent)
    except ValueError:
        yield Paragraph(
            f"{UNDEFINED}: the scanner gives no scores between 0 and 1, so there is no "
            "threshold to move.",
            Tone.ASIDE,
        )
        return
    best = best_threshold(curve)
    yield from _sentences(report, curve, best)
    yield threshold_charts(curve, evaluation.settings.threshold, best)


def _sentences(report: ReportInput, curve: Sweep, best: Best | None) -> Iterator[Paragraph]:
    sentences = [
        f"Area under the ROC curve {rate_text(curve.roc_area)}, "
        f"average precision {rate_text(curve.average_precision)}."
    ]
    if best is not None:
        line = (
            f"The best threshold for coverage is {best.threshold:g}: "
            f"{rate_text(best.metrics.coverage)} on these labels, which chose it "
            f"({interval_text(best.interval)} {ON_NEW_PROMPTS})"
        )
        sentences.append(f"{line}.")
    if report.companions:
        sentences.append("The curves are of this topic alone, without its companions.")
    if curve.unscored:
        sentences.append(f"{curve.unscored} prompts without a score are left out.")
    yield Paragraph(" ".join(sentences))
    if report.evaluation.settings.kind == ENGINE:
        yield Paragraph(ENGINE_THRESHOLD, Tone.ASIDE)


def threshold_charts(curve: Sweep, threshold: float | None, best: Best | None) -> Charts:
    """Return the rates by threshold with their table.

    `threshold` is the current one, which is marked, or None.
    """
    from guardtui.domain.curves import curve_points

    index = None if threshold is None else curve.index(threshold)
    marked = tuple(cut for cut in (index, best.index if best else None) if cut is not None)
    chart = _by_threshold(curve_points(curve, _POINTS, marked), threshold)
    return Charts((chart,), thresholds_table(curve, threshold, best))


def _by_threshold(points: Sequence[CurvePoint], threshold: float | None) -> Chart:
    series = tuple(
        Series(
            name,
            tuple(
                (min(point.threshold, 1.0), rate)
                for point in points
                if (rate := _rate(point.metrics, key)) is not None
            ),
            # A threshold has the verdicts of the next score above it.
            steps=True,
        )
        for name, key in _SERIES.items()
    )
    ends = [min(point.threshold, 1.0) for point in (points[0], points[-1])]
    if threshold is not None:
        ends.append(threshold)
    low, high = min(ends), max(ends)
    if low == high:
        low, high = max(0.0, low - 0.1), min(1.0, high + 0.1)
    ticks, decimals = _ticks(low, high)
    now = None if threshold is None else (threshold, f"now {threshold:.3f}")
    axis = Axis("threshold", low, high, ticks, decimals)
    return Chart("TPR, TNR and coverage by threshold", axis, "rate", series, now=now)


def _ticks(low: float, high: float) -> tuple[tuple[float, ...], int]:
    """Return round values from `low` to `high`, about six, and their decimals."""
    for decimals, step in ((1, 0.2), (1, 0.1), (2, 0.05), (2, 0.02), (2, 0.01), (3, 0.005)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        ticks = tuple(round(number * step, 3) for number in range(first, last + 1))
        if len(ticks) >= 4:
            return ticks, decimals
    return (low, high), 3


def _rate(metrics: Metrics, name: str) -> float | None:
    rate: float | None = getattr(metrics, name)
    return rate
