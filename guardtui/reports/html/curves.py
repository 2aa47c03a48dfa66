"""The section on thresholds: rates by threshold, ROC and precision-recall curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from guardtui.domain.figures import UNDEFINED, interval_text, rate_text
from guardtui.domain.guardrail import ENGINE
from guardtui.reports.base import ReportInput
from guardtui.reports.html import charts
from guardtui.reports.html.charts import ChartRenderer
from guardtui.reports.html.page import Content, Markup, figure, join, paragraph, table, tag

if TYPE_CHECKING:
    from guardtui.domain.curves import CurvePoint
    from guardtui.domain.sweep import Best, Sweep

_POINTS = 150
_LISTED = 20
_SERIES = ("TPR", "TNR", "coverage")


def threshold_section(report: ReportInput, renderer: ChartRenderer) -> Markup:
    """Return the section on other thresholds; n/a if prompts have no scores."""
    from guardtui.domain.curves import curve_points
    from guardtui.domain.sweep import best_threshold, sweep

    evaluation = report.evaluation
    try:
        curve = sweep(evaluation.verdicts.score, evaluation.should_trigger, report.topic.intent)
    except ValueError:
        return paragraph(
            f"{UNDEFINED}: the guardrail gives no scores between 0 and 1, so there is no "
            "threshold to move.",
            class_="muted",
        )
    best = best_threshold(curve)
    threshold = evaluation.settings.threshold
    index = None if threshold is None else curve.index(threshold)
    marked = tuple(cut for cut in (index, best.index if best else None) if cut is not None)
    points = curve_points(curve, _POINTS, marked)
    few = curve_points(curve, _LISTED, marked) if len(curve) > _LISTED else points
    drawn = _drawn(curve, points, threshold, index, renderer)
    twin = _table(few, curve, threshold, index, best)
    if drawn is not None:
        twin = join(drawn, tag("details", tag("summary", "As a table"), twin))
    else:
        twin = join(charts.missing_note(), twin)
    return join(*_sentences(report, curve, best), twin)


def _sentences(report: ReportInput, curve: Sweep, best: Best | None) -> list[Content]:
    sentences = [
        f"Area under the ROC curve {rate_text(curve.roc_area)}, "
        f"average precision {rate_text(curve.average_precision)}."
    ]
    if best is not None:
        line = (
            f"The best threshold for coverage is {best.threshold:g}: "
            f"{rate_text(best.metrics.coverage)} in sample ({interval_text(best.interval)})"
        )
        if best.cross_validated is not None:
            line += f", {rate_text(best.cross_validated.metrics.coverage)} cross-validated"
        sentences.append(f"{line}.")
    if report.companions:
        sentences.append("The curves are of this topic alone, without its companions.")
    if curve.unscored:
        sentences.append(f"{curve.unscored} prompts without a score are left out.")
    parts: list[Content] = [paragraph(" ".join(sentences))]
    if report.evaluation.settings.kind == ENGINE:
        parts.append(
            paragraph(
                "The threshold is that of the embedded engine, a stand-in: the cloud guardrail "
                "does not use this threshold.",
                class_="muted",
            )
        )
    return parts


def _drawn(
    curve: Sweep,
    points: tuple[CurvePoint, ...],
    threshold: float | None,
    index: int | None,
    renderer: ChartRenderer,
) -> Markup | None:
    """Return the charts side by side, or None if they cannot be drawn."""
    values = []
    for point in points:
        metrics = point.metrics
        rates = (metrics.true_positive_rate, metrics.true_negative_rate, metrics.coverage)
        for name, rate in reversed(list(zip(_SERIES, rates, strict=True))):
            if rate is not None:
                values.append(
                    {
                        "threshold": min(point.threshold, 1.0),
                        "rate": round(rate, 6),
                        "series": name,
                    }
                )
    ends = [min(point.threshold, 1.0) for point in (points[0], points[-1])]
    if threshold is not None:
        ends.append(threshold)
    low, high = min(ends), max(ends)
    if low == high:
        low, high = max(0.0, low - 0.1), min(1.0, high + 0.1)
    now = None if index is None else curve.metrics(index)
    names = {
        "curve": "TPR, TNR and coverage by threshold",
        "roc": f"ROC curve, area {rate_text(curve.roc_area)}",
        "pr": f"Precision by recall, average precision {rate_text(curve.average_precision)}",
    }
    roc = [
        {"x": round(x, 6), "y": round(y, 6), "place": number}
        for number, point in enumerate(points)
        if (x := point.false_positive_rate) is not None
        and (y := point.metrics.true_positive_rate) is not None
    ]
    recalled = [
        {"x": round(x, 6), "y": round(y, 6), "place": number}
        for number, point in enumerate(points)
        if (x := point.metrics.true_positive_rate) is not None
        and (y := point.metrics.precision) is not None
    ]
    # In order of decreasing recall: a precision is valid down to the next smaller recall.
    if len(recalled) > 1 and recalled[0]["x"] < recalled[-1]["x"]:
        recalled = [{**row, "place": -row["place"]} for row in reversed(recalled)]
    roc_here = pr_here = None
    if now is not None and now.true_positive_rate is not None:
        if now.true_negative_rate is not None:
            roc_here = (1 - now.true_negative_rate, now.true_positive_rate)
        if now.precision is not None:
            pr_here = (now.true_positive_rate, now.precision)
    drawn: list[Content] = [
        renderer.draw(
            lambda alt: charts.threshold_curve(alt, _SERIES, threshold, low, high),
            names["curve"],
            rates=values,
        )
    ]
    if roc:
        drawn.append(
            renderer.draw(
                lambda alt: charts.rate_curve(
                    alt,
                    ("false positive rate (1 − TNR)", "TPR"),
                    roc_here and roc_here[0],
                    steps=False,
                    diagonal=True,
                ),
                names["roc"],
                rates=roc,
                here=_marked(roc_here, threshold),
            )
        )
    if len(recalled) > 1:
        drawn.append(
            renderer.draw(
                lambda alt: charts.rate_curve(
                    alt,
                    ("recall (TPR)", "precision"),
                    pr_here and pr_here[0],
                    steps=True,
                    diagonal=False,
                ),
                names["pr"],
                rates=recalled,
                here=_marked(pr_here, threshold),
            )
        )
    if drawn[0] is None:
        return None
    captions = list(names.values())
    return tag(
        "div",
        *(
            figure(chart, f"{caption}.")
            for chart, caption in zip(drawn, captions, strict=False)
            if isinstance(chart, Markup)
        ),
        class_="charts",
    )


def _marked(index: tuple[float, float] | None, threshold: float | None) -> list[dict[str, Any]]:
    """Return the current point as data for a chart."""
    if index is None:
        return []
    return [{"x": index[0], "y": index[1], "told": f"now {threshold:.3f}"}]


def _table(
    points: tuple[CurvePoint, ...],
    curve: Sweep,
    threshold: float | None,
    index: int | None,
    best: Best | None,
) -> Markup:
    headers = ["threshold", "", "coverage", "TPR", "TNR", "precision", "F1", "TP", "FN", "FP", "TN"]
    rows: list[list[Content]] = []
    now_cut = None if index is None else float(str(curve.cuts[index]))
    best_cut = None if best is None else float(str(curve.cuts[best.index]))
    for point in points:
        metrics = point.metrics
        notes = []
        if point.threshold == now_cut:
            notes.append(f"now ({threshold:g})")
        if best is not None and point.threshold == best_cut:
            notes.append(f"best ({best.threshold:g})")
        rows.append(
            [
                f"{point.threshold:.4g}",
                ", ".join(notes),
                *map(
                    rate_text,
                    (
                        metrics.coverage,
                        metrics.true_positive_rate,
                        metrics.true_negative_rate,
                        metrics.precision,
                        metrics.f1,
                    ),
                ),
                metrics.tp,
                metrics.fn,
                metrics.fp,
                metrics.tn,
            ]
        )
    return table(headers, rows, text_columns=(1,))
