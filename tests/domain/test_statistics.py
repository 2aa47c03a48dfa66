"""Intervals and tests against scipy.stats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from guardtui.domain.metrics import Metrics
from guardtui.domain.statistics import (
    coverage_interval,
    mcnemar_p_value,
    rate_errors,
    rate_intervals,
    standard_error,
    wilson_interval,
)
from guardtui.domain.verdicts import Outcome
from guardtui.scorer import SampleScore, Score, stderr

counts = st.integers(0, 300)


@given(counts, counts)
def test_wilson_is_that_of_scipy(hits: int, misses: int) -> None:
    result = wilson_interval(hits, hits + misses)
    if hits + misses == 0:
        assert result is None
        return
    expected = stats.binomtest(hits, hits + misses).proportion_ci(0.95, "wilson")
    assert result is not None
    assert result.low == pytest.approx(expected.low, abs=1e-12)
    assert result.high == pytest.approx(expected.high, abs=1e-12)


@given(counts, counts)
def test_mcnemar_is_the_exact_binomial_test(regressions: int, fixes: int) -> None:
    total = regressions + fixes
    expected = stats.binomtest(regressions, total, 0.5).pvalue if total else 1.0
    assert mcnemar_p_value(regressions, fixes) == pytest.approx(expected, rel=1e-9)


@given(counts, counts, counts, counts)
def test_the_interval_of_coverage_holds_the_point(tp: int, tn: int, fp: int, fn: int) -> None:
    metrics = Metrics(tp, tn, fp, fn)
    result = coverage_interval(metrics)
    if metrics.coverage is None:
        assert result is None
    else:
        assert result is not None
        assert 0 <= result.low <= metrics.coverage <= result.high <= 1


@given(counts, counts, counts, counts)
def test_the_interval_of_coverage_has_the_smaller_ends_of_two_exact_ones(
    tp: int, tn: int, fp: int, fn: int
) -> None:
    result = coverage_interval(Metrics(tp, tn, fp, fn))
    if result is None:
        return
    ends = [
        stats.binomtest(right, right + wrong).proportion_ci(0.94, "exact")
        for right, wrong in ((tp, fn), (tn, fp))
    ]
    assert result.low == pytest.approx(min(end.low for end in ends), abs=1e-9)
    assert result.high == pytest.approx(min(end.high for end in ends), abs=1e-9)


def held_share(sizes: tuple[int, int], rates: tuple[float, float]) -> float:
    """Return the exact probability that the interval holds the smaller of two rates."""
    held = 0.0
    hits, chances = [], []
    for size, rate in zip(sizes, rates, strict=True):
        hits.append(np.arange(size + 1))
        chances.append(stats.binom.pmf(hits[-1], size, rate))
    for tp, tn in np.ndindex(len(hits[0]), len(hits[1])):
        chance = float(chances[0][tp] * chances[1][tn])
        if chance < 1e-9:
            continue
        result = coverage_interval(Metrics(tp, tn, sizes[1] - tn, sizes[0] - tp))
        assert result is not None
        held += chance * (result.low <= min(rates) <= result.high)
    return held


@pytest.mark.parametrize(
    ("sizes", "rates"),
    [
        ((10, 10), (0.85, 0.85)),
        ((10, 10), (0.97, 0.97)),
        ((15, 60), (0.95, 0.95)),
        ((30, 30), (0.9, 0.9)),
        ((60, 60), (0.8, 0.8)),
        ((60, 60), (0.8, 0.85)),
        ((40, 10), (0.6, 0.97)),
    ],
)
def test_the_interval_of_coverage_holds_for_equal_and_unequal_rates(
    sizes: tuple[int, int], rates: tuple[float, float]
) -> None:
    assert 0.94 <= held_share(sizes, rates) <= 1


def test_undefined_rates_have_no_interval() -> None:
    result = rate_intervals(Metrics(tp=1, tn=0, fp=0, fn=1))
    assert result["true_positive_rate"] is not None
    assert result["true_negative_rate"] is None
    assert result["coverage"] is None


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="hits"):
        wilson_interval(3, 2)
    with pytest.raises(ValueError, match="regressions"):
        mcnemar_p_value(-1, 0)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), min_size=0, max_size=40),
    st.booleans(),
)
def test_the_standard_error_is_that_of_the_scorers(
    rows: list[tuple[float, int]], clustered: bool
) -> None:
    values = np.array([value for value, _ in rows])
    clusters = np.array([cluster for _, cluster in rows], np.intp)
    result = standard_error(values, clusters if clustered else None)
    if len(set(clusters.tolist()) if clustered else rows) < 2:
        assert result is None
        return
    scores = [
        SampleScore(score=Score(value=value), sample_id=index, sample_metadata={"group": cluster})
        for index, (value, cluster) in enumerate(rows)
    ]
    expected = stderr(cluster="group" if clustered else None)(scores)
    assert result == pytest.approx(expected, abs=1e-9)


def test_rates_carry_the_error_of_their_class() -> None:
    codes = np.array([Outcome.TP, Outcome.FN, Outcome.TN, Outcome.FP, Outcome.ERROR], np.int8)
    duty = np.array([True, True, False, False, True])
    result = rate_errors(codes, duty)
    assert result["true_positive_rate"] == pytest.approx(0.5)
    assert result["accuracy"] == pytest.approx(stats.sem([1, 0, 1, 0]))
    # Over epochs a prompt counts by its share of right answers.
    share = np.array([0.8, 0.6, 0.2, 0.4, np.nan], np.float32)
    assert rate_errors(codes, duty, share)["true_positive_rate"] == pytest.approx(0.1)
