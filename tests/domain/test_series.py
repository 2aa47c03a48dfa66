"""The best of a series: simulated iterations without effect, and with one that is better."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from guardtui.domain.series import BestOfSeries, best_of_series

DUTY = np.arange(160) < 80


def verdicts(seed: int, rates: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return right verdicts, bool [n, 160], of iterations with these true rates [n]."""
    generator = np.random.default_rng(seed)
    hardness = generator.random(len(DUTY))
    moved = (hardness + generator.normal(0, 0.15, (len(rates), len(DUTY)))) % 1
    right: NDArray[np.bool_] = moved < rates[:, np.newaxis]
    return right


def coverage(right: NDArray[np.bool_]) -> NDArray[np.float64]:
    values: NDArray[np.float64] = np.minimum(
        right[:, DUTY].mean(axis=1), right[:, ~DUTY].mean(axis=1)
    )
    return values


def test_of_iterations_without_effect_the_best_loses_what_it_leads_by() -> None:
    expected, true = [], []
    for seed in range(40):
        right = verdicts(seed, np.full(20, 0.8))
        best = int(coverage(right).argmax())
        series = best_of_series(right, DUTY, best)
        assert series is not None
        assert series.count == 20
        expected.append(series.less)
        true.append(coverage(right)[best] - 0.8)
    assert np.mean(true) > 0.02
    assert np.mean(expected) == pytest.approx(np.mean(true), abs=0.02)


def test_a_best_that_is_far_ahead_loses_little() -> None:
    right = verdicts(1, np.array([0.3, 0.5, 0.4, 0.6, 0.9]))
    series = best_of_series(right, DUTY, 4)
    assert series is not None
    assert series.less < 0.03


def test_equal_iterations_have_nothing_to_lose_to_the_choice() -> None:
    right = np.repeat(verdicts(2, np.array([0.8])), 5, axis=0)
    fixed, fitted = (best_of_series(right, DUTY, 0, fitted=fitted) for fitted in (False, True))
    assert fixed is not None
    assert fitted is not None
    assert fixed.less == 0
    assert 0 <= fitted.less < 0.05


def test_short_series_and_tiny_classes_have_no_expectation() -> None:
    assert best_of_series(verdicts(3, np.full(2, 0.8)), DUTY, 0) is None
    assert best_of_series(verdicts(3, np.full(5, 0.8)), np.arange(160) < 1, 0) is None


def test_the_expectation_is_a_sentence() -> None:
    assert BestOfSeries(20, 0.041).text == ("best of 20: expect about 0.04 less on new prompts")
    assert BestOfSeries(4, 0.001).text == "best of 4"
