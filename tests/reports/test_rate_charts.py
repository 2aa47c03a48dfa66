"""Charts of rates: the values of an axis, and the curves of a sweep."""

from __future__ import annotations

import numpy as np
import pytest

from guardtui.domain.sweep import best_threshold, sweep
from guardtui.reports.rate_charts import _ticks, threshold_charts, whole_ticks


@pytest.mark.parametrize(
    ("first", "last", "ticks"),
    [
        (0, 2, [0, 1, 2]),
        (1, 1, [1]),
        (0, 12, [0, 2, 4, 6, 8, 10, 12]),
        (40, 60, list(range(40, 61, 2))),
    ],
)
def test_iterations_are_marked_at_whole_numbers_only(
    first: int, last: int, ticks: list[int]
) -> None:
    assert whole_ticks(first, last) == ticks


@pytest.mark.parametrize(
    ("low", "high", "ticks", "decimals"),
    [
        (0.0, 1.0, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), 1),
        (0.31, 0.69, (0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65), 2),
        (0.4, 0.7, (0.4, 0.5, 0.6, 0.7), 1),
        (0.5001, 0.5002, (0.5001, 0.5002), 3),
    ],
)
def test_thresholds_are_marked_at_round_numbers(
    low: float, high: float, ticks: tuple[float, ...], decimals: int
) -> None:
    assert _ticks(low, high) == (ticks, decimals)


def test_precision_is_drawn_from_the_greatest_recall() -> None:
    random = np.random.default_rng(1)
    should = random.random(60) < 0.5
    scores = np.clip(random.normal(0.4 + 0.2 * should, 0.2), 0, 1).astype(np.float32)
    curve = sweep(scores, should)
    by_threshold, roc, by_recall = threshold_charts(curve, 0.5, best_threshold(curve)).charts
    assert [series.name for series in by_threshold.series] == ["TPR", "TNR", "coverage"]
    recalls = [x for x, _ in by_recall.series[0].points]
    assert recalls == sorted(recalls, reverse=True)
    assert [mark.label for mark in (*roc.marks, *by_recall.marks)] == ["now 0.500"] * 2
    assert by_threshold.now == (0.5, "now 0.500")


def test_without_a_current_threshold_nothing_is_marked() -> None:
    scores = np.array([0.1, 0.9, 0.4], np.float32)
    charts = threshold_charts(sweep(scores, np.array([False, True, True])), None, None)
    assert all(not chart.marks and chart.now is None for chart in charts.charts)
    assert charts.twin is not None
    assert not any("now" in cell for row in charts.twin.rows for cell in map(str, row))


def test_the_axis_has_a_length_where_all_scores_are_equal() -> None:
    ones = np.ones(2, np.float32)
    axis = threshold_charts(sweep(ones, np.array([False, True])), None, None).charts[0].x
    assert (axis.low, axis.high) == (0.9, 1.0)
