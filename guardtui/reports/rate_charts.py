"""Charts of rates: by iteration, by threshold, and the curves of a sweep, each with its table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from guardtui.domain.document import (
    RATE_TICKS,
    Axis,
    Block,
    Chart,
    Charts,
    Join,
    Mark,
    Paragraph,
    Series,
    Tone,
)
from guardtui.domain.figures import UNDEFINED, interval_text, rate_text
from guardtui.domain.guardrail import ENGINE
from guardtui.domain.metrics import Metrics
from guardtui.reports.base import ReportInput
from guardtui.reports.thresholds import ENGINE_THRESHOLD, thresholds_table
from guardtui.session.session import Decision, Iteration

if TYPE_CHECKING:
    from guardtui.domain.curves import CurvePoint
    from guardtui.domain.sweep import Best, Sweep

_POINTS = 150
_MOST_TICKS = 12  # of iterations
_SERIES = {"TPR": "true_positive_rate", "TNR": "true_negative_rate", "coverage": "coverage"}
_SIGNS = {Decision.KEEP: "●", Decision.DISCARD: "□", Decision.UNDECIDED: "△"}


# --- by iteration -------------------------------------------------------------------------


def iterations_chart(iterations: Sequence[Iteration]) -> Iterator[Block]:
    """Yield the chart of rates by iteration; nothing for a single one, or without any rate."""
    measured = [(iteration, iteration.evaluation.metrics) for iteration in iterations]
    series = tuple(
        Series(
            name,
            tuple(
                (iteration.number, rate)
                for iteration, metrics in measured
                if (rate := _rate(metrics, key)) is not None
            ),
        )
        for name, key in _SERIES.items()
    )
    if len(measured) < 2 or not any(line.points for line in series):
        return
    first, last = iterations[0].number, iterations[-1].number
    marks = tuple(
        Mark(
            iteration.number,
            metrics.coverage,
            _SIGNS[iteration.decision],
            iteration.decision.value,
        )
        for iteration, metrics in measured
        if metrics.coverage is not None
    )
    title = (
        f"Coverage, TPR and TNR of iterations {first} to {last}; what was decided is marked on the "
        "line of coverage"
    )
    axis = Axis("iteration", first, last, tuple(whole_ticks(first, last)), decimals=0)
    yield Charts((Chart(title, axis, "rate", series, marks, wide=True),))


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
            f"{rate_text(best.metrics.coverage)} in sample, "
            f"{interval_text(best.interval)} for new prompts"
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
    """Return the rates by threshold, ROC and precision-recall curve, with their table.

    `threshold` is the current one, which is marked, or None.
    """
    from guardtui.domain.curves import curve_points

    index = None if threshold is None else curve.index(threshold)
    marked = tuple(cut for cut in (index, best.index if best else None) if cut is not None)
    points = curve_points(curve, _POINTS, marked)
    now = None if index is None or threshold is None else (threshold, curve.metrics(index))
    charts = (_by_threshold(points, threshold), *_roc(curve, points, now), *_pr(curve, points, now))
    return Charts(charts, thresholds_table(curve, threshold, best))


Now: TypeAlias = tuple[float, Metrics]
"""The current threshold and its metrics."""

Place: TypeAlias = tuple[float, float]


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
            Join.LEVEL_LAST,
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
    now = None if threshold is None else (threshold, _now_text(threshold))
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


def _roc(curve: Sweep, points: Sequence[CurvePoint], now: Now | None) -> Iterator[Chart]:
    def place(metrics: Metrics) -> Place | None:
        up, rest = metrics.true_positive_rate, metrics.true_negative_rate
        return None if up is None or rest is None else (1 - rest, up)

    line = list(filter(None, (place(point.metrics) for point in points)))
    if line:
        yield Chart(
            f"ROC curve, area {rate_text(curve.roc_area)}",
            Axis("false positive rate (1 − TNR)", 0, 1, RATE_TICKS),
            "TPR",
            (Series("", tuple(line)),),
            _marks(now, place),
            diagonal=True,
        )


def _pr(curve: Sweep, points: Sequence[CurvePoint], now: Now | None) -> Iterator[Chart]:
    def place(metrics: Metrics) -> Place | None:
        recall, precision = metrics.true_positive_rate, metrics.precision
        return None if recall is None or precision is None else (recall, precision)

    line = list(filter(None, (place(point.metrics) for point in points)))
    if len(line) < 2:
        return
    # In order of decreasing recall: a precision is valid down to the next smaller recall.
    if line[0][0] < line[-1][0]:
        line.reverse()
    yield Chart(
        f"Precision by recall, average precision {rate_text(curve.average_precision)}",
        Axis("recall (TPR)", 0, 1, RATE_TICKS),
        "precision",
        (Series("", tuple(line), Join.LEVEL_FIRST),),
        _marks(now, place),
    )


def _marks(now: Now | None, place: Callable[[Metrics], Place | None]) -> tuple[Mark, ...]:
    at = None if now is None else place(now[1])
    return () if now is None or at is None else (Mark(*at, label=_now_text(now[0])),)


def _rate(metrics: Metrics, name: str) -> float | None:
    rate: float | None = getattr(metrics, name)
    return rate


def _now_text(threshold: float) -> str:
    return f"now {threshold:.3f}"
