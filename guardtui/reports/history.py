"""The iterations of a session, for programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from guardtui.domain.statistics import Interval
from guardtui.domain.topic import Topic
from guardtui.reports.json_data import MeasuredGuardrail, Rate
from guardtui.session.experiments import ExperimentRecord
from guardtui.session.history import best_and_baselines
from guardtui.session.session import Decision, Iteration, Recorder, Session

KIND = "history"


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """An iteration; `interval` is the 95 % interval of its coverage.

    An incomplete scan has no rates: the prompts that it asked may be chosen.
    `best` and `baseline` are among the iterations of its guardrail; `prompt_set` is the fingerprint
    of its prompts and labels.
    """

    number: Annotated[int, Field(ge=0)]
    decision: Decision
    guardrail: MeasuredGuardrail
    coverage: Rate
    tpr: Rate
    tnr: Rate
    interval: Interval | None
    definition: Topic
    recorded_at: Annotated[str, Field(description="ISO 8601, UTC.")]
    by: Recorder
    prompt_set: str
    best: bool
    baseline: bool

    @classmethod
    def of(cls, iteration: Iteration, *, best: bool, baseline: bool) -> HistoryEntry:
        """Return the entry of an iteration."""
        evaluation = iteration.evaluation
        return cls(
            number=iteration.number,
            decision=iteration.decision,
            guardrail=evaluation.settings,
            coverage=evaluation.rate("coverage"),
            tpr=evaluation.rate("true_positive_rate"),
            tnr=evaluation.rate("true_negative_rate"),
            interval=evaluation.coverage_interval,
            definition=evaluation.topic,
            recorded_at=iteration.created,
            by=iteration.by,
            prompt_set=evaluation.prompt_set,
            best=best,
            baseline=baseline,
        )


@dataclass(frozen=True, slots=True)
class ExperimentEntry:
    """An experiment on a definition: `calls` were made, and candidate `kept` (from 1) is kept."""

    definition: Topic
    guardrail: MeasuredGuardrail
    candidates: Annotated[int, Field(ge=0)]
    ending: Annotated[str, Field(description="Why it has ended; empty if it has not.")]
    kept: int | None
    calls: Annotated[int, Field(ge=0)]
    recorded_at: Annotated[str, Field(description="ISO 8601, UTC.")]

    @classmethod
    def of(cls, record: ExperimentRecord) -> ExperimentEntry:
        """Return the entry of an experiment."""
        return cls(
            definition=record.topic,
            guardrail=record.settings,
            candidates=len(record.candidates),
            ending=record.ending,
            kept=record.kept,
            calls=record.calls,
            recorded_at=record.created,
        )


@dataclass(frozen=True, slots=True)
class History:
    """Iterations and experiments of a topic's session, oldest first."""

    iterations: tuple[HistoryEntry, ...]
    experiments: tuple[ExperimentEntry, ...] = ()

    @classmethod
    def of(
        cls,
        iterations: Iterable[Iteration],
        session: Session,
        experiments: Iterable[ExperimentRecord] = (),
    ) -> History:
        """Return the history of these iterations of a session."""
        best, baselines = best_and_baselines(session)
        entries = (
            HistoryEntry.of(
                iteration, best=iteration.number in best, baseline=iteration.number in baselines
            )
            for iteration in iterations
        )
        return cls(tuple(entries), tuple(map(ExperimentEntry.of, experiments)))
