"""Checks of the likely flips as scans: what is known before one, its question, and its goal."""

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
class Doubt:
    """What is known before a check: its forecast, and what that rests on.

    `doubtful` are the rows in doubt, intp [k]. `onto` is the scan that the check goes on from, None
    where there is none by this very guardrail.
    """

    grounds: FlipGrounds
    first: Forecast
    doubtful: NDArray[np.intp]
    onto: Evaluation | None


class FlipScans:
    """Prepares checks, and remembers how far the author wants them to go."""

    def __init__(self, forecasting: Forecasting, connections: Connections) -> None:
        self._forecasting, self._connections = forecasting, connections
        self._goal: FlipGoal | None = None
        self._rest: FlipGoal | None = None
        """What is left of a check that was stopped."""

    async def doubt(
        self, topic: Topic, prompts: PromptSet, estimate: ScanEstimate, onto: Evaluation | None
    ) -> Doubt:
        """Forecast the definition, as the guardrail that is to be asked. Raises ForecastError."""
        settings = with_epochs(estimate.settings, self._connections.options.epochs)
        if onto is not None and onto.settings.identity != settings.identity:
            onto = None  # another judge's
        grounds = self._forecasting.grounds(topic, prompts, settings, onto)
        first = await grounds.forecast_beside(onto)
        answered = None if onto is None else onto.verdicts.triggered
        return Doubt(grounds, first, rows_in_doubt(first, prompts, answered), onto)

    def question(self, plan: ScanPlan, doubt: Doubt, estimate: ScanEstimate) -> FlipPlan:
        """Return what the author is asked before a check."""
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

    def check(self, doubt: Doubt, estimate: ScanEstimate, goal: FlipGoal | None) -> FlipCheck:
        """Return the check that the author agreed to; its goal is offered the next time."""
        self.forget_rest()
        self._goal = goal
        goal = goal or usual_goal(estimate.cost.prompts)
        return FlipCheck(doubt.grounds, doubt.first, goal, estimate.known, estimate.cost.epochs)

    def stopped(self, status: FlipStatus) -> None:
        """Offer the calls that are left of a check when the author goes on with it."""
        goal = status.goal
        self._rest = FlipGoal(goal.within, max(1, goal.calls - status.calls))

    def forget_rest(self) -> None:
        """Offer a whole check again: the definition is another one."""
        self._rest = None
