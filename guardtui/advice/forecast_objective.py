"""A forecast of the real guardrail as the objective."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.candidates import Candidate
from guardtui.advice.objective import (
    Appraisal,
    Array,
    OwnPrompts,
    Rows,
    Stopped,
)
from guardtui.advice.smoothed_coverage import cautious_coverage
from guardtui.domain.guardrail import ScannerSettings, forecast_settings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.forecast.forecaster import Forecast, Forecaster


class ForecastVerdicts:
    """Likelier verdicts of a guardrail on definitions."""

    def __init__(self, forecaster: Forecaster, prompts: PromptSet) -> None:
        self._prompts, self._forecaster = prompts, forecaster

    @property
    def prompts(self) -> PromptSet:
        """The prompt set."""
        return self._prompts

    def verdicts(
        self, topics: Sequence[Topic], stopped: Stopped = lambda: False
    ) -> NDArray[np.bool_] | None:
        """Return whether each prompt likely matches each topic, bool [c, N]; None if stopped."""
        likely = np.empty((len(topics), len(self.prompts)), bool)
        for row, topic in enumerate(topics):
            forecast = self._forecaster.forecast(topic, stopped)
            if forecast is None:
                return None
            likely[row] = _match(forecast) > 0.5
        return likely


class ForecastObjective:
    """Measures definitions by a guardrail's expected verdicts, on some prompts of a set.

    No threshold is fitted, since the guardrail has its own operating point. Not thread-safe.
    """

    def __init__(
        self, forecaster: Forecaster, prompts: PromptSet, rows: Rows, sources: Rows
    ) -> None:
        self.prompts, self.rows, self.sources = prompts, rows, sources
        self._forecaster = forecaster
        self._belongs = prompts.expected[rows]
        self._own = OwnPrompts(prompts, rows)
        self._among = np.zeros(len(prompts), bool)
        self._among[rows] = True

    @property
    def settings(self) -> ScannerSettings:
        """Settings of the forecast guardrail."""
        return forecast_settings(self._forecaster.grounds.settings)

    def values(
        self, candidates: Sequence[Candidate], stopped: Stopped = lambda: False
    ) -> Array | None:
        """Return a cautious coverage of each candidate, [c]; None if stopped."""
        soft = np.empty((len(candidates), len(self.rows)))
        for index, candidate in enumerate(candidates):
            forecast = self._forecast(candidate.topic, stopped)
            if forecast is None or stopped():
                return None
            soft[index] = _match(forecast)[self.rows]
        return self._worth(soft, self._own.counted(candidates))

    def appraise(self, candidate: Candidate, stopped: Stopped = lambda: False) -> Appraisal | None:
        """Return the appraisal of one definition; None if stopped."""
        forecast = self._forecast(candidate.topic, stopped)
        if forecast is None:
            return None
        soft = _match(forecast)[self.rows]
        return Appraisal(soft, soft > 0.5, self._own.counted([candidate])[0])

    def on(self, rows: Rows) -> ForecastObjective:
        """Return the forecast as the objective on other rows of the set."""
        sources = self.sources[np.isin(self.sources, rows)]
        return ForecastObjective(self._forecaster, self.prompts, rows, sources)

    def judge(self, topic: Topic, appraisal: Appraisal, rows: Rows) -> NDArray[np.bool_]:
        """Return whether other prompts of the set are likely to match, bool [n]."""
        forecast = self._forecast(topic, lambda: False)
        assert forecast is not None  # noqa: S101 - nothing stops it
        likely: NDArray[np.bool_] = _match(forecast)[rows] > 0.5
        return likely

    def _forecast(self, topic: Topic, stopped: Stopped) -> Forecast | None:
        return self._forecaster.forecast(topic, stopped, among=self._among)

    def _worth(self, soft: Array, counted: NDArray[np.bool_]) -> Array:
        ours, theirs = counted & self._belongs, counted & ~self._belongs
        return cautious_coverage(soft, ours.astype(np.float64), theirs.astype(np.float64))


def _match(forecast: Forecast) -> Array:
    """Return the probability that each prompt matches the topic, [N]."""
    triggers = forecast.triggers
    return triggers if forecast.topic.intent is Intent.BLOCK else 1 - triggers
