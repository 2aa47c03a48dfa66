"""Charts of a report: the values of an axis, mistakes, iterations, and thresholds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from guardtui.domain.document import BarChart, Chart, Kind
from guardtui.domain.sweep import best_threshold, sweep
from guardtui.domain.verdicts import Triggered
from guardtui.reports.base import ReportInput
from guardtui.reports.rate_charts import _ticks, result_charts, threshold_charts, whole_ticks
from guardtui.session.session import Decision
from tests.guardrails import airs_settings


@pytest.mark.parametrize(
    ("first", "last", "ticks"),
    [
        (0, 2, [0, 1, 2]),
        (1, 1, [1]),
        (0, 12, [0, 2, 4, 6, 8, 10, 12]),
        (40, 60, list(range(40, 61, 3))),
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


def test_the_current_threshold_is_marked() -> None:
    scores = np.array([0.1, 0.9, 0.4], np.float32)
    curve = sweep(scores, np.array([False, True, True]))
    (chart,) = threshold_charts(curve, 0.5, best_threshold(curve)).charts
    assert isinstance(chart, Chart)
    assert [series.name for series in chart.series] == ["TPR", "TNR", "coverage"]
    assert chart.now == (0.5, "now 0.500")


def test_without_a_current_threshold_nothing_is_marked() -> None:
    scores = np.array([0.1, 0.9, 0.4], np.float32)
    charts = threshold_charts(sweep(scores, np.array([False, True, True])), None, None)
    (chart,) = charts.charts
    assert isinstance(chart, Chart)
    assert chart.now is None
    assert charts.twin is not None
    assert not any("now" in cell for row in charts.twin.rows for cell in map(str, row))


def test_the_axis_has_a_length_where_all_scores_are_equal() -> None:
    ones = np.ones(2, np.float32)
    (chart,) = threshold_charts(sweep(ones, np.array([False, True])), None, None).charts
    assert isinstance(chart, Chart)
    assert (chart.x.low, chart.x.high) == (0.9, 1.0)


def drawn(report: ReportInput) -> tuple[BarChart, Chart]:
    bars, course = result_charts(report).charts
    assert isinstance(bars, BarChart)
    assert isinstance(course, Chart)
    return bars, course


def test_mistakes_are_shares_of_their_class_beside_the_baseline_and_the_gate(
    report: ReportInput,
) -> None:
    bars, course = drawn(replace(report, least=0.9))
    assert [(bar.kind, bar.count, bar.share) for bar in bars.bars] == [
        (Kind.MISSED, "2 of 4", 0.5),
        (Kind.STOPPED, "1 of 3", pytest.approx(1 / 3)),
    ]
    assert [bar.before for bar in bars.bars] == [0.4, pytest.approx(1 / 3)]
    assert (bars.before, bars.limit) == ("iteration 0", 0.1)
    assert course.limit == (0.9, "at least 0.9")
    twin = result_charts(report).twin
    assert twin is not None
    assert [(row[0], row[1], row[-1]) for row in twin.rows] == [
        ("missed", "2 of 4", "1"),
        ("wrongly stopped", "1 of 3", "0"),
    ]


def test_a_class_without_prompts_is_not_applicable(undefined_report: ReportInput) -> None:
    (bars,) = result_charts(undefined_report).charts
    assert isinstance(bars, BarChart)
    missed = bars.bars[0]
    assert (missed.count, missed.share, missed.interval) == ("n/a", None, None)


def test_the_course_is_that_of_one_guardrail(report: ReportInput) -> None:
    _, course = drawn(replace(report, iteration=1))
    assert list(course.series[0].points) == [(0, 0.6), (1, 0.5)]
    assert [(mark.kind, mark.label) for mark in course.marks] == [("kept", ""), ("discarded", "#1")]
    assert course.marks[0].interval is not None
    assert course.floor <= course.marks[0].interval[0]
    first, second = report.iterations
    other = replace(second.evaluation, settings=airs_settings("prod"))
    mixed = replace(report, iterations=(first, replace(second, evaluation=other)))
    assert len(result_charts(mixed).charts) == 1


def test_an_iteration_that_is_not_complete_is_in_the_course_only_if_it_is_kept(
    report: ReportInput,
) -> None:
    first, second = report.iterations
    triggered = second.evaluation.verdicts.triggered.copy()
    triggered[0] = Triggered.NOT_ASKED
    verdicts = replace(second.evaluation.verdicts, triggered=triggered)
    stopped = replace(second, evaluation=replace(second.evaluation, verdicts=verdicts))
    for decision, charts in ((Decision.UNDECIDED, 1), (Decision.KEEP, 2)):
        iterations = (first, replace(stopped, decision=decision))
        assert len(result_charts(replace(report, iterations=iterations)).charts) == charts
