"""The audit as JSON; undefined rates are null."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from guardtui.domain.profile_conflicts import Conflict, ConflictKind
from guardtui.domain.profile_evaluation import ProfileEvaluation
from guardtui.domain.profile_labels import Label
from guardtui.domain.statistics import Interval
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered
from guardtui.reports.audit import AuditReport
from guardtui.reports.json_data import (
    Count,
    Measured,
    MeasuredGuardrail,
    Omitted,
    Rate,
    Rates,
    Sha256,
    encode,
)

KIND_CODES: dict[ConflictKind, str] = {
    ConflictKind.STOPPED: "stopped_by_another",
    ConflictKind.BOTH: "matched_by_both",
    ConflictKind.LABELS: "labels_contradict",
    ConflictKind.OVERLAP: "topics_overlap",
}
"""Name of each kind of conflict for programs."""


@dataclass(frozen=True, slots=True)
class Composite:
    """The profile as a whole; a contradictory prompt counts in no rate."""

    prompts: Count
    contradictory: Count
    undecided: Count
    measured: Measured
    if_undecided_right: Rates


@dataclass(frozen=True, slots=True)
class TopicData:
    """A topic by itself and within the profile; `repeated` prompts are counted once."""

    definition: Topic
    fingerprint: Sha256
    prompt_file: str | None
    prompts: Count
    repeated: Count
    changes_verdicts: bool
    alone: Measured
    in_profile: Measured


@dataclass(frozen=True, slots=True)
class CrossRow:
    """How many prompts with a label of a topic each topic matched, by name."""

    topic: str
    expected_label: bool
    prompts: Count
    matched: dict[str, int]
    stopped: Count
    no_verdict: Count


@dataclass(frozen=True, slots=True)
class ConflictData:
    """Two topics in conflict; `results` are the numbers of the prompts."""

    kind: str
    first: str
    second: str
    prompts: Count
    share: float | None
    interval: Interval | None
    results: list[int]


@dataclass(frozen=True, slots=True)
class ResultData:
    """A prompt; labels are by topic, and `places` are where it stands."""

    number: Count
    prompt: str
    places: tuple[str, ...]
    expected_labels: dict[str, bool | Literal["both"]]
    matched: tuple[str, ...]
    should_stop: bool | None
    stopped: bool | None
    stopped_by: tuple[str, ...]
    outcome: str
    undecided: bool
    conflict: bool
    error: Annotated[str | None, Omitted]
    note: Annotated[str | None, Omitted]


@dataclass(frozen=True, slots=True)
class AuditData:
    """The topics of one profile together, by the engine."""

    profile: str
    default: Literal["allow", "block"]
    guardrail: MeasuredGuardrail
    threshold: Rate
    threshold_source: str
    notices: Sequence[str]
    composite: Composite
    topics: list[TopicData]
    conflict_count: Count
    cross_table: list[CrossRow]
    conflicts: list[ConflictData]
    results: list[ResultData]


def audit_json(report: AuditReport) -> str:
    """Return JSON, one line per entry of `conflicts` and `results`; see `encode`."""
    evaluation, settings = report.evaluation, report.settings
    data = AuditData(
        profile=report.profile,
        default="block" if evaluation.closed else "allow",
        guardrail=settings,
        threshold=settings.threshold,
        threshold_source=settings.threshold_source,
        notices=report.notices,
        composite=Composite(
            prompts=len(evaluation),
            contradictory=int(evaluation.contradictory.sum()),
            undecided=int(evaluation.undecided.sum()),
            measured=Measured.of(evaluation.metrics),
            if_undecided_right=Rates.of(evaluation.metrics_if_right),
        ),
        topics=[_topic(evaluation, index) for index in range(len(evaluation.members))],
        conflict_count=evaluation.conflict_count,
        cross_table=[
            CrossRow(
                topic=evaluation.name(row.topic),
                expected_label=row.belongs,
                prompts=row.prompts,
                matched={
                    _key(evaluation.name(index)): count for index, count in enumerate(row.matched)
                },
                stopped=row.stopped,
                no_verdict=row.missing,
            )
            for row in evaluation.cross_table
        ],
        conflicts=[_conflict(evaluation, conflict) for conflict in evaluation.conflicts],
        results=[_result(evaluation, row) for row in range(len(evaluation))],
    )
    return encode("audit", data)


def _topic(evaluation: ProfileEvaluation, index: int) -> TopicData:
    member = evaluation.members[index]
    return TopicData(
        definition=member.topic,
        fingerprint=member.topic.fingerprint,
        prompt_file=member.source or None,
        prompts=len(member.own),
        repeated=member.repeats,
        changes_verdicts=index not in evaluation.idle,
        alone=Measured.of(member.alone),
        in_profile=Measured.of(evaluation.in_profile(index)),
    )


def _conflict(evaluation: ProfileEvaluation, conflict: Conflict) -> ConflictData:
    return ConflictData(
        kind=KIND_CODES[conflict.kind],
        first=evaluation.name(conflict.first),
        second=evaluation.name(conflict.second),
        prompts=len(conflict.rows),
        share=conflict.share,
        interval=conflict.interval,
        results=conflict.rows.tolist(),
    )


def _key(name: str) -> str:
    """Return the name of a topic as a key, which can hold no lone surrogate."""
    return name.encode("utf-8", "replace").decode()


def _result(evaluation: ProfileEvaluation, row: int) -> ResultData:
    labels = {
        _key(member.topic.name): Label(int(member.labels[row])) for member in evaluation.members
    }
    contradictory = bool(evaluation.contradictory[row])
    stopped = int(evaluation.stopped[row])
    return ResultData(
        number=row,
        prompt=evaluation.texts[row],
        places=tuple(evaluation.locations(row)),
        expected_labels={
            name: "both" if label is Label.BOTH else label is Label.YES
            for name, label in labels.items()
            if label is not Label.UNLABELLED
        },
        matched=tuple(evaluation.matched(row)),
        should_stop=None if contradictory else bool(evaluation.should_stop[row]),
        stopped=None if stopped < Triggered.NO else bool(stopped),
        stopped_by=tuple(evaluation.stopped_by.get(row, ())) if stopped == Triggered.YES else (),
        outcome=evaluation.outcome(row),
        undecided=bool(evaluation.undecided[row]),
        conflict=bool(evaluation.conflict_rows[row]),
        error=evaluation.errors.get(row),
        note=evaluation.notes.get(row),
    )
