"""The plan of a remote scan: what it asks, its cost, the author's choice, and likely changes.

A check of likely changes scans the most informative prompts until coverage is precise enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.app.ports import Question
from guardtui.app.stoppable import run_stoppable
from guardtui.domain.estimates import RateEstimate
from guardtui.domain.evaluation import Evaluation, should_trigger
from guardtui.domain.figures import count_text, duration_text
from guardtui.domain.forecast_record import CheckedCoverage
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, is_answered
from guardtui.forecast.engine_features import EngineReader
from guardtui.forecast.forecaster import Forecast, Forecaster, ForecastError, fit
from guardtui.scanners.local.scanner import Stopped
from guardtui.scanners.models.expense import CallExpense
from guardtui.scanners.remote import GIVE_UP_AFTER
from guardtui.session.scan_order import teaching_order

WITHIN = 0.02
"""Default goal: half the width of the 95 % interval of coverage.

A change of coverage counts from 0.02 on (`trust.MOVED`); a wider interval could not show it.
"""
LEAST_CALLS = 50
CALLS_SHARE = 0.1
"""Maximum share of the calls of a full scan, if that is more than `LEAST_CALLS`."""

_ROUNDS = 10
_SMALLEST_ROUND = 5


@dataclass(frozen=True, slots=True)
class FlipGoal:
    """End of a check: coverage is known to ±`within`, or `calls` were made."""

    within: float
    calls: int


def usual_goal(prompts: int) -> FlipGoal:
    """Return the default goal for this number of prompts."""
    return FlipGoal(WITHIN, min(prompts, max(LEAST_CALLS, round(CALLS_SHARE * prompts))))


class EndReason(StrEnum):
    """Reasons for the end of a check, in words."""

    WITHIN = "the goal is reached"
    CALLS = "the limit of calls is reached"
    NO_DOUBT = "no other prompt is in doubt"
    BUDGET = "the budget of the judge is spent"
    FAILURES = f"{GIVE_UP_AFTER} prompts in a row got no verdict"


# --- the question to the author --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScanRequest:
    """Scan of a definition and its prompts, requested by the author.

    `ask` always shows the plan; `missing` scans only rows without a verdict, `flips` only those in
    doubt, in rounds.
    """

    topic: Topic
    prompts: PromptSet
    ask: bool = False
    missing: bool = False
    flips: bool = False


@dataclass(frozen=True, slots=True)
class ScanCost:
    """Prompts of a scan and how many are cached; the same for the likely changes.

    `logged` further prompts have a verdict of production, from a log, and are not asked.
    `rate` is in prompts a second, None if unknown; `expense` is the usage of a judge's call, None
    if calls are free.
    """

    prompts: int
    known: int
    likely: int
    likely_known: int
    rate: float | None
    epochs: int = 1
    expense: CallExpense | None = None
    logged: int = 0

    def calls(self, prompts: int, known: int) -> int:
        """Return the number of calls for `prompts` prompts of which `known` are cached."""
        return prompts - known + prompts * (self.epochs - 1)

    def text(self, prompts: int, known: int) -> str:
        """Return the cost of a scan of so many prompts, of which `known` are cached, in words."""
        calls = self.calls_text(self.calls(prompts, known))
        return f"{count_text(prompts, 'prompt')}: {known} known, {calls}"

    def calls_text(self, calls: int) -> str:
        """Return what so many calls cost, in words."""
        words = count_text(calls, "call")
        if self.expense is not None and self.expense.models > 1:
            words += f" to each of {self.expense.models} models"
        if calls and self.rate:
            words += f", about {duration_text(calls / self.rate)}"
        expense = "" if self.expense is None else self.expense.text(calls)
        return f"{words}; {expense}" if expense else words


@dataclass(frozen=True, slots=True)
class ScanChoice:
    """The author's choice: deploy the definition first or not, all rows or only likely changes.

    `agreed` scans, and deploys definitions, without a question from now on; `other` scans with the
    other guardrail (AIRS or the judge). `goal` ends a check of likely changes.
    """

    apply: bool
    likely: bool
    agreed: bool
    other: bool = False
    goal: FlipGoal | None = None


PlanTone: TypeAlias = Literal["plain", "warning", "aside"]


@dataclass(frozen=True, slots=True)
class ScanPlan(Question[ScanChoice]):
    """Question about the changes and cost of a scan. `changes` is None without deployment.

    `unknown` is the revision of the topic that the profile has, if its text is unknown: only then
    may it be scanned without the changes.
    `title` is the profile or the model. With `judge` a model scans, without deployment. `other`
    names the other guardrail that could scan, or is "".
    """

    title: str
    changes: tuple[str, ...] | None
    warnings: tuple[str, ...]
    cost: ScanCost
    agreed: bool
    judge: bool = False
    other: str = ""
    who: str = "a judge"
    unknown: int | None = None

    @property
    def heading(self) -> str:
        """Which guardrail scans."""
        return f"Scan with {self.who if self.judge else 'AIRS'}"

    @property
    def yes(self) -> str:
        """What the author agrees to, in words."""
        return "Apply and scan" if self.changes else "Scan"

    @property
    def as_planned(self) -> ScanChoice:
        """The choice of an author who agrees to all of it."""
        return ScanChoice(bool(self.changes), likely=False, agreed=self.agreed)

    def lines(self) -> Iterator[tuple[str, PlanTone]]:
        """Yield the target, its changes there, warnings, and the basis of the cost, inert."""
        yield display_text(self.title), "plain"
        if self.judge:
            text = "Each prompt is sent to the model, with the definition as it is here."
            yield text, "plain"
        elif self.changes is None:
            yield (
                "No service account is set, so the definition is not applied: verdicts are on the "
                "profile's current one.",
                "warning",
            )
        elif not self.changes:
            yield "The profile has this definition in effect.", "plain"
        else:
            yield "To have this definition in effect:", "plain"
            for change in self.changes:
                yield f"  + {display_text(change)}", "plain"
            if self.unknown is not None:
                yield (
                    f"The profile has revision {self.unknown} of the topic, whose text AIRS does "
                    "not show: scan without applying only if it is this definition.",
                    "warning",
                )
        for warning in self.warnings:
            yield f"⚠ {display_text(warning)}", "warning"
        if self.cost.expense is not None:
            yield self.cost.expense.basis, "aside"


@dataclass(frozen=True, slots=True)
class FlipPlan(Question[ScanChoice]):
    """Question about a check of likely changes; `scan` is the plan of its scan.

    `coverage` is expected from `scans` recorded scans. `doubtful` prompts are in doubt, `known` of
    them cached. `goal` is the default.
    """

    scan: ScanPlan
    coverage: RateEstimate
    scans: int
    doubtful: int
    known: int
    goal: FlipGoal

    @property
    def calls(self) -> int:
        """Number of calls for all prompts in doubt."""
        return self.scan.cost.calls(self.doubtful, self.known)

    @property
    def aim(self) -> str:
        """What coverage is expected, and what is scanned until it is known; before the goal."""
        return (
            f"Coverage is expected at {self.coverage.text}, from "
            f"{count_text(self.scans, 'scan')}. Prompts in doubt are scanned until the interval "
            "is as narrow as"
        )

    def cost(self, calls: int) -> str:
        """Return the cost with at most so many calls."""
        most = self.scan.cost.calls_text(min(calls, self.calls))
        doubtful = count_text(self.doubtful, "prompt")
        return f"{doubtful} in doubt, {self.known} of them known: at most {most}."


# --- checks of likely changes ------------------------------------------------------------------


@dataclass(eq=False)
class FlipGrounds:
    """Basis of a check's forecasts: earlier verdicts of the guardrail and the engine's features.

    `evaluations` are all recorded ones, oldest first, without the one that the check completes.
    """

    evaluations: Sequence[Evaluation]
    settings: ScannerSettings
    topic: Topic
    prompts: PromptSet
    reader: EngineReader
    forecaster: Forecaster | None = None
    """The newest forecaster, fitted to the verdicts of the check too."""

    def is_of(self, scan: Evaluation) -> bool:
        """Return whether a scan is of this definition, guardrail and prompt set."""
        return scan.settings.guardrail == self.settings.guardrail and scan.key.same_subject(
            self.topic, self.prompts.fingerprint
        )

    def forecast(
        self, so_far: Evaluation | None, stopped: Stopped = lambda: False
    ) -> Forecast | None:
        """Fit to all verdicts, including those of this definition so far; None if stopped.

        Blocks. Raises ForecastError (also if coverage is undefined) and ScannerError.
        """
        evaluations, answered = [*self.evaluations], None
        if so_far is not None and so_far.metrics.total:
            evaluations.append(so_far)
            answered = so_far.verdicts.triggered
        forecaster = fit(evaluations, self.settings, self.prompts, self.reader, stopped=stopped)
        if forecaster is None:
            return None
        self.forecaster = forecaster
        forecast = forecaster.forecast(self.topic, stopped, answered)
        if forecast is not None and forecast.rates.coverage is None:
            raise ForecastError("the prompts have one label only, so there is no coverage to check")
        return forecast

    async def forecast_beside(self, so_far: Evaluation | None) -> Forecast:
        """Forecast in a thread. Raises as `forecast`."""
        forecast = await run_stoppable(lambda stopped: self.forecast(so_far, stopped))
        assert forecast is not None  # noqa: S101 - only cancelling stops it
        return forecast


class FlipCheck:
    """Chooses the most informative prompts, round by round, by a forecast fitted for each round.

    A prompt costs one call for each epoch, one less if its verdict is `known` (bool [N]). A round
    has about a tenth of the calls, so that the forecast is fitted about ten times.
    """

    def __init__(
        self,
        grounds: FlipGrounds,
        first: Forecast,
        goal: FlipGoal,
        known: NDArray[np.bool_],
        epochs: int,
        answered: NDArray[np.int8] | None,
    ) -> None:
        """`first` is the forecast before any call; use `begin`, which makes it."""
        self._grounds, self.first = grounds, first
        self._forecast: Forecast | None = first
        self._costs = np.where(known, epochs - 1, epochs)
        self._asked = np.zeros(len(known), bool)
        self._last = np.empty(0, np.intp)
        self._failures = 0
        self.doubtful = rows_in_doubt(first, grounds.prompts, answered)
        """Rows in doubt before any call, intp [k]."""
        self.known = int(known[self.doubtful].sum())
        """How many of these are cached."""
        assert first.rates.coverage is not None  # noqa: S101 - `FlipGrounds.forecast` sees to it
        self.status = CheckedCoverage(first.rates.coverage, goal.within, 0, goal.calls, "")
        """The expected coverage and the calls made."""

    @classmethod
    async def begin(
        cls,
        grounds: FlipGrounds,
        onto: Evaluation | None,
        goal: FlipGoal,
        known: NDArray[np.bool_],
        epochs: int = 1,
    ) -> FlipCheck:
        """Forecast the definition; `onto` is the scan that the check completes, or None.

        Raises ForecastError and ScannerError.
        """
        first = await grounds.forecast_beside(onto)
        return cls(
            grounds, first, goal, known, epochs, None if onto is None else onto.verdicts.triggered
        )

    def aim(self, goal: FlipGoal) -> None:
        """Set the goal. Only before the first round."""
        self.status = replace(self.status, within=goal.within, most_calls=goal.calls)

    async def next_rows(self, so_far: Evaluation) -> NDArray[np.intp]:
        """Return the rows to scan next, intp [k], the most informative first; empty at the end."""
        forecast = self._forecast or await self._grounds.forecast_beside(so_far)
        self._forecast = None
        coverage = forecast.rates.coverage
        assert coverage is not None  # noqa: S101 - as above
        self._count_failures(so_far)
        prompts, answered = self._grounds.prompts, so_far.verdicts.triggered
        doubtful = rows_in_doubt(forecast, prompts, answered)
        doubtful = doubtful[~self._asked[doubtful]]
        rows = self._affordable(doubtful)
        ended = self._end(coverage, so_far, in_doubt=len(doubtful) > 0, affordable=len(rows) > 0)
        self.status = replace(self.status, coverage=coverage, calls=self._calls, ended=ended)
        if ended:
            return np.empty(0, np.intp)
        self._asked[rows] = True
        self._last = rows
        return rows

    @property
    def asked(self) -> int:
        """Number of scanned prompts."""
        return int(np.count_nonzero(self._asked))

    @property
    def _calls(self) -> int:
        return int(self._costs[self._asked].sum())

    def _end(
        self, coverage: RateEstimate, so_far: Evaluation, *, in_doubt: bool, affordable: bool
    ) -> str:
        if coverage.half_width <= self.status.within:
            return EndReason.WITHIN
        if so_far.verdicts.beyond_budget:
            return EndReason.BUDGET
        if self._failures >= GIVE_UP_AFTER:
            return EndReason.FAILURES
        if affordable:
            return ""
        return EndReason.CALLS if in_doubt else EndReason.NO_DOUBT

    def _affordable(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the first of these rows that fit into a round and the remaining calls."""
        remaining = self.status.most_calls - self._calls
        most = min(remaining, max(_SMALLEST_ROUND, self.status.most_calls // _ROUNDS))
        return rows[np.cumsum(self._costs[rows]) <= most]

    def _count_failures(self, so_far: Evaluation) -> None:
        """Count consecutive prompts without a verdict, over all rounds."""
        for triggered in so_far.verdicts.triggered[self._last].tolist():
            self._failures = self._failures + 1 if triggered == Triggered.NO_VERDICT else 0


def rows_in_doubt(
    forecast: Forecast, prompts: PromptSet, answered: NDArray[np.int8] | None
) -> NDArray[np.intp]:
    """Return the unanswered rows whose verdict may change, the most informative first.

    `answered` int8 [N] are the guardrail's verdicts on the definition (`Triggered`), or None.
    """
    duty = should_trigger(prompts.expected, forecast.topic.intent)
    right = np.where(duty, forecast.triggers, 1 - forecast.triggers)
    rows = teaching_order(forecast.changes, right, duty)
    return rows if answered is None else rows[~is_answered(answered[rows])]
