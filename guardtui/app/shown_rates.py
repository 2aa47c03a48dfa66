"""The figures that a state shows: measured, estimated, or those of a forecast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from guardtui.domain.figures import ON_NEW_PROMPTS, rate_text
from guardtui.domain.metrics import RATE_TITLES
from guardtui.domain.prompts import chosen_caution
from guardtui.domain.statistics import Interval
from guardtui.domain.verdicts import is_correct, is_wrong

if TYPE_CHECKING:
    from guardtui.app.state import AppState
    from guardtui.domain.comparison import Comparison
    from guardtui.domain.estimates import RateEstimate
    from guardtui.domain.evaluation import Evaluation
    from guardtui.forecast.forecaster import Forecast


@dataclass(frozen=True, slots=True)
class ShownRate:
    """A rate as it is shown: `about` if it is an estimate, `note` says what of."""

    value: float | None
    about: bool = False
    change: float | None = None
    interval: Interval | None = None
    note: str = ""

    @property
    def text(self) -> str:
        """The rate with "≈" if it is an estimate, or `n/a`."""
        return f"{'≈' if self.about and self.value is not None else ''}{rate_text(self.value)}"


def shown_rates(state: AppState, evaluation: Evaluation) -> Mapping[str, ShownRate]:
    """Return the shown rates by their names in `Metrics`.

    Those of a forecast, the estimates of an incomplete scan, or those of all verdicts.
    """
    forecast, partial, metrics = state.forecast, state.partial, evaluation.metrics
    rates = {}
    if forecast is not None:
        for name, expected in forecast.rates.by_name.items():
            change = None
            if name == "coverage" and expected is not None and forecast.before is not None:
                change = expected.value - forecast.before
            rates[name] = _estimated(expected, "if scanned", change)
        return rates
    comparison, intervals = state.comparison, evaluation.intervals
    estimates = {} if partial is None or partial.estimate is None else partial.estimate.rates
    for name in RATE_TITLES:
        value: float | None = getattr(metrics, name)
        if partial is None or partial.sampled:
            change = None if comparison is None else comparison.deltas[name]
            note = "" if name != "coverage" else ON_NEW_PROMPTS
            if note and chosen_caution(state.prompts):
                note = "on such prompts"
            interval = intervals.get(name)
            about = evaluation.is_of_a_part
            rates[name] = ShownRate(value, about, change, interval, note if interval else "")
            continue
        done, total = partial.answered.get(name, (0, 0))
        expected = None if total and not done else estimates.get(name)
        if expected is not None:  # without any verdict it would be that of a forecast alone
            rates[name] = _estimated(expected, f"of all {metrics.prompts}")
        elif (bounds := partial.bounds.get(name)) is not None and not total:
            limits = Interval(bounds.low, bounds.high)
            rates[name] = ShownRate(value, interval=limits, note="possible")
        else:
            rates[name] = ShownRate(value)
    return rates


def _estimated(rate: RateEstimate | None, note: str, change: float | None = None) -> ShownRate:
    if rate is None:
        return ShownRate(None)
    return ShownRate(rate.value, True, change, Interval(rate.low, rate.high), note)


def shown_mistakes(state: AppState, evaluation: Evaluation) -> tuple[int, int]:
    """Return how many prompts are missed, and how many are wrongly stopped.

    Of a forecast both are expected numbers, like its rates: more or fewer than the prompts whose
    likelier verdict is wrong.
    """
    metrics, forecast = evaluation.metrics, state.forecast
    if forecast is None:
        return metrics.fn, metrics.fp
    missed, stopped = (
        0 if rate is None else round((1 - rate.value) * count)
        for rate, count in (
            (forecast.rates.tpr, metrics.tp + metrics.fn),
            (forecast.rates.tnr, metrics.tn + metrics.fp),
        )
    )
    return missed, stopped


def expected_changes(
    comparison: Comparison, evaluation: Evaluation, forecast: Forecast
) -> tuple[int, int]:
    """Return how many prompts a forecast expects to be fixed, and to be broken."""
    right = np.where(evaluation.should_trigger, forecast.triggers, 1 - forecast.triggers)
    then = comparison.then
    fixed = right[is_wrong(then)].sum()
    broken = (1 - right)[(then >= 0) & is_correct(then)].sum()
    return round(float(fixed)), round(float(broken))
