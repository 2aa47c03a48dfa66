"""The audit as JSON with a `schema_version`; undefined rates are null."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from guardtui.domain.metrics import Metrics
from guardtui.domain.profile_conflicts import Conflict
from guardtui.domain.profile_evaluation import CONTRADICTORY, ProfileEvaluation
from guardtui.domain.profile_labels import Label
from guardtui.domain.statistics import CONFIDENCE, rate_intervals
from guardtui.domain.verdicts import Outcome, Triggered
from guardtui.reports.audit_base import KIND_CODES, AuditReport
from guardtui.reports.json_report import RATE_KEYS, dumps, guardrail_of

SCHEMA_VERSION = 1


def write(report: AuditReport) -> str:
    """Return JSON, one line per entry of `conflicts` and `results`; ends with a line feed.

    Invisible characters are escaped, so that the text is inert on a terminal and unchanged once it
    is parsed.
    """
    evaluation = report.evaluation
    head = _dumps(_document(report), indent=2)[:-2]
    conflicts = _lines(_conflict(evaluation, conflict) for conflict in evaluation.conflicts)
    results = _lines(_results(evaluation))
    return f'{head},\n  "conflicts": {conflicts},\n  "results": {results}\n}}\n'


def _lines(entries: Iterable[dict[str, Any]]) -> str:
    """Return a JSON list with one line per entry."""
    body = ",\n".join(f"    {_dumps(entry)}" for entry in entries)
    return f"[\n{body}\n  ]" if body else "[]"


def _dumps(value: Any, indent: int | None = None) -> str:
    """Return the same as `dumps`; plain ASCII needs no search for invisible characters."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    return text if text.isascii() and "\x7f" not in text else dumps(value, indent)


def _document(report: AuditReport) -> dict[str, Any]:
    evaluation, settings = report.evaluation, report.settings
    return {
        "schema_version": SCHEMA_VERSION,
        "report": "audit",
        "profile": report.profile,
        "default": "block" if evaluation.closed else "allow",
        "guardrail": guardrail_of(settings),
        "threshold": settings.threshold,
        "threshold_source": settings.threshold_source,
        "notices": list(report.notices),
        "composite": _measured(evaluation.metrics)
        | {
            "prompts": len(evaluation),
            "contradictory": int(evaluation.contradictory.sum()),
            "undecided": int(evaluation.undecided.sum()),
            "if_undecided_right": _rates(evaluation.metrics_if_right),
            "against_rule": len(evaluation.against_rule),
        },
        "topics": [_topic(evaluation, index) for index in range(len(evaluation.members))],
        "conflict_count": evaluation.conflict_count,
        "cross_table": [
            {
                "topic": evaluation.name(row.topic),
                "expected_label": row.belongs,
                "prompts": row.prompts,
                "matched": {
                    evaluation.name(index): count for index, count in enumerate(row.matched)
                },
                "stopped": row.stopped,
                "no_verdict": row.missing,
            }
            for row in evaluation.cross_table
        ],
    }


def _topic(evaluation: ProfileEvaluation, index: int) -> dict[str, Any]:
    member = evaluation.members[index]
    return {
        "name": member.topic.name,
        "intent": member.topic.intent.value,
        "description": member.topic.description,
        "examples": list(member.topic.examples),
        "fingerprint": member.topic.fingerprint if member.given else None,
        "given": member.given,
        "prompt_file": member.source or None,
        "prompts": len(member.own),
        "repeated": member.repeats,
        "changes_verdicts": index not in evaluation.idle,
        "alone": _measured(member.alone),
        "in_profile": _measured(evaluation.in_profile(index)),
    }


def _conflict(evaluation: ProfileEvaluation, conflict: Conflict) -> dict[str, Any]:
    interval = conflict.interval
    return {
        "kind": KIND_CODES[conflict.kind],
        "first": evaluation.name(conflict.first),
        "second": evaluation.name(conflict.second),
        "prompts": len(conflict.rows),
        "share": conflict.share,
        "interval": interval and {"low": interval.low, "high": interval.high},
        "results": conflict.rows.tolist(),
    }


def _measured(metrics: Metrics) -> dict[str, Any]:
    return {
        "tp": metrics.tp,
        "fn": metrics.fn,
        "fp": metrics.fp,
        "tn": metrics.tn,
        "no_verdict": metrics.errors,
        "open": metrics.open,
        **_rates(metrics),
        "intervals": {
            "confidence": CONFIDENCE,
            **{
                RATE_KEYS[name]: interval and {"low": interval.low, "high": interval.high}
                for name, interval in rate_intervals(metrics).items()
            },
        },
    }


def _rates(metrics: Metrics) -> dict[str, float | None]:
    return {key: getattr(metrics, name) for name, key in RATE_KEYS.items()}


def _results(evaluation: ProfileEvaluation) -> Iterator[dict[str, Any]]:
    """Yield every prompt, in order. Columns are read as lists: numpy is slow cell by cell."""
    names = [member.topic.name for member in evaluation.members]
    labels = list(zip(*(member.labels.tolist() for member in evaluation.members), strict=True))
    matches = list(zip(*(member.matches.tolist() for member in evaluation.members), strict=True))
    columns = (
        evaluation.stopped.tolist(),
        evaluation.should_stop.tolist(),
        evaluation.contradictory.tolist(),
        evaluation.undecided.tolist(),
        evaluation.conflict_rows.tolist(),
        evaluation.codes.tolist(),
    )
    for row, (stopped, wanted, contradictory, undecided, conflict, code) in enumerate(
        zip(*columns, strict=True)
    ):
        result: dict[str, Any] = {
            "number": row,
            "prompt": evaluation.texts[row],
            "places": list(evaluation.locations(row)),
            "expected_labels": {
                name: "both" if label == Label.BOTH else label == Label.YES
                for name, label in zip(names, labels[row], strict=True)
                if label != Label.UNLABELLED
            },
            "matched": [
                name
                for name, match in zip(names, matches[row], strict=True)
                if match == Triggered.YES
            ],
            "should_stop": None if contradictory else wanted,
            "stopped": None if stopped < Triggered.NO else bool(stopped),
            "stopped_by": list(evaluation.stopped_by.get(row, ()))
            if stopped == Triggered.YES
            else [],
            "outcome": CONTRADICTORY if contradictory else Outcome(code).name,
            "undecided": undecided,
            "conflict": conflict,
        }
        if row in evaluation.errors:
            result["error"] = evaluation.errors[row]
        if row in evaluation.notes:
            result["note"] = evaluation.notes[row]
        yield result
