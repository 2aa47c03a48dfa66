"""Checks of likely flips: the forecast before one, the question to the author, and the goal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.app.connections import Connections
from guardtui.app.flip_check import (
    FlipCheck,
    FlipGoal,
    FlipGrounds,
    FlipStatus,
    rows_in_doubt,
    usual_goal,
)
from guardtui.app.forecasting import Forecasting
from guardtui.app.scan_plan import FlipPlan, ScanEstimate, ScanPlan
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.forecast.forecaster import Forecast
from guardtui.session.evaluator import with_epochs


@dataclass(frozen=True, eq=False)
class FlipStart:
    """State before a check: the forecast and its basis.

    `doubtful` are the rows in doubt, intp [k]. `onto` is the scan by this guardrail that the check
    continues, or None.
    """

    grounds: FlipGrounds
    first: Forecast
    doubtful: NDArray[np.intp]
    onto: Evaluation | None


class FlipScans:
    """Prepares checks, and remembers the author's goal."""

    def __init__(self, forecasting: Forecasting, connections: Connections) -> None:
        self._forecasting, self._connections = forecasting, connections
        self._goal: FlipGoal | None = None
        self._rest: FlipGoal | None = None
        """Remaining goal of a stopped check."""

    async def doubt(
        self, topic: Topic, prompts: PromptSet, estimate: ScanEstimate, onto: Evaluation | None
    ) -> FlipStart:
        """Forecast the definition for the guardrail to scan with. Raises ForecastError."""
        settings = with_epochs(estimate.settings, self._connections.options.epochs)
        if onto is not None and onto.settings.guardrail != settings.guardrail:
            onto = None  # of another judge
        grounds = self._forecasting.grounds(topic, prompts, settings, onto)
        first = await grounds.forecast_beside(onto)
        answered = None if onto is None else onto.verdicts.triggered
        return FlipStart(grounds, first, rows_in_doubt(first, prompts, answered), onto)

    def question(self, plan: ScanPlan, doubt: FlipStart, estimate: ScanEstimate) -> FlipPlan:
        """Return the question before a check."""
        coverage = doubt.first.rates.coverage
        assert coverage is not None  # noqa: S101 - `FlipGrounds.forecast` sees to it
        return FlipPlan(
            plan,
            coverage,
            doubt.first.grounds.scans,
            len(doubt.doubtful),
            int(estimate.known[doubt.doubtful].sum()),
            self._rest or self._goal or usual_goal(plan.cost.prompts),
        )

    def check(self, doubt: FlipStart, estimate: ScanEstimate, goal: FlipGoal | None) -> FlipCheck:
        """Return the agreed check; its goal becomes the next default."""
        self.forget_rest()
        self._goal = goal
        goal = goal or usual_goal(estimate.cost.prompts)
        return FlipCheck(doubt.grounds, doubt.first, goal, estimate.known, estimate.cost.epochs)

    def stopped(self, status: FlipStatus) -> None:
        """Remember the remaining calls of a stopped check as the next default."""
        goal = status.goal
        self._rest = FlipGoal(goal.within, max(1, goal.calls - status.calls))

    def forget_rest(self) -> None:
        """Forget the rest of a stopped check: the definition has changed."""
        self._rest = None
