"""The report for programs: a superset of the JSON that `airs runtime topics eval` prints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np

from guardtui import __version__
from guardtui.domain.comparison import Change, Comparison
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.metrics import Metrics
from guardtui.domain.significance import POWER, RESAMPLES, Significance, observed_changes
from guardtui.domain.statistics import CONFIDENCE, rate_intervals
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Outcome
from guardtui.reports.airs_json import mirrored, mistake
from guardtui.reports.base import ReportInput, ReportRow
from guardtui.reports.json_text import dumps as dumps
from guardtui.session.session import Iteration

SCHEMA_VERSION = 2

RATE_KEYS = {
    "coverage": "coverage",
    "true_positive_rate": "tpr",
    "true_negative_rate": "tnr",
    "accuracy": "accuracy",
    "precision": "precision",
    "f1": "f1",
}
"""Key in the JSON by the rate's name in `Metrics`."""


def write(report: ReportInput) -> str:
    """Return JSON, one line per entry of `results`.

    In `metrics`, which mirrors the other tool, an undefined rate is 0; everywhere else it is null.
    As in that tool, `expected` in the lists of prompts means *should trigger*; the label in the
    prompt set is `expected_label` in `results`. Invisible characters are escaped, so the text is
    inert on a terminal.
    """
    document = dumps(_document(report), indent=2)
    results = ",\n".join(f"    {dumps(_result(row))}" for row in report.rows())
    body = f"[\n{results}\n  ]" if results else "[]"
    return f'{document[:-2]},\n  "results": {body}\n}}\n'


def _document(report: ReportInput) -> dict[str, Any]:
    evaluation = report.evaluation
    metrics, settings = evaluation.metrics, evaluation.settings
    bounds, used = report.coverage_bounds, evaluation.verdicts.used
    return {
        "schema_version": SCHEMA_VERSION,
        **mirrored(report),
        "false_positives": [_mistake(row) for row in report.with_outcome(Outcome.FP)],
        "false_negatives": [_mistake(row) for row in report.with_outcome(Outcome.FN)],
        "rates": rates_of(metrics),
        "accuracy": metrics.accuracy,
        "precision": metrics.precision,
        "error_count": metrics.errors,
        "open_count": metrics.open,
        "usage": used and asdict(used),
        "epochs": _epochs(report),
        "own_metrics": [
            {"name": figure.name, "value": figure.value, "error": figure.problem or None}
            for figure in report.figures
        ],
        "flip_check": _checked(report),
        "forecast_before": _forecast_before(report),
        "coverage_bounds": bounds and {"low": bounds.low, "high": bounds.high},
        "examples_in_prompts": _examples_in_prompts(report),
        "errors": [
            _mistake(row) | {"message": row.error} for row in report.with_outcome(Outcome.ERROR)
        ],
        "regressions": _changed(report.with_change(Change.REGRESSION)),
        "fixes": _changed(report.with_change(Change.FIX)),
        "by_category": {
            name: counts_of(group) | rates_of(group) for name, group in report.by_category.items()
        },
        "intervals": intervals_of(metrics),
        "comparison": _comparison(report),
        "guardrail": guardrail_of(settings),
        "threshold": settings.threshold,
        "threshold_source": settings.threshold_source,
        "operating_point": _operating_point(report),
        "separation": _separation(report),
        "definition": definition_of(report.topic),
        "companions": [definition_of(topic) for topic in report.companions],
        "sample": report.sample,
        "topic_fingerprint": report.topic.fingerprint,
        "prompt_set_fingerprint": evaluation.prompt_set,
        "iterations": [_iteration(iteration) for iteration in report.iterations],
        "generator": {"name": "guardtui", "version": __version__},
    }


def _operating_point(report: ReportInput) -> dict[str, Any] | None:
    """Return the fit of the threshold, or None."""
    fit = report.fit
    if fit is None:
        return None
    return {
        "threshold": fit.threshold,
        "shipped": fit.shipped,
        "labels": fit.labels,
        "cross_validated": None if report.held_out is None else rates_of(report.held_out),
    }


def _checked(report: ReportInput) -> dict[str, Any] | None:
    """Return the result of a check of likely flips, or None."""
    checked = report.checked
    if checked is None:
        return None
    return {
        "coverage": asdict(checked.coverage),
        "within": checked.within,
        "calls": checked.calls,
        "most_calls": checked.most_calls,
        "ended": checked.ended,
    }


def _forecast_before(report: ReportInput) -> dict[str, Any] | None:
    """Return the forecast made before the scan, or None."""
    before = report.before
    if before is None:
        return None
    keys = {name: RATE_KEYS[name] for name in before.rates}
    return {
        "rates": {
            key: rate and asdict(rate)
            for name, key in keys.items()
            for rate in (before.rates[name],)
        },
        "scans": before.scans,
        "verdicts": before.verdicts,
        "triggers": [round(float(probability), 4) for probability in before.triggers],
    }


def _separation(report: ReportInput) -> dict[str, Any] | None:
    """Return the area under the ROC curve; None for a scanner without scores."""
    separation, comparison = report.evaluation.separation, report.comparison
    if separation is None:
        return None
    change = comparison and comparison.separation
    interval = separation.interval
    return {
        "area": separation.area,
        "interval": interval and {"low": interval.low, "high": interval.high},
        "change": change and {"change": change.value, "low": change.low, "high": change.high},
    }


def _epochs(report: ReportInput) -> dict[str, Any] | None:
    """Return how often prompts were asked, and errors of the rates over prompts; None for once."""
    repeats, errors = report.evaluation.verdicts.repeats, report.standard_errors
    if repeats is None and not errors:
        return None
    return {
        "count": 1 if repeats is None else len(repeats),
        "flaky": int(report.evaluation.verdicts.flaky.sum()),
        "cluster": report.cluster,
        "standard_errors": {RATE_KEYS[name]: value for name, value in errors.items()},
    }


def _examples_in_prompts(report: ReportInput) -> dict[str, Any] | None:
    """Return the examples that are prompts of the set, and the rates without these; or None."""
    examples = report.example_prompts
    if examples is None:
        return None
    lines = (report.row(number).line for number in np.flatnonzero(examples.prompts).tolist())
    return {
        "examples": list(examples.numbers),
        "prompts": int(examples.prompts.sum()),
        "lines": [line for line in lines if line is not None],
        "rates_without": rates_of(examples.metrics),
        "sentence": examples.sentence,
    }


def rates_of(metrics: Metrics) -> dict[str, float | None]:
    """Return the rates by their keys; null where one is undefined."""
    return {key: getattr(metrics, name) for name, key in RATE_KEYS.items()}


def counts_of(metrics: Metrics) -> dict[str, int]:
    """Return the six counts, and the prompts with a verdict."""
    return {
        "tp": metrics.tp,
        "tn": metrics.tn,
        "fp": metrics.fp,
        "fn": metrics.fn,
        "errors": metrics.errors,
        "open": metrics.open,
        "total": metrics.total,
    }


def _mistake(row: ReportRow) -> dict[str, Any]:
    return {
        **mistake(row),
        "line": row.line,
        "score": row.score,
        "matched": row.matched or None,
        **_about(row),
    }


def _changed(rows: Iterable[ReportRow]) -> list[dict[str, Any]]:
    return [
        {
            **mistake(row),
            "was": row.was,
            "line": row.line,
        }
        for row in rows
    ]


def intervals_of(metrics: Metrics) -> dict[str, Any]:
    """Return the intervals of coverage, TPR and TNR by their keys."""
    intervals: dict[str, Any] = {"confidence": CONFIDENCE}
    for name, interval in rate_intervals(metrics).items():
        bounds = interval and {"low": interval.low, "high": interval.high}
        intervals[RATE_KEYS[name]] = bounds
    return intervals


def _comparison(report: ReportInput) -> dict[str, Any] | None:
    comparison: Comparison | None = report.comparison
    if comparison is None:
        return None
    return {
        "baseline_iteration": report.baseline_number,
        "baseline_topic_fingerprint": report.baseline and report.baseline.topic.fingerprint,
        "deltas": {key: comparison.deltas.get(name) for name, key in RATE_KEYS.items()},
        "regressions": comparison.regressions,
        "fixes": comparison.fixes,
        "no_verdict": comparison.no_verdict,
        "open": comparison.open,
        "added": comparison.added,
        "removed": comparison.removed,
        "relabelled": comparison.relabelled,
        "p_value": comparison.p_value,
        "sentence": comparison.sentence,
        "significance": significance_of(comparison.significance),
        "caveats": list(comparison.caveats),
        "changes": list(report.changes),
    }


def significance_of(significance: Significance) -> dict[str, Any]:
    """Return the significance of a difference."""
    changes = observed_changes(significance.pairs)
    return {
        "test": "McNemar, exact",
        "p_value": significance.p_value,
        "difference": significance.difference.value,
        "could_be_chance": significance.could_be_chance,
        "compared": significance.compared,
        "more_prompts": significance.more_prompts,
        "power": POWER,
        "confidence": CONFIDENCE,
        "changes": {
            RATE_KEYS[name]: interval
            and {"change": changes[name], "low": interval.low, "high": interval.high}
            for name, interval in significance.intervals.items()
        },
        "kept_share": significance.kept_share,
        "resamples": RESAMPLES,
    }


def guardrail_of(settings: ScannerSettings) -> dict[str, Any]:
    """Return what a guardrail is made of, with its revision; a forecast says that it is one."""
    forecast = {"forecast": True} if settings.is_forecast else {}
    return settings.guardrail.to_json() | {"revision": settings.revision} | forecast


def definition_of(topic: Topic) -> dict[str, Any]:
    """Return the fields of a topic."""
    return topic.model_dump(mode="json")


def _iteration(iteration: Iteration) -> dict[str, Any]:
    evaluation = iteration.evaluation
    return {
        "number": iteration.number,
        "created": iteration.created,
        "decision": iteration.decision.value,
        "guardrail": guardrail_of(evaluation.settings),
        "rates": rates_of(evaluation.metrics),
        "error_count": evaluation.metrics.errors,
        "open_count": evaluation.metrics.open,
        "definition": definition_of(evaluation.topic),
    }


def _result(row: ReportRow) -> dict[str, Any]:
    return {
        "prompt": row.prompt,
        "line": row.line,
        "expected_label": row.expected,
        "should_trigger": row.should_trigger,
        "triggered": row.triggered,
        "score": row.score,
        "matched": row.matched or None,
        "outcome": row.outcome,
        **_about(row),
    }


def _about(row: ReportRow) -> dict[str, Any]:
    """Return optional values of a row, without empty ones."""
    entry = {
        "error": row.error,
        "note": row.note,
        "stopped_by": list(row.stopped_by),
        "reason": row.reason,
        "epochs": list(row.epochs),
    }
    return {key: value for key, value in entry.items() if value}
