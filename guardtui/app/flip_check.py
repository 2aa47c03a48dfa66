"""A check of likely flips: which prompts to ask next, until coverage is known closely enough."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.estimates import RateEstimate
from guardtui.domain.evaluation import Evaluation, ScannerSettings, should_trigger
from guardtui.domain.figures import count_text
from guardtui.domain.forecast_record import CheckedCoverage
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, is_answered
from guardtui.forecast.expected import Expected
from guardtui.forecast.forecaster import Forecast, Forecaster, ForecastError, fit
from guardtui.forecast.readings import EngineReader
from guardtui.scanners.local.scanner import Stopped
from guardtui.scanners.remote import GIVE_UP_AFTER
from guardtui.session.scan_order import teaching_order

WITHIN = 0.02
"""Half of the 95 % interval of coverage that is wanted where nothing else is said.

From 0.02 on a change of coverage has a direction (`trust.MOVED`), so a wider interval could not
tell whether an edit moved it.
"""
LEAST_CALLS = 50
CALLS_SHARE = 0.1
"""A check makes at most this share of the calls of a full scan, but may make `LEAST_CALLS`."""

_ROUNDS = 10
_SMALLEST_ROUND = 5


@dataclass(frozen=True, slots=True)
class FlipGoal:
    """When a check ends: coverage is known `within` ± this, or so many `calls` are made."""

    within: float
    calls: int


def usual_goal(prompts: int) -> FlipGoal:
    """Return the goal for so many prompts where the author named none."""
    return FlipGoal(WITHIN, min(prompts, max(LEAST_CALLS, round(CALLS_SHARE * prompts))))


class Ended(StrEnum):
    """Why a check ended, in words."""

    WITHIN = "that is as close as was wanted"
    CALLS = "the calls are spent"
    NO_DOUBT = "no other prompt is in doubt"
    BUDGET = "the budget of the judge is spent"
    FAILURES = f"{GIVE_UP_AFTER} prompts in a row got no verdict"


@dataclass(frozen=True, slots=True)
class FlipStatus:
    """How far a check is: coverage as it is expected now, and the calls that were made.

    `ended` is None while it goes on.
    """

    goal: FlipGoal
    coverage: Expected
    calls: int
    ended: Ended | None = None

    @property
    def checked(self) -> CheckedCoverage:
        """The same for reports."""
        return CheckedCoverage(
            RateEstimate(self.coverage.value, self.coverage.low, self.coverage.high),
            self.goal.within,
            self.calls,
            self.goal.calls,
            "stopped" if self.ended is None else str(self.ended),
        )

    @property
    def text(self) -> str:
        """What is expected now, after how many calls and why it ended, as a sentence."""
        why = "" if self.ended is None else f"; {self.ended}"
        return (
            f"Coverage is expected at {expected_text(self.coverage)} after "
            f"{count_text(self.calls, 'call')} (wanted ±{self.goal.within:g}){why}."
        )


def expected_text(expected: Expected) -> str:
    """Return a figure with its interval: `0.872 [0.812 – 0.921], ±0.055`."""
    return (
        f"{expected.value:.3f} [{expected.low:.3f} – {expected.high:.3f}], "
        f"±{expected.half_width:.3f}"
    )


@dataclass(eq=False)
class FlipGrounds:
    """What a check is forecast from: earlier verdicts of a guardrail, and how texts are read.

    `evaluations` are all that are recorded, oldest first, but for the one that the check completes.
    """

    evaluations: Sequence[Evaluation]
    settings: ScannerSettings
    topic: Topic
    prompts: PromptSet
    reader: EngineReader
    forecaster: Forecaster | None = None
    """The newest one, fitted to the verdicts of the check as well."""

    def is_of(self, scan: Evaluation) -> bool:
        """Whether a scan is one of this definition by this guardrail on these prompts."""
        return scan.settings.identity == self.settings.identity and scan.key.same_subject(
            self.topic, self.prompts.fingerprint
        )

    def forecast(
        self, so_far: Evaluation | None, stopped: Stopped = lambda: False
    ) -> Forecast | None:
        """Fit to all verdicts, those so far of this definition among them; None when stopped.

        Blocks. Raises ForecastError, also where there is no coverage to forecast; ScannerError.
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
        stop = threading.Event()
        try:
            forecast = await asyncio.to_thread(self.forecast, so_far, stop.is_set)
        except asyncio.CancelledError:
            stop.set()
            raise
        assert forecast is not None  # noqa: S101 - only cancelling stops it
        return forecast


class FlipCheck:
    """Chooses round after round the prompts that teach most, by a forecast fitted anew each time.

    A prompt in doubt costs one call for each epoch, one less where its verdict is `known` (bool
    [N]). `first` is the forecast before any call; a round has about a tenth of the calls, so that
    the forecast is fitted about ten times, whatever the size of the prompt set.
    """

    def __init__(
        self,
        grounds: FlipGrounds,
        first: Forecast,
        goal: FlipGoal,
        known: NDArray[np.bool_],
        epochs: int = 1,
    ) -> None:
        self._grounds, self._goal = grounds, goal
        self._forecast: Forecast | None = first
        self._costs = np.where(known, epochs - 1, epochs)
        self._asked = np.zeros(len(known), bool)
        self._last = np.empty(0, np.intp)
        self._failures = 0
        assert first.rates.coverage is not None  # noqa: S101 - `FlipGrounds.forecast` sees to it
        self.status = FlipStatus(goal, first.rates.coverage, 0)

    async def next_rows(self, so_far: Evaluation) -> NDArray[np.intp]:
        """Return the rows to ask next, intp [k], the most telling first; none at the end."""
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
        self.status = FlipStatus(self._goal, coverage, self._calls, ended)
        if ended is not None:
            return np.empty(0, np.intp)
        self._asked[rows] = True
        self._last = rows
        return rows

    @property
    def asked(self) -> int:
        """Prompts that were asked for."""
        return int(np.count_nonzero(self._asked))

    @property
    def _calls(self) -> int:
        return int(self._costs[self._asked].sum())

    def _end(
        self, coverage: Expected, so_far: Evaluation, *, in_doubt: bool, affordable: bool
    ) -> Ended | None:
        if coverage.half_width <= self._goal.within:
            return Ended.WITHIN
        if so_far.verdicts.beyond_budget:
            return Ended.BUDGET
        if self._failures >= GIVE_UP_AFTER:
            return Ended.FAILURES
        if affordable:
            return None
        return Ended.CALLS if in_doubt else Ended.NO_DOUBT

    def _affordable(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the first of these rows, as many as a round and the calls that are left allow."""
        left = self._goal.calls - self._calls
        most = min(left, max(_SMALLEST_ROUND, self._goal.calls // _ROUNDS))
        return rows[np.cumsum(self._costs[rows]) <= most]

    def _count_failures(self, so_far: Evaluation) -> None:
        """Count the prompts in a row without a verdict, over all rounds."""
        for triggered in so_far.verdicts.triggered[self._last].tolist():
            self._failures = self._failures + 1 if triggered == Triggered.NO_VERDICT else 0


def rows_in_doubt(
    forecast: Forecast, prompts: PromptSet, answered: NDArray[np.int8] | None
) -> NDArray[np.intp]:
    """Return the rows without an answer whose newest verdict may change, the most telling first.

    `answered` int8 [N] is what the guardrail has said of the definition (`Triggered`), None where
    it has said nothing.
    """
    duty = should_trigger(prompts.expected, forecast.topic.intent)
    right = np.where(duty, forecast.triggers, 1 - forecast.triggers)
    rows = teaching_order(forecast.changes, right, duty)
    return rows if answered is None else rows[~is_answered(answered[rows])]
