"""`eval --likely-changes` in rounds: scan prompts in doubt until coverage is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from guardtui.app.scan.plan import FlipCheck, FlipGoal, FlipGrounds
from guardtui.app.scan.recorded_forecast import explained, not_recorded, recorded_guardrail
from guardtui.cli.diagnostics import note
from guardtui.domain.forecast_record import CheckedCoverage
from guardtui.domain.guardrail import ScannerSettings, guardrail_text
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.forecast.engine_features import EngineReader
from guardtui.forecast.forecaster import ForecastError
from guardtui.scanners.local.scanner import LocalScanner


@dataclass(eq=False)
class FlipRounds:
    """A check of likely changes from the session of a topic file; `check` is made by `begin`."""

    topic_path: Path
    topic: Topic
    prompts: PromptSet
    goal: FlipGoal
    check: FlipCheck | None = None

    async def begin(
        self, settings: ScannerSettings, known: NDArray[np.bool_], epochs: int
    ) -> FlipCheck:
        """Begin with a guardrail whose cached verdicts are `known`, bool [N]; prints the plan.

        Raises ForecastError if the session has too few verdicts of this guardrail.
        """
        recorded = recorded_guardrail(self.topic_path, settings.guardrail)
        if recorded.settings.guardrail != settings.guardrail:
            answered = (recorded.settings, *recorded.others)
            raise not_recorded(self.topic_path, settings.guardrail, answered)
        evaluations = [iteration.evaluation for iteration in recorded.iterations]
        grounds = FlipGrounds(
            evaluations, settings, self.topic, self.prompts, EngineReader(LocalScanner())
        )
        try:
            check = await FlipCheck.begin(grounds, None, self.goal, known, epochs)
        except ForecastError as error:
            raise explained(error, self.topic_path, recorded) from error
        self.check = check
        note(
            f"{len(check.doubtful):,} of {len(self.prompts):,} prompts are in doubt, by the "
            f"forecast of {guardrail_text(settings)}: coverage "
            f"{check.status.coverage.text}; at most {self.goal.calls:,} calls"
        )
        return check

    @property
    def checked(self) -> CheckedCoverage | None:
        """The result of the check; None before it began."""
        status = None if self.check is None else self.check.status
        return status and replace(status, ended=status.ended or "stopped")
