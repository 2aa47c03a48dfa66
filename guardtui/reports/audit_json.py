"""The audit as JSON; undefined rates are null."""

from __future__ import annotations

from typing import Any

from guardtui.domain.profile_conflicts import Conflict, ConflictKind
from guardtui.domain.profile_evaluation import ProfileEvaluation
from guardtui.domain.profile_labels import Label
from guardtui.domain.verdicts import Triggered
from guardtui.reports.audit import AuditReport
from guardtui.reports.json_data import Measured, Rates, encode, guardrail_of

KIND_CODES: dict[ConflictKind, str] = {
    ConflictKind.STOPPED: "stopped_by_another",
    ConflictKind.BOTH: "matched_by_both",
    ConflictKind.LABELS: "labels_contradict",
    ConflictKind.OVERLAP: "topics_overlap",
}
"""Name of each kind of conflict for programs."""


def audit_json(report: AuditReport) -> str:
    """Return JSON, one line per entry of `conflicts` and `results`; see `encode`."""
    evaluation, settings = report.evaluation, report.settings
    data = {
        "profile": report.profile,
        "default": "block" if evaluation.closed else "allow",
        "guardrail": guardrail_of(settings),
        "threshold": settings.threshold,
        "threshold_source": settings.threshold_source,
        "notices": report.notices,
        "composite": {
            "prompts": len(evaluation),
            "contradictory": int(evaluation.contradictory.sum()),
            "undecided": int(evaluation.undecided.sum()),
            "measured": Measured.of(evaluation.metrics),
            "if_undecided_right": Rates.of(evaluation.metrics_if_right),
        },
        "topics": [_topic(evaluation, index) for index in range(len(evaluation.members))],
        "conflict_count": evaluation.conflict_count,
        "cross_table": [
            {
                "topic": evaluation.name(row.topic),
                "expected_label": row.belongs,
                "prompts": row.prompts,
                "matched": {
                    _key(evaluation.name(index)): count for index, count in enumerate(row.matched)
                },
                "stopped": row.stopped,
                "no_verdict": row.missing,
            }
            for row in evaluation.cross_table
        ],
        "conflicts": [_conflict(evaluation, conflict) for conflict in evaluation.conflicts],
        "results": [_result(evaluation, row) for row in range(len(evaluation))],
    }
    return encode("audit", data)


def _topic(evaluation: ProfileEvaluation, index: int) -> dict[str, Any]:
    member = evaluation.members[index]
    return {
        "definition": member.topic,
        "fingerprint": member.topic.fingerprint,
        "prompt_file": member.source or None,
        "prompts": len(member.own),
        "repeated": member.repeats,
        "changes_verdicts": index not in evaluation.idle,
        "alone": Measured.of(member.alone),
        "in_profile": Measured.of(evaluation.in_profile(index)),
    }


def _conflict(evaluation: ProfileEvaluation, conflict: Conflict) -> dict[str, Any]:
    return {
        "kind": KIND_CODES[conflict.kind],
        "first": evaluation.name(conflict.first),
        "second": evaluation.name(conflict.second),
        "prompts": len(conflict.rows),
        "share": conflict.share,
        "interval": conflict.interval,
        "results": conflict.rows.tolist(),
    }


def _key(name: str) -> str:
    """Return the name of a topic as a key, which can hold no lone surrogate."""
    return name.encode("utf-8", "replace").decode()


def _result(evaluation: ProfileEvaluation, row: int) -> dict[str, Any]:
    labels = {
        _key(member.topic.name): Label(int(member.labels[row])) for member in evaluation.members
    }
    contradictory = bool(evaluation.contradictory[row])
    stopped = int(evaluation.stopped[row])
    result: dict[str, Any] = {
        "number": row,
        "prompt": evaluation.texts[row],
        "places": list(evaluation.locations(row)),
        "expected_labels": {
            name: "both" if label is Label.BOTH else label is Label.YES
            for name, label in labels.items()
            if label is not Label.UNLABELLED
        },
        "matched": list(evaluation.matched(row)),
        "should_stop": None if contradictory else bool(evaluation.should_stop[row]),
        "stopped": None if stopped < Triggered.NO else bool(stopped),
        "stopped_by": list(evaluation.stopped_by.get(row, ())) if stopped == Triggered.YES else [],
        "outcome": evaluation.outcome(row),
        "undecided": bool(evaluation.undecided[row]),
        "conflict": bool(evaluation.conflict_rows[row]),
    }
    if row in evaluation.errors:
        result["error"] = evaluation.errors[row]
    if row in evaluation.notes:
        result["note"] = evaluation.notes[row]
    return result
