"""Which iterations of a session belong to the series that the best was chosen from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.session.series import series_of
from guardtui.session.session import Decision, Iteration
from tests.guardrails import engine_settings

SETTINGS = engine_settings("engine-1", 0.5, "by hand")
EXPECTED = np.arange(60) < 30


def iteration(number: int, **change: object) -> Iteration:
    generator = np.random.default_rng(number)
    right = generator.random(60) < 0.8
    triggered = np.where(right, EXPECTED, ~EXPECTED).astype(np.int8)
    evaluation = Evaluation(
        Topic(name=f"topic {number}"),
        SETTINGS,
        "prompts",
        np.arange(60, dtype=np.uint64),
        EXPECTED,
        Verdicts(triggered, np.zeros(60, np.float32), np.zeros(60, np.int16)),
    )
    changed = replace(evaluation, **change)  # type: ignore[arg-type]
    return Iteration(number, "2026-01-01T00:00:00", Decision.KEEP, changed)


def test_a_series_has_the_comparable_definitions_and_each_once() -> None:
    iterations = [iteration(number) for number in range(4)]
    others = [
        iteration(4, settings=engine_settings("engine-2", 0.5, "by hand")),
        iteration(5, settings=engine_settings("engine-1", 0.7, "by hand")),
        iteration(6, prompt_set="other prompts"),
        iteration(7, topic=Topic(name="topic 1")),
    ]
    series = series_of([*iterations, *others], iterations[2])
    assert series is not None
    assert series.count == 4


def test_fitted_thresholds_differ_within_a_series() -> None:
    iterations = [
        iteration(number, settings=engine_settings("engine-1", number / 10, "fitted to 60 labels"))
        for number in range(5)
    ]
    series = series_of(iterations, iterations[0])
    assert series is not None
    assert series.count == 5


def test_without_a_best_or_with_two_iterations_there_is_no_series() -> None:
    iterations = [iteration(number) for number in range(2)]
    assert series_of(iterations, None) is None
    assert series_of(iterations, iterations[1]) is None
