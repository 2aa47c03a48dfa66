"""Figures of one thing agree wherever they stand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from guardtui.app.leaving import exit_report
from guardtui.app.shown_rates import expected_changes, shown_mistakes, shown_rates
from tests.app.headless import opened
from tests.app.scan.test_forecasting import scanned, topic_path

__all__ = ["topic_path"]


async def test_rates_and_counts_of_a_forecast_are_of_the_same_expectation(topic_path: Path) -> None:
    loop = await opened(topic_path)
    scanned(loop)
    state = await loop.describe("Personal tax advice: what to deduct and what to declare")
    evaluation, forecast, comparison = state.evaluation, state.forecast, state.comparison
    assert evaluation is not None
    assert forecast is not None
    assert comparison is not None
    rates = shown_rates(state, evaluation)
    missed, stopped = shown_mistakes(state, evaluation)
    duty = evaluation.should_trigger
    right = np.where(duty, forecast.triggers, 1 - forecast.triggers)
    assert missed == round(float((1 - right)[duty].sum()))
    assert stopped == round(float((1 - right)[~duty].sum()))
    fixed, broken = expected_changes(comparison, evaluation, forecast)
    before = comparison.evaluations[0].metrics
    wrong = before.fp + before.fn
    assert abs((wrong - fixed + broken) - (missed + stopped)) <= 2  # each is rounded
    report = exit_report(loop.services.workspace, state)
    for title, name in (("coverage", "coverage"), ("TPR", "true_positive_rate")):
        assert f"{title} {rates[name].text} (" in report
    assert re.search(rf"FP ≈{stopped}  FN ≈{missed}  ", report)
    await loop.services.close()
