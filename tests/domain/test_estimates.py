"""Rates while rows are open: best and worst case by trying all, and what the estimate promises."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from guardtui.domain.estimates import (
    BOUNDED_RATES,
    coverage_bounds,
    denominators,
    estimate,
    most_differing,
    rate_bounds,
)
from guardtui.domain.metrics import RATES, metrics_of
from guardtui.domain.verdicts import Triggered, outcomes

OPEN = int(Triggered.NOT_ASKED)


def rows(*answers: int, most: int = 40) -> st.SearchStrategy[list[tuple[bool, int, int]]]:
    """Label, answer, prediction of each row."""
    one = st.tuples(st.booleans(), st.sampled_from(answers), st.sampled_from([-1, 0, 1]))
    return st.lists(one, max_size=most)


def columns(
    table: list[tuple[bool, int, int]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outcomes, labels and predictions."""
    should = np.array([label for label, _, _ in table], bool)
    answer = np.array([value for _, value, _ in table], np.int8)
    predicted = np.array([value for _, _, value in table], np.int8)
    return outcomes(should, answer), should, predicted


def test_the_bounded_rates_are_rates() -> None:
    assert set(BOUNDED_RATES) < set(RATES)


@given(rows(OPEN, -1, 0, 1, most=7))
def test_bounds_are_the_extremes_of_all_ways_to_answer(
    table: list[tuple[bool, int, int]],
) -> None:
    codes, should, _ = columns(table)
    given_answers = np.array([answer for _, answer, _ in table], np.int8)
    missing = np.flatnonzero(given_answers < 0)
    seen: dict[str, list[float]] = {name: [] for name in BOUNDED_RATES}
    for answers in product([0, 1], repeat=len(missing)):
        answer = given_answers.copy()
        answer[missing] = answers
        metrics = metrics_of(outcomes(should, answer))
        for name in BOUNDED_RATES:
            if (rate := getattr(metrics, name)) is not None:
                seen[name].append(rate)
    result = rate_bounds(codes, should)
    assert list(result) == list(BOUNDED_RATES)
    for name, bounds in result.items():
        if bounds is None:
            assert not seen[name]
        else:
            assert (bounds.low, bounds.high) == (min(seen[name]), max(seen[name]))
    assert coverage_bounds(codes, should) == result["coverage"]


def test_a_row_without_a_verdict_counts_in_its_class() -> None:
    should = np.array([True, True, True, False, False])
    codes = outcomes(should, np.array([1, 1, OPEN, 0, -1], np.int8))
    assert denominators(codes, should) == {
        "true_positive_rate": (2, 3),
        "true_negative_rate": (1, 2),
    }
    bounds = coverage_bounds(codes, should)
    assert bounds is not None
    assert (bounds.low, bounds.high) == (0.5, 1.0)


@given(rows(-1, 0, 1, OPEN))
def test_an_estimate_is_ordered_and_within_the_bounds(
    table: list[tuple[bool, int, int]],
) -> None:
    codes, should, predicted = columns(table)
    result = estimate(codes, should, predicted)
    bounds = rate_bounds(codes, should)
    assert list(result.rates) == list(BOUNDED_RATES)
    for name, rate in result.rates.items():
        if rate is not None:
            limits = bounds[name]
            assert limits is not None
            assert limits.low <= rate.low <= rate.value <= rate.high <= limits.high


@given(rows(-1, 0, 1))
def test_with_no_row_open_it_is_the_metric_and_nothing_else(
    table: list[tuple[bool, int, int]],
) -> None:
    codes, should, predicted = columns(table)
    metrics = metrics_of(codes)
    for name, rate in estimate(codes, should, predicted).rates.items():
        if rate is None:
            assert getattr(metrics, name) is None
        else:
            assert rate.low == rate.value == rate.high == getattr(metrics, name)


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0, 1]), st.booleans()), max_size=40))
def test_predictions_that_come_true_leave_the_value_where_it_was(
    drawn: list[tuple[bool, int, bool]],
) -> None:
    table = [(label, OPEN if waits else said, said) for label, said, waits in drawn]
    codes, should, predicted = columns(table)
    metrics = metrics_of(outcomes(should, predicted))
    for name, rate in estimate(codes, should, predicted).rates.items():
        assert (None if rate is None else rate.value) == getattr(metrics, name)


@given(rows(OPEN))
def test_with_nothing_asked_every_row_may_differ(table: list[tuple[bool, int, int]]) -> None:
    codes, should, predicted = columns(table)
    bounds = rate_bounds(codes, should)
    result = estimate(codes, should, predicted)
    assert (result.compared, result.differing) == (0, 0)
    for name, rate in result.rates.items():
        limits = bounds[name]
        if rate is not None and limits is not None:
            assert (rate.low, rate.high) == (limits.low, limits.high)


def test_rows_without_a_prediction_are_taken_for_wrong_and_for_right() -> None:
    should = np.array([True] * 4 + [False])
    codes = outcomes(should, np.array([1, 0, OPEN, OPEN, 0], np.int8))
    predicted = np.full(5, -1, np.int8)
    rate = estimate(codes, should, predicted).rates["true_positive_rate"]
    assert rate is not None
    assert (rate.value, rate.low, rate.high) == (0.5, 0.25, 0.75)


def test_many_answers_as_predicted_make_the_interval_narrow() -> None:
    should = np.arange(1000) < 500
    predicted = should.astype(np.int8)
    answer = predicted.copy()
    answer[::5] = OPEN
    result = estimate(outcomes(should, answer), should, predicted)
    rate = result.rates["coverage"]
    assert rate is not None
    assert (result.compared, result.differing) == (800, 0)
    assert rate.value == rate.high == 1.0
    assert 0.99 < rate.low < 1.0


@given(rows(-1, 0, 1, OPEN))
def test_only_answers_to_a_prediction_are_held_against_it(
    table: list[tuple[bool, int, int]],
) -> None:
    codes, should, predicted = columns(table)
    result = estimate(codes, should, predicted)
    both = [(answer, said) for _, answer, said in table if answer in (0, 1) and said != -1]
    assert result.compared == len(both)
    assert result.differing == sum(answer != said for answer, said in both)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 30))
def test_most_differing_is_the_hypergeometric_limit(
    differing: int, same: int, waiting: int
) -> None:
    # No probability of so few rows equals this tail, so that no rounding decides.
    compared, tail = differing + same, 0.0250317
    likely = [
        more
        for more in range(waiting + 1)
        if stats.hypergeom.cdf(differing, compared + waiting, differing + more, compared) > tail
    ]
    assert most_differing(differing, compared, waiting, tail) == max(likely)
    assert most_differing(differing, compared, 0, tail) == 0


def test_most_differing_holds_for_large_sets() -> None:
    # One per cent differed of nearly all: few of the rest may do so.
    assert 100 <= most_differing(9_900, 990_000, 10_000, 0.025) <= 125
    assert most_differing(0, 0, 1_000_000, 0.025) == 1_000_000


@pytest.mark.exhaustive
@pytest.mark.parametrize("falling", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.7, 0.97])
def test_the_interval_keeps_its_promise(falling: float, share: float) -> None:
    """1 500 edits simulated: verdicts differ the less often the later they come in the order."""
    draw = np.random.default_rng(20 + round(100 * share) + round(falling))
    total, turns, held, width = 300, 1500, 0, 0.0
    place = np.arange(total) / total
    done = round(share * total)
    for _ in range(turns):
        should = draw.random(total) < 0.4
        predicted = (draw.random(total) < np.where(should, 0.8, 0.1)).astype(np.int8)
        differs = draw.random(total) < draw.choice([0.03, 0.2]) * np.exp(-falling * place)
        answer = np.where(differs, 1 - predicted, predicted).astype(np.int8)
        truth = metrics_of(outcomes(should, answer))
        answer[done:] = OPEN
        result = estimate(outcomes(should, answer), should, predicted).rates
        inside = True
        for name, rate in result.items():
            assert rate is not None
            inside &= rate.low <= getattr(truth, name) <= rate.high
        held += inside
        coverage = result["coverage"]
        assert coverage is not None
        width += coverage.high - coverage.low
    assert held / turns >= 0.95
    # Promising everything would be easy: what is left open also bounds the width.
    assert width / turns <= (1 - share) * (0.75 if share >= 0.1 else 1.0)


def test_the_value_follows_the_answers_where_they_contradict_the_prediction() -> None:
    # 0 of 37 positives came right, of which the engine had promised 28 as of the open ones.
    should = np.arange(200) < 100
    predicted = np.where(np.arange(200) % 4, should, ~should).astype(np.int8)
    answer = np.full(200, OPEN, np.int8)
    answer[:37] = 0
    result = estimate(outcomes(should, answer), should, predicted)
    rate = result.rates["true_positive_rate"]
    assert rate is not None
    assert rate.value < 0.05
    assert (result.compared, result.differing) == (37, 27)
    # The other class has no answer yet: what is predicted of it stands.
    other = result.rates["true_negative_rate"]
    assert other is not None
    assert other.value == 0.75
    assert (other.low, other.high) == (0.0, 1.0)


def test_the_value_keeps_the_two_predictions_of_a_class_apart() -> None:
    # What it takes for wrong is wrong; what it takes for right is right in one case of five.
    should = np.ones(100, bool)
    predicted = (np.arange(100) < 50).astype(np.int8)
    answer = np.full(100, OPEN, np.int8)
    answer[:20] = np.arange(20) % 5 == 0
    answer[50:70] = 0
    rate = estimate(outcomes(should, answer), should, predicted).rates["true_positive_rate"]
    assert rate is not None
    assert rate.value == pytest.approx((4 + 30 * 5 / 21) / 100)


def test_columns_of_different_length_are_refused() -> None:
    codes = np.zeros(2, np.int8)
    with pytest.raises(ValueError, match="labels"):
        rate_bounds(codes, np.ones(3, bool))
    with pytest.raises(ValueError, match="labels"):
        denominators(codes, np.ones(3, bool))
    with pytest.raises(ValueError, match="predictions"):
        estimate(codes, np.ones(2, bool), np.ones(3, np.int8))
    with pytest.raises(ValueError, match="differ of"):
        most_differing(3, 2, 5, 0.025)
