"""The search: deterministic, within its budget, and never chosen by the held-out half."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import numpy as np
import polars as pl
import pytest

from guardtui.advice.search import EDIT_COST, MOST_EDITS, Search, SearchResult, Snapshot
from guardtui.advice.whatif import shortlist
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic, violations
from guardtui.scanners.local.scanner import LocalScanner

from .conftest import TOPIC, Bench, bench_of


def result_of(
    bench: Bench,
    topic: Topic = TOPIC,
    *,
    clock: Callable[[], float] = lambda: 0.0,
    stopped: Callable[[], bool] = lambda: False,
    told: list[Snapshot] | None = None,
    widths: tuple[int, ...] = (1, 3),
) -> SearchResult:
    told = [] if told is None else told
    result = Search(
        bench.scorer,
        topic,
        budget=10,
        stopped=stopped,
        progress=told.append,
        widths=widths,
        clock=clock,
    ).run()
    assert result is not None
    return result


def test_it_finds_a_better_definition_and_the_way_to_it(bench: Bench) -> None:
    told: list[Snapshot] = []
    result = result_of(bench, told=told)
    best = result.proposal
    assert best is not None
    assert result.single is not None
    assert result.ended == "exhausted"
    assert not violations(best.topic)
    assert best.topic.name == TOPIC.name
    assert 1 < len(best.changes) == len(best.kinds) <= MOST_EDITS
    # Further edits must pay for themselves.
    assert best.gain - EDIT_COST * len(best.changes) > result.single.gain - EDIT_COST
    assert result.single.changes == found_first(bench)
    assert [point.edits for point in result.curve] == list(range(len(result.curve)))
    assert result.curve[0].search == result.before.search.coverage
    assert result.curve[0].report == result.before.report.coverage
    point = result.curve[len(best.changes)]
    assert (point.search, point.report) == (
        best.after.search.coverage,
        best.after.report.coverage,
    )
    assert [one.measured for one in told] == sorted(one.measured for one in told)
    assert told[-1].curve == result.curve
    assert {one.width for one in told} == {0, 1, 3}


def found_first(bench: Bench) -> tuple[str, ...]:
    result = shortlist(bench.scorer, TOPIC)
    assert result is not None
    return result.proposals[0].changes


def test_each_step_of_the_way_is_one_edit(bench: Bench) -> None:
    best = result_of(bench).proposal
    assert best is not None
    assert len({*best.topic.examples}) == len(best.topic.examples)
    measured = bench.scorer.measure([TOPIC, best.topic])
    assert measured is not None
    assert best.gain == pytest.approx(measured.objective[1] - measured.objective[0], abs=1e-6)


def test_twice_the_same_is_found(bench: Bench, prompts: PromptSet) -> None:
    other = bench_of(prompts, bench.split, LocalScanner("static"))
    first, second = result_of(bench), result_of(other)
    assert first.proposal is not None
    assert second.proposal is not None
    assert first.proposal.topic == second.proposal.topic
    assert first.curve == second.curve
    assert first.measured == second.measured


@pytest.mark.parametrize("seed", [0, 1])
def test_labels_of_the_other_half_do_not_change_what_is_found(bench: Bench, seed: int) -> None:
    labels = bench.prompts.expected.copy()
    rows = bench.split.report_rows
    labels[rows] = np.random.default_rng(seed).permutation(labels[rows])
    frame = bench.prompts.frame.with_columns(pl.Series("expected", labels))
    other = bench_of(PromptSet(frame, bench.prompts.intent, ""), bench.split, bench.scanner)
    first, second = result_of(bench), result_of(other)
    assert first.proposal is not None
    assert second.proposal is not None
    assert first.proposal.topic == second.proposal.topic
    assert first.proposal.changes == second.proposal.changes
    assert [point.search for point in first.curve] == [point.search for point in second.curve]
    assert [point.report for point in first.curve] != [point.report for point in second.curve]


def test_the_budget_ends_it_with_the_best_so_far(bench: Bench) -> None:
    ticks = count(0.0, 0.5)
    result = result_of(bench, clock=lambda: next(ticks))
    assert result.ended == "budget"
    whole = result_of(bench)
    assert 0 < result.measured < whole.measured


def test_without_any_time_nothing_is_proposed(bench: Bench) -> None:
    ticks = count(0.0, 100.0)
    result = result_of(bench, clock=lambda: next(ticks))
    assert result.proposal is None
    assert result.single is None
    assert result.ended == "budget"
    assert len(result.curve) == 1


def test_it_is_stopped_at_once_with_the_best_so_far(bench: Bench) -> None:
    asked: list[bool] = []
    whole = result_of(bench, stopped=lambda: bool(asked.append(False)))
    left = iter([False] * (len(asked) // 2))
    result = result_of(bench, stopped=lambda: next(left, True))
    assert result.ended == "stopped"
    assert 1 < result.measured < whole.measured
    assert result.proposal is not None
    stopped = Search(bench.scorer, TOPIC, budget=10, stopped=lambda: True).run()
    assert stopped is None


def test_a_definition_that_cannot_be_bettered_is_left_alone(bench: Bench) -> None:
    best = result_of(bench).proposal
    assert best is not None
    again = result_of(bench, best.topic, widths=(1,))
    if again.proposal is not None:  # from there other edits are near, and must pay too
        assert again.proposal.gain >= EDIT_COST
