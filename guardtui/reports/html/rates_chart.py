"""The chart of rates by iteration."""

from __future__ import annotations

from guardtui.reports.base import ReportInput
from guardtui.reports.html import charts
from guardtui.reports.html.charts import ChartRenderer
from guardtui.reports.html.page import Markup, figure
from guardtui.reports.topic_document import LIMIT

_SERIES = ("TPR", "TNR", "coverage")
_CAPTION = "Rates by iteration; what was decided is marked on the line of coverage."


def rates_chart(report: ReportInput, renderer: ChartRenderer) -> Markup:
    """Return the chart or a note if it cannot be drawn; nothing for a single iteration."""
    shown = list(report.iterations)[-LIMIT:]
    values, marked = [], []
    for iteration in shown:
        metrics = iteration.evaluation.metrics
        rates = {
            "coverage": metrics.coverage,
            "TPR": metrics.true_positive_rate,
            "TNR": metrics.true_negative_rate,
        }
        for name, rate in rates.items():
            if rate is not None:
                values.append({"number": iteration.number, "rate": round(rate, 6), "series": name})
        if metrics.coverage is not None:
            decision = {"number": iteration.number, "rate": round(metrics.coverage, 6)}
            marked.append({**decision, "decision": iteration.decision.value})
    if len(shown) < 2:
        return Markup()
    drawn = None
    if values:
        drawn = renderer.draw(
            lambda alt: charts.rates_by_iteration(alt, _SERIES, shown[0].number, shown[-1].number),
            f"Coverage, TPR and TNR of iterations {shown[0].number} to {shown[-1].number}; "
            "the table below has the figures",
            rates=values,
            decisions=marked,
        )
    return charts.missing_note() if drawn is None else figure(drawn, _CAPTION)
