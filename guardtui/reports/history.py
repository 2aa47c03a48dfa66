"""The iterations of a session, for programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from guardtui.domain.statistics import Interval, rate_intervals
from guardtui.domain.topic import Topic
from guardtui.reports.json_data import MeasuredGuardrail, Rate
from guardtui.session.session import Decision, Iteration, Recorder

KIND = "history"


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """An iteration; `interval` is the 95 % interval of its coverage."""

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

    @classmethod
    def of(cls, iteration: Iteration) -> HistoryEntry:
        """Return the entry of an iteration."""
        evaluation = iteration.evaluation
        metrics, fitted = evaluation.metrics, evaluation.settings.has_fitted_threshold
        return cls(
            number=iteration.number,
            decision=iteration.decision,
            guardrail=evaluation.settings,
            coverage=metrics.coverage,
            tpr=metrics.true_positive_rate,
            tnr=metrics.true_negative_rate,
            interval=rate_intervals(metrics, fitted=fitted)["coverage"],
            definition=evaluation.topic,
            recorded_at=iteration.created,
            by=iteration.by,
        )


@dataclass(frozen=True, slots=True)
class History:
    """Iterations of a topic's session, oldest first."""

    iterations: tuple[HistoryEntry, ...]

    @classmethod
    def of(cls, iterations: Iterable[Iteration]) -> History:
        """Return the history of these iterations."""
        return cls(tuple(map(HistoryEntry.of, iterations)))
