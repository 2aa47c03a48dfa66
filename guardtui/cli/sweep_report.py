"""What `guardtui sweep` found, as a table, JSON or CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from guardtui.advice.curves import LEAST_POINTS, curve_points, thinned
from guardtui.domain.evaluation import ScannerSettings
from guardtui.domain.guardrail import measured_by
from guardtui.domain.metrics import RATE_TITLES, Metrics
from guardtui.domain.statistics import Interval, rate_intervals
from guardtui.domain.sweep import Best, CrossValidated, Sweep
from guardtui.reports.json_report import RATE_KEYS

SCHEMA_VERSION = 1

ROWS = 20
"""Thresholds that the table lists about, besides the best and the one in force."""

_COUNTS = ("tp", "fp", "fn", "tn")
_PROXY = (
    "The threshold is that of the embedded engine, a stand-in: the cloud guardrail does not use "
    "this threshold."
)


@dataclass(frozen=True, eq=False)
class Found:
    """All that was found; `best` is None where no threshold keeps the floors."""

    sweep: Sweep
    best: Best | None
    settings: ScannerSettings
    prompts: str
    min_tpr: float
    min_tnr: float

    @property
    def current(self) -> float:
        """The threshold in force: given, or the engine's own."""
        threshold = self.settings.threshold
        assert threshold is not None  # noqa: S101 - the embedded engine has one
        return threshold

    @property
    def nearest(self) -> float | None:
        """Where no threshold keeps the floors, the one that misses them by the least."""
        if self.best is not None:
            return None
        return self.sweep.nearest(min_tpr=self.min_tpr, min_tnr=self.min_tnr)


def render(found: Found, format_name: str) -> str:
    """The whole result in the form of this name."""
    if format_name == "json":
        return json.dumps(_document(found), indent=2, ensure_ascii=False) + "\n"
    if format_name == "csv":
        return _csv(found)
    return "\n".join(_table(found)) + "\n"


# --- for programs -------------------------------------------------------------------------


def _csv(found: Found) -> str:
    """Every distinct threshold, lowest first; an undefined rate is an empty cell."""
    sweep = found.sweep
    rates = {key: getattr(sweep, name) for name, key in RATE_KEYS.items()}
    tp, fp = sweep.tp, sweep.fp
    counts = {"tp": tp, "fp": fp, "fn": sweep.positives - tp, "tn": sweep.negatives - fp}
    return pl.DataFrame({"threshold": sweep.cuts, **rates, **counts}).fill_nan(None).write_csv()


def _document(found: Found) -> dict[str, Any]:
    sweep, best, nearest = found.sweep, found.best, found.nearest
    here = sweep.place(found.current)
    kept = (here,) if best is None else (here, best.place)
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "scanner": {
            "name": found.settings.name,
            "identity": found.settings.identity,
            "threshold": found.settings.threshold,
            "threshold_source": found.settings.threshold_source,
        },
        "prompts": found.prompts,
        "intent": str(sweep.intent),
        "floors": {"tpr": found.min_tpr, "tnr": found.min_tnr},
        "thresholds": len(sweep),
        "roc_area": sweep.roc_area,
        "average_precision": sweep.average_precision,
        "current": {"threshold": found.current, **_figures(sweep.metrics(here))},
        "best": None,
        "nearest": None
        if nearest is None
        else {"threshold": nearest, **_figures(sweep.metrics(sweep.place(nearest)))},
        "curve": [
            {
                "threshold": point.threshold,
                "false_positive_rate": point.false_positive_rate,
                **_rates(point.metrics),
                **_counts(point.metrics),
            }
            for point in curve_points(sweep, keep=kept)
        ],
    }
    if best is not None:
        validated = best.cross_validated
        document["best"] = {
            "threshold": best.threshold,
            "in_sample": _figures(best.metrics),
            "cross_validated": None if validated is None else _validated(validated),
            "optimism": best.optimism,
        }
    return document


def _validated(validated: CrossValidated) -> dict[str, Any]:
    return {
        **_figures(validated.metrics),
        "folds": len(validated.thresholds),
        "folds_that_missed_the_floors": validated.unmet,
        "thresholds": list(validated.thresholds),
    }


def _figures(metrics: Metrics) -> dict[str, Any]:
    intervals = {
        RATE_KEYS[name]: None if one is None else {"low": one.low, "high": one.high}
        for name, one in rate_intervals(metrics).items()
    }
    return {**_rates(metrics), **_counts(metrics), "intervals": intervals}


def _rates(metrics: Metrics) -> dict[str, float | None]:
    return {key: getattr(metrics, name) for name, key in RATE_KEYS.items()}


def _counts(metrics: Metrics) -> dict[str, int]:
    return {name: getattr(metrics, name) for name in _COUNTS}


# --- for readers --------------------------------------------------------------------------


def _table(found: Found) -> Iterator[str]:
    sweep, best, nearest = found.sweep, found.best, found.nearest
    here = sweep.place(found.current)
    yield measured_by(found.settings)
    yield f"{len(sweep.scores)} prompts, {len(sweep)} thresholds; {found.settings.identity}"
    yield (
        f"area under the ROC curve {_number(sweep.roc_area)}, "
        f"average precision {_number(sweep.average_precision)}"
    )
    yield ""
    floors = _floors(found)
    yield f"now {_short(found.current)} ({found.settings.threshold_source})"
    yield _worth("", sweep.metrics(here))
    if best is not None:
        yield f"best {_short(best.threshold)}{floors}"
        yield _worth("in sample", best.metrics)
        validated = best.cross_validated
        if validated is None:
            yield "  cross-validated  n/a: a class has fewer than 3 prompts"
        else:
            yield _worth("cross-validated", validated.metrics)
            if validated.unmet:
                folds = len(validated.thresholds)
                yield f"  the floors were out of reach in {validated.unmet} of {folds} folds"
    elif nearest is not None:
        yield f"no threshold{floors}; nearest {_short(nearest)}"
        yield _worth("", sweep.metrics(sweep.place(nearest)))
    yield "(95 % intervals; what is in sample flatters the threshold it has chosen)"
    yield ""
    names = list(RATE_TITLES)
    head = "".join(f"{RATE_TITLES[name]:>11}" for name in names)
    yield f"   {'threshold':<10}{head}{'FP':>8}{'FN':>8}"
    marked = {here: "now", **({} if best is None else {best.place: "best"})}
    if best is not None and best.place == here:
        marked[here] = "best, now"
    for place in thinned(sweep, LEAST_POINTS + ROWS, tuple(marked)).tolist():
        metrics = sweep.metrics(place)
        rates = "".join(f"{_number(getattr(metrics, name)):>11}" for name in names)
        sign = "›" if place in marked else " "
        told = f"  {marked[place]}" if place in marked else ""
        threshold = found.current if place == here else sweep.setting(place)
        if best is not None and place == best.place != here:
            threshold = best.threshold
        yield f" {sign} {_short(threshold):<10}{rates}{metrics.fp:>8}{metrics.fn:>8}{told}"
    yield ""
    yield _PROXY


def _floors(found: Found) -> str:
    floors = (("TPR", found.min_tpr), ("TNR", found.min_tnr))
    told = [f"{name} ≥ {floor:g}" for name, floor in floors if floor > 0]
    return f" with {' and '.join(told)}" if told else ""


def _worth(name: str, metrics: Metrics) -> str:
    intervals = rate_intervals(metrics)
    shown = [
        f"{RATE_TITLES[rate]} {_number(getattr(metrics, rate))}{_span(intervals[rate])}"
        for rate in ("coverage", "true_positive_rate", "true_negative_rate")
    ]
    return f"  {name:<16} {'  '.join(shown)}"


def _span(interval: Interval | None) -> str:
    return "" if interval is None else f" [{interval.low:.2f} – {interval.high:.2f}]"


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def _short(threshold: float) -> str:
    return f"{threshold:.3f}" if round(threshold, 3) == threshold else f"{threshold:.6g}"
