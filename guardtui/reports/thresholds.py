"""Every threshold of an evaluation with scores, as a table, JSON or CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from guardtui.domain.curves import LEAST_POINTS, curve_points, thinned
from guardtui.domain.document import (
    Block,
    Column,
    Document,
    Paragraph,
    Section,
    Table,
    quoting,
)
from guardtui.domain.figures import ON_NEW_PROMPTS, interval_text, rate_text
from guardtui.domain.guardrail import DECISION, ScannerSettings, measured_by
from guardtui.domain.metrics import RATE_TITLES, Metrics
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.sweep import Best, Sweep, best_threshold
from guardtui.domain.topic import Intent
from guardtui.reports.json_data import (
    RATE_KEYS,
    Count,
    Counts,
    Measured,
    MeasuredGuardrail,
    Rate,
    Rates,
    encode,
)

ROWS = 20
"""Approximate number of thresholds in the table, besides the best and the current one."""

ENGINE_THRESHOLD = (
    "The threshold is that of the engine, an approximation: your guardrail does not use "
    "this threshold."
)


@dataclass(frozen=True, slots=True)
class Floors:
    """The least TPR and TNR of the best threshold; 0 for none."""

    tpr: float = 0.0
    tnr: float = 0.0

    def __str__(self) -> str:
        named = (("TPR", self.tpr), ("TNR", self.tnr))
        return " and ".join(f"{name} ≥ {floor:g}" for name, floor in named if floor > 0)


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Every threshold of a guardrail with scores; `settings` have the current one."""

    sweep: Sweep
    settings: ScannerSettings
    prompts: str
    floors: Floors

    @cached_property
    def best(self) -> Best | None:
        """The best threshold within the floors, or None."""
        return best_threshold(self.sweep, min_tpr=self.floors.tpr, min_tnr=self.floors.tnr)

    @property
    def current(self) -> float:
        """The current threshold."""
        threshold = self.settings.threshold
        assert threshold is not None  # noqa: S101 - whoever gives scores has one
        return threshold

    @property
    def nearest(self) -> float | None:
        """The threshold nearest to the floors, if none is within them."""
        if self.best is not None:
            return None
        return self.sweep.nearest(min_tpr=self.floors.tpr, min_tnr=self.floors.tnr)


# --- for programs -------------------------------------------------------------------------


def thresholds_csv(result: Thresholds) -> str:
    """Return every distinct threshold, lowest first; an undefined rate is an empty cell."""
    sweep = result.sweep
    rates = {key: getattr(sweep, name) for name, key in RATE_KEYS.items()}
    tp, fp = sweep.tp, sweep.fp
    counts = {"tp": tp, "fp": fp, "fn": sweep.positives - tp, "tn": sweep.negatives - fp}
    return pl.DataFrame({"threshold": sweep.cuts, **rates, **counts}).fill_nan(None).write_csv()


def thresholds_json(result: Thresholds) -> str:
    """Return the current threshold, the best one, and points of the curve."""
    return encode("thresholds", ThresholdsData.of(result))


@dataclass(frozen=True, slots=True)
class ThresholdPoint:
    """What was measured at a threshold."""

    threshold: float
    measured: Measured


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A point of the ROC curve."""

    threshold: float
    false_positive_rate: Rate
    rates: Rates
    counts: Counts


@dataclass(frozen=True, slots=True)
class ThresholdsData:
    """Every threshold of a guardrail; `best` is null if none is within the floors."""

    guardrail: MeasuredGuardrail
    threshold_source: str
    prompts: str
    intent: Intent
    floors: Floors
    thresholds: Count
    roc_area: float | None
    average_precision: float | None
    current: ThresholdPoint
    best: ThresholdPoint | None
    nearest: ThresholdPoint | None
    curve: list[CurvePoint]

    @classmethod
    def of(cls, result: Thresholds) -> ThresholdsData:
        """Return the content of the JSON on thresholds."""
        sweep, best, nearest = result.sweep, result.best, result.nearest
        current = sweep.index(result.current)
        kept = (current,) if best is None else (current, best.index)
        return cls(
            guardrail=result.settings,
            threshold_source=result.settings.threshold_source,
            prompts=result.prompts,
            intent=sweep.intent,
            floors=result.floors,
            thresholds=len(sweep),
            roc_area=sweep.roc_area,
            average_precision=sweep.average_precision,
            current=_at(sweep, result.current, fitted=result.settings.has_fitted_threshold),
            best=None
            if best is None
            else ThresholdPoint(best.threshold, Measured.of(best.metrics, fitted=True)),
            nearest=None if nearest is None else _at(sweep, nearest),
            curve=[
                CurvePoint(
                    point.threshold,
                    point.false_positive_rate,
                    Rates.of(point.metrics),
                    Counts.of(point.metrics),
                )
                for point in curve_points(sweep, keep=kept)
            ],
        )


def _at(sweep: Sweep, threshold: float, *, fitted: bool = False) -> ThresholdPoint:
    measured = Measured.of(sweep.metrics(sweep.index(threshold)), fitted=fitted)
    return ThresholdPoint(threshold, measured)


# --- for readers --------------------------------------------------------------------------


def thresholds_document(result: Thresholds) -> Document:
    """Return the current threshold beside the best one, and the rates of others."""
    sweep = result.sweep
    return Document(
        "Thresholds",
        (
            quoting(lambda quote: measured_by(result.settings, quote)),
            f"{len(sweep.scores)} prompts, {len(sweep)} thresholds; area under the ROC curve "
            f"{rate_text(sweep.roc_area)}, average precision {rate_text(sweep.average_precision)}.",
        ),
        (
            Section("The threshold", "points", tuple(_points(result))),
            Section("Thresholds", "thresholds", tuple(_thresholds(result))),
        ),
    )


def _points(result: Thresholds) -> Iterator[Block]:
    sweep, best, nearest = result.sweep, result.best, result.nearest
    current = sweep.index(result.current)
    floors = f" with {result.floors}" if str(result.floors) else ""
    rows = [
        _point(
            f"now ({result.settings.threshold_source})",
            result.current,
            sweep.metrics(current),
            fitted=result.settings.has_fitted_threshold,
        )
    ]
    if best is not None:
        rows.append(_point("best", best.threshold, best.metrics, fitted=True))
    elif nearest is not None:
        metrics = sweep.metrics(sweep.index(nearest))
        rows.append(_point("nearest to the floors", nearest, metrics))
    titles = ("threshold", "coverage", ON_NEW_PROMPTS, "TPR", ON_NEW_PROMPTS, "TNR")
    columns = (Column("point", figure=False), *map(Column, titles), Column(ON_NEW_PROMPTS))
    yield Table(columns, tuple(rows), named="The threshold now, and the best")
    if best is None:
        yield Paragraph(f"There is no threshold{floors}.")
        return
    if floors:
        yield Paragraph(f"The best is that of the greatest coverage{floors}.")
    yield Paragraph(
        "The coverage of the best flatters it: these labels chose it. The interval of coverage is "
        "for new prompts."
    )


def _point(
    name: str, threshold: float, metrics: Metrics, *, fitted: bool = False
) -> tuple[str, ...]:
    intervals = rate_intervals(metrics, fitted=fitted)
    cells = [name, short(threshold)]
    for rate in ("coverage", "true_positive_rate", "true_negative_rate"):
        cells += [rate_text(getattr(metrics, rate)), interval_text(intervals[rate])]
    return tuple(cells)


COLUMNS = ("threshold", *RATE_TITLES.values(), "FP", "FN", "")
"""Titles of a table of thresholds; the last column marks the best and the current one."""


def threshold_cells(
    sweep: Sweep, indexes: Sequence[int], current: float | None, best: Best | None
) -> list[tuple[str, ...]]:
    """Return the cells of `COLUMNS` for some thresholds of a sweep; `current` is marked."""
    here = None if current is None else sweep.index(current)
    rows = []
    for index in indexes:
        metrics = sweep.metrics(index)
        marks = ["best"] if best is not None and index == best.index else []
        marks += ["now"] if index == here else []
        threshold = sweep.setting(index)
        if current is not None and index == here:
            threshold = current
        if marks == ["best"] and best is not None:
            threshold = best.threshold
        rates = (rate_text(getattr(metrics, name)) for name in RATE_TITLES)
        row = (short(threshold), *rates, str(metrics.fp), str(metrics.fn), ", ".join(marks))
        rows.append(row)
    return rows


def _thresholds(result: Thresholds) -> Iterator[Block]:
    yield thresholds_table(result.sweep, result.current, result.best)
    if result.settings.kind != DECISION:
        yield Paragraph(ENGINE_THRESHOLD)


def thresholds_table(sweep: Sweep, current: float | None, best: Best | None) -> Table:
    """Return the rates of about `ROWS` thresholds, with the best and the current one."""
    marked = set() if current is None else {sweep.index(current)}
    marked |= set() if best is None else {best.index}
    indexes = thinned(sweep, LEAST_POINTS + ROWS, tuple(sorted(marked))).tolist()
    columns = tuple(Column(title, figure=bool(title)) for title in COLUMNS)
    return Table(columns, tuple(threshold_cells(sweep, indexes, current, best)), named="Thresholds")


def short(threshold: float) -> str:
    """Return a threshold with three decimals, or more if needed to distinguish its neighbours."""
    return f"{threshold:.3f}" if round(threshold, 3) == threshold else f"{threshold:.6g}"
