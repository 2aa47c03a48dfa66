"""The audit for programs: a documented form with a `schema_version`; undefined rates are null."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from guardtui.domain.audit import CONTRADICTORY, Audit, Conflict, Label, Member
from guardtui.domain.metrics import Metrics
from guardtui.domain.statistics import CONFIDENCE, rate_intervals
from guardtui.domain.verdicts import Outcome, Triggered
from guardtui.reports.audit_base import KIND_CODES, AuditReport
from guardtui.reports.json_report import RATE_KEYS, dumps

SCHEMA_VERSION = 1


def write(report: AuditReport) -> str:
    """JSON, one line per entry of `conflicts` and `results`; ends with a line feed.

    Characters that do not show are escaped, so that the text is inert on a terminal and the same
    once it is read.
    """
    audit = report.audit
    head = _dumps(_document(report), indent=2)[:-2]
    conflicts = _lines(_conflict(audit, one) for one in audit.conflicts)
    results = _lines(_results(audit))
    return f'{head},\n  "conflicts": {conflicts},\n  "results": {results}\n}}\n'


def _lines(entries: Iterable[dict[str, Any]]) -> str:
    """A list with one line for each entry."""
    body = ",\n".join(f"    {_dumps(one)}" for one in entries)
    return f"[\n{body}\n  ]" if body else "[]"


def _dumps(value: Any, indent: int | None = None) -> str:
    """As `dumps`; a text of plain ASCII needs no search for what does not show."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    return text if text.isascii() and "\x7f" not in text else dumps(value, indent)


def _document(report: AuditReport) -> dict[str, Any]:
    audit, settings = report.audit, report.settings
    return {
        "schema_version": SCHEMA_VERSION,
        "report": "audit",
        "profile": report.profile,
        "default": "block" if audit.closed else "allow",
        "scanner": {
            "name": settings.name,
            "identity": settings.identity,
            "revision": settings.revision,
        },
        "threshold": settings.threshold,
        "threshold_source": settings.threshold_source,
        "notices": list(report.notices),
        "composite": _measured(audit.metrics)
        | {
            "prompts": len(audit),
            "contradictory": int(audit.contradictory.sum()),
            "undecided": int(audit.undecided.sum()),
            "if_undecided_right": _rates(audit.metrics_if_right),
            "against_rule": len(audit.against_rule),
        },
        "topics": [_topic(audit, place) for place in range(len(audit.members))],
        "conflict_count": audit.conflict_count,
        "cross_table": [
            {
                "topic": audit.name(one.topic),
                "expected_label": one.belongs,
                "prompts": one.prompts,
                "matched": {audit.name(place): count for place, count in enumerate(one.matched)},
                "stopped": one.stopped,
                "no_verdict": one.missing,
            }
            for one in audit.cross_table
        ],
    }


def _topic(audit: Audit, place: int) -> dict[str, Any]:
    one: Member = audit.members[place]
    return {
        "name": one.topic.name,
        "intent": one.topic.intent.value,
        "description": one.topic.description,
        "examples": list(one.topic.examples),
        "fingerprint": one.topic.fingerprint if one.given else None,
        "given": one.given,
        "prompt_file": one.source or None,
        "prompts": len(one.own),
        "repeated": one.repeats,
        "changes_verdicts": place not in audit.idle,
        "alone": _measured(one.alone),
        "in_profile": _measured(audit.in_profile(place)),
    }


def _conflict(audit: Audit, one: Conflict) -> dict[str, Any]:
    interval = one.interval
    return {
        "kind": KIND_CODES[one.kind],
        "first": audit.name(one.first),
        "second": audit.name(one.second),
        "prompts": len(one.rows),
        "share": one.share,
        "interval": interval and {"low": interval.low, "high": interval.high},
        "results": one.rows.tolist(),
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


def _results(audit: Audit) -> Iterator[dict[str, Any]]:
    """Every prompt, in order. Columns are read as lists: numpy is slow cell by cell."""
    names = [one.topic.name for one in audit.members]
    labels = list(zip(*(one.labels.tolist() for one in audit.members), strict=True))
    matches = list(zip(*(one.matches.tolist() for one in audit.members), strict=True))
    columns = (
        audit.stopped.tolist(),
        audit.should_stop.tolist(),
        audit.contradictory.tolist(),
        audit.undecided.tolist(),
        audit.conflict_rows.tolist(),
        audit.codes.tolist(),
    )
    for row, (stopped, wanted, contradictory, undecided, conflict, code) in enumerate(
        zip(*columns, strict=True)
    ):
        result: dict[str, Any] = {
            "number": row,
            "prompt": audit.prompts[row],
            "places": list(audit.places_of(row)),
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
            "stopped_by": list(audit.stopped_by(row)) if stopped == Triggered.YES else [],
            "outcome": CONTRADICTORY if contradictory else Outcome(code).name,
            "undecided": undecided,
            "conflict": conflict,
        }
        if row in audit.errors:
            result["error"] = audit.errors[row]
        if row in audit.notes:
            result["note"] = audit.notes[row]
        yield result
