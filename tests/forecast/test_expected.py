"""Expected rates: means of probabilities, with calibrated intervals."""

from __future__ import annotations

import numpy as np
import pytest

from guardtui.forecast.expected import averaged_with_counts, expected_rates
from guardtui.forecast.model import MatchProbabilities, VerdictModel
from tests.forecast.guardrails import MadeUp


def chances(match: list[float]) -> MatchProbabilities:
    """Chances without anything that the prompts share."""
    count = len(match)
    return MatchProbabilities(
        np.array(match), np.zeros(count), np.zeros((count, 1)), np.zeros((1, 1))
    )


def test_rates_are_means_and_coverage_the_smaller_one() -> None:
    rates = expected_rates(
        chances([0.9, 0.7, 0.1, 0.3, 0.2]), np.array([True, True, False, False, False])
    )
    assert rates.tpr is not None
    assert rates.tnr is not None
    assert rates.coverage is not None
    assert rates.tpr.value == pytest.approx(0.8)
    assert rates.tnr.value == pytest.approx(0.8)
    assert rates.coverage.value == pytest.approx(0.8)
    assert rates.tpr.low < 0.8 < rates.tpr.high
    assert rates.accuracy is not None
    assert rates.accuracy.value == pytest.approx(0.8)
    assert rates.accuracy.low > rates.coverage.low
    assert 0 <= rates.coverage.low <= rates.coverage.high <= 1


def test_a_class_without_prompts_has_no_rate_and_there_is_no_coverage() -> None:
    rates = expected_rates(chances([0.9, 0.7]), np.array([True, True]))
    assert rates.tpr is not None
    assert rates.tpr.value == pytest.approx(0.8)
    assert rates.tnr is None
    assert rates.coverage is None
    assert rates.better is None
    none = expected_rates(chances([0.9, 0.7]), np.array([False, False]))
    assert none.tpr is None
    assert none.tnr is not None
    assert none.tnr.value == pytest.approx(0.2)


def test_the_chance_of_being_better_is_near_one_half_where_nothing_changes() -> None:
    rates = expected_rates(chances([0.8] * 50 + [0.2] * 50), np.arange(100) < 50, before=0.77)
    assert rates.better is not None
    assert 0.2 < rates.better < 0.8
    likely_equal = expected_rates(chances([1.0] * 10 + [1e-3] * 10), np.arange(20) < 10, before=1.0)
    assert likely_equal.better == 0
    assert expected_rates(chances([0.9] * 50 + [0.1] * 50), np.arange(100) < 50, 0.5).better > 0.99


def test_intervals_hold_at_least_nine_times_in_ten() -> None:
    held = 0
    for seed in range(40):
        guardrail = MadeUp(prompts=150, seed=seed)
        belongs = guardrail.base[:, 0] + 0.5 * guardrail.random.normal(size=150) > 0
        model = VerdictModel([guardrail.scan(guardrail.reading()) for _ in range(2)])
        coming = guardrail.reading()
        true = guardrail.answers(coming)
        expected = expected_rates(model.chances(coming), belongs).coverage
        assert expected is not None
        held += (
            expected.low <= min(true[belongs].mean(), 1 - true[~belongs].mean()) <= expected.high
        )
    assert held >= 36


def test_answers_that_have_come_are_certain() -> None:
    guardrail = MadeUp(prompts=200)
    belongs = guardrail.base[:, 0] > 0
    scan = guardrail.scan(guardrail.reading())
    coming = guardrail.reading()
    true = guardrail.answers(coming)
    chances = VerdictModel([scan]).chances(coming)

    def width(answered: int) -> float:
        known = np.where(np.arange(200) < answered, true, -2).astype(np.int8)
        expected = expected_rates(chances.with_answers(known), belongs).coverage
        assert expected is not None
        return expected.high - expected.low

    assert width(0) > width(100) > width(200)
    whole = expected_rates(chances.with_answers(true), belongs).coverage
    assert whole is not None
    exact = min(true[belongs].mean(), 1 - true[~belongs].mean())
    assert whole.value == pytest.approx(exact)
    assert width(200) < 1e-4


def test_a_first_scan_averages_the_model_with_counting() -> None:
    belongs = np.arange(40) < 20
    matched = np.full(40, -2, np.int8)
    matched[:10], matched[20:30] = [1] * 8 + [0] * 2, 0
    model = expected_rates(chances([0.9] * 20 + [0.2] * 20).with_answers(matched), belongs)
    rates = averaged_with_counts(model, belongs, matched)
    assert rates.tpr is not None
    assert rates.tpr.value == pytest.approx((0.85 + 0.8) / 2)
    assert rates.tnr is not None
    assert rates.tnr.value == pytest.approx(0.25 * 0.9 + 0.75)  # without errors
    assert rates.coverage is not None
    assert rates.tpr.value < rates.coverage.value < rates.tpr.value + 0.02
    assert rates.accuracy is not None
    assert rates.accuracy.value == pytest.approx((rates.tpr.value + rates.tnr.value) / 2)
    for rate, least, most in ((rates.tpr, 0.4, 0.9), (rates.tnr, 0.5, 1.0)):
        assert least <= rate.low < rate.value < rate.high <= most


def test_a_first_scan_of_one_class_has_no_coverage() -> None:
    matched = np.array([1, 0, -2, -2], np.int8)
    model = expected_rates(chances([0.9] * 4).with_answers(matched), np.ones(4, bool))
    rates = averaged_with_counts(model, np.ones(4, bool), matched)
    assert rates.tnr is rates.coverage is None
    assert rates.tpr is not None
    assert rates.accuracy == rates.tpr
