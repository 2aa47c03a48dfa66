"""Forecasts of a guardrail that has answered, beside what the engine measures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.objective import Array, OwnPrompts, Stopped, unchanged
from guardtui.advice.proposals import ForecastChange, Proposal
from guardtui.domain.guardrail import guardrail_label
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


def with_forecasts(
    current: Topic,
    proposals: Iterable[Proposal],
    forecaster: Forecaster,
    prompts: PromptSet,
    stopped: Stopped = lambda: False,
) -> tuple[Proposal, ...] | None:
    """Return proposals for a definition with what is expected on the guardrail; None if stopped.

    Prompts that are examples of either definition do not count. Raises ScannerError.
    """
    name = guardrail_label(forecaster.grounds.settings)
    own = OwnPrompts(prompts, np.arange(len(prompts)))
    known = []
    for proposal in proposals:
        counts = own.counted([unchanged(current), unchanged(proposal.topic)])
        counted: NDArray[np.bool_] = np.logical_and.reduce(counts, axis=0)
        change = forecaster.change(current, proposal.topic, counted, stopped)
        if stopped():
            return None
        forecast = None if change is None else ForecastChange(name, *change)
        known.append(replace(proposal, forecast=forecast))
    return tuple(known)


def _match(forecast: Forecast) -> Array:
    """Return the probability that each prompt matches the topic, [N]."""
    triggers = forecast.triggers
    return triggers if forecast.topic.intent is Intent.BLOCK else 1 - triggers
