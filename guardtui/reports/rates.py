"""Rates with their intervals and changes: the table that every report has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from guardtui.domain.document import Column, Phrase, Table
from guardtui.domain.figures import ON_NEW_PROMPTS, change_text, interval_text, rate_text
from guardtui.domain.metrics import RATE_TITLES, RATES, Metrics
from guardtui.domain.separation import SeparationChange
from guardtui.domain.significance import CHANGES, ChangeInterval, Significance
from guardtui.domain.statistics import rate_intervals
from guardtui.reports.base import delta_text

Row = tuple[Phrase, ...]


def rates_table(
    metrics: Metrics,
    deltas: Mapping[str, float | None] | None = None,
    significance: Significance | None = None,
    *,
    baseline: Metrics | None = None,
    after_coverage: Iterable[Row] = (),
    more: Iterable[Row] = (),
    fitted: bool = False,
    baseline_fitted: bool = False,
) -> Table:
    """Return a row for each rate: value, 95 % interval, and with `deltas` its change.

    The interval of a change needs `significance`. With `baseline`, its value and interval are the
    last columns. `after_coverage` and `more` are further rows of up to as many cells: title, value,
    interval, change, interval of the change. `fitted` and `baseline_fitted` tell whether the
    thresholds were fitted to the labels.
    """
    intervals = rate_intervals(metrics, fitted=fitted)
    columns = [Column("rate", figure=False), Column("value"), Column(ON_NEW_PROMPTS, figure=False)]
    if deltas is not None:
        columns.append(Column("change"))
    if significance is not None:
        columns.append(Column(f"change {ON_NEW_PROMPTS}", figure=False))
    if baseline is not None:
        columns += [Column("baseline"), Column(ON_NEW_PROMPTS, figure=False)]
        before = rate_intervals(baseline, fitted=baseline_fitted)
    rows: list[Row] = []
    for name in RATES:
        row = [RATE_TITLES[name], rate_text(getattr(metrics, name))]
        row.append(interval_text(intervals.get(name)))
        if deltas is not None:
            row.append(delta_text(deltas.get(name)) or rate_text(None))
        if significance is not None:
            changes = significance.intervals
            row.append(change_interval_text(changes.get(name) if name in CHANGES else None))
        if baseline is not None:
            row += [rate_text(getattr(baseline, name)), interval_text(before.get(name))]
        rows.append(tuple(row))
        if name == "coverage":
            rows += after_coverage
    rows += more
    width = len(columns)
    filled = ((*row[:width], *[""] * (width - len(row))) for row in rows)
    return Table(tuple(columns), tuple(filled), named="Rates")


def change_interval_text(interval: ChangeInterval | SeparationChange | None) -> str:
    """Return the interval of a change with its signs; "" for none."""
    if interval is None:
        return ""
    return f"{change_text(interval.low)} to {change_text(interval.high)}"


def counts_text(metrics: Metrics) -> str:
    """Return the counts of outcomes: `TP 86, FN 14, FP 16, TN 85, no verdict 0`."""
    text = f"TP {metrics.tp}, FN {metrics.fn}, FP {metrics.fp}, TN {metrics.tn}"
    return f"{text}, no verdict {metrics.errors}" + f", open {metrics.open}" * bool(metrics.open)
