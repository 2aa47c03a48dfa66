"""Experiments: what is asked, who is dropped, and what the bounds prove."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from guardtui.advice.experiment import (
    KEPT_AT_LEAST,
    ROUNDS,
    Ending,
    Experiment,
    Standing,
    compare,
)

Bools = NDArray[np.bool_]


def labels(count: int) -> Bools:
    return np.arange(count) % 2 == 0


def verdicts(count: int, rate: float, seed: int) -> Bools:
    """Return whether verdicts are right, each with the same chance."""
    return np.random.default_rng(seed).random(count) < rate


def experiment_of(before: Bools, candidates: int, counted: Bools | None = None) -> Experiment:
    belongs = labels(len(before))
    counted = np.ones((candidates, len(before)), bool) if counted is None else counted
    order = np.random.default_rng(3).permutation(len(before))
    return Experiment(before, belongs, counted, order)


def play(run: Experiment, after: Bools) -> Experiment:
    """Answer all questions of an experiment, from whether each verdict is right, bool [k, n]."""
    while run.ending is None:
        for index in run.alive:
            rows = run.unasked(index)
            run.record(index, rows, after[index, rows].tolist())
        run.take_rounds()
    return run


def test_a_much_better_candidate_is_better_and_the_others_are_dropped() -> None:
    before = verdicts(200, 0.6, 0)
    after = np.stack([verdicts(200, 0.6, 1 + index) for index in range(9)])
    after[4] = verdicts(200, 0.95, 50)
    run = play(experiment_of(before, 9), after)
    assert run.ending is Ending.BETTER
    assert run.best == 4
    best = run.standings[4]
    assert best.gain is not None
    assert best.low is not None
    assert 0 < best.low < best.gain
    assert run.answered < 0.5 * after.size
    dropped = [known.dropped for index, known in enumerate(run.standings) if index != 4]
    assert all(known is None or known >= 1 for known in dropped)


def test_a_guardrail_that_no_edit_moves_keeps_no_edit() -> None:
    kept, shares = 0, []
    for seed in range(40):
        random = np.random.default_rng(seed)
        before = random.random(120) < 0.7
        flipped = before ^ (random.random((12, 120)) < 0.03)
        run = play(experiment_of(before, 12), flipped)
        kept += run.best is not None
        shares.append(run.answered / flipped.size)
    assert kept <= 4
    assert np.mean(shares) < 0.5


def test_candidates_that_look_worse_end_it_early() -> None:
    before = verdicts(100, 0.9, 0)
    run = play(experiment_of(before, 5), np.zeros((5, 100), bool))
    assert run.ending is Ending.HOPELESS
    assert run.best is None
    assert run.round == 2
    assert [known.dropped for known in run.standings] == [1] * 5
    assert run.calls_left() == (0, 0)


def test_only_the_better_ones_are_asked_on() -> None:
    before = verdicts(100, 0.6, 0)
    after = np.stack([verdicts(100, 0.5 + 0.005 * index, index) for index in range(20)])
    run = experiment_of(before, 20)
    counts = []
    while run.ending is None:
        counts.append(len(run.alive))
        for index in run.alive:
            rows = run.unasked(index)
            run.record(index, rows, after[index, rows].tolist())
        run.take_rounds()
    assert counts[0] == 20
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] <= max(2, KEPT_AT_LEAST[-1])


def test_the_calls_left_are_bounds_of_what_is_asked() -> None:
    before = verdicts(100, 0.6, 0)
    after = np.stack([verdicts(100, 0.62, index) for index in range(1, 10)])
    run = experiment_of(before, 9)
    least, most = run.calls_left()
    assert least == pytest.approx(9 * ROUNDS[0] * 100, abs=18)
    play(run, after)
    assert least <= run.answered <= most


def test_questions_and_findings_do_not_depend_on_pauses_and_order() -> None:
    before = verdicts(80, 0.6, 0)
    after = np.stack([verdicts(80, 0.7, index) for index in range(1, 8)])
    whole = play(experiment_of(before, 7), after)
    bit_by_bit = experiment_of(before, 7)
    while bit_by_bit.ending is None:
        index = next(one for one in reversed(bit_by_bit.alive) if len(bit_by_bit.unasked(one)))
        row = bit_by_bit.unasked(index)[-1:]
        bit_by_bit.record(index, row, after[index, row].tolist())
        bit_by_bit.take_rounds()
    assert bit_by_bit.standings == whole.standings
    assert (bit_by_bit.best, bit_by_bit.ending) == (whole.best, whole.ending)


def test_failed_requests_help_to_prove_nothing() -> None:
    before = verdicts(120, 0.6, 0)
    run = experiment_of(before, 1)
    while run.ending is None:
        rows = run.unasked(0)
        run.record(0, rows, [None] * len(rows))
        run.take_rounds()
    assert run.best is None
    assert run.standings[0].gain is not None
    assert run.standings[0].gain < 0


def test_prompts_that_do_not_count_are_not_asked() -> None:
    before = verdicts(60, 0.6, 0)
    counted = np.ones((3, 60), bool)
    counted[1, :10] = False
    run = experiment_of(before, 3, counted)
    assert not {*run.unasked(1).tolist()} & {*range(10)}
    assert {*run.unasked(0).tolist()} & {*range(10)}


def test_a_look_with_few_prompts_of_a_class_proves_nothing_and_drops_nobody() -> None:
    before, after = np.zeros(200, bool), np.ones((12, 200), bool)
    counted = np.ones((12, 200), bool)
    counted[:, np.flatnonzero(labels(200))[9:]] = False
    run = experiment_of(before, 12, counted)
    _, most = run.calls_left()
    play(run, after)
    assert run.ending is Ending.NOT_BETTER
    assert run.best is None
    assert len(run.alive) == 12
    assert run.answered == np.count_nonzero(counted) <= most


def test_without_candidates_there_is_nothing_to_ask() -> None:
    run = experiment_of(verdicts(20, 0.6, 0), 0)
    assert run.ending is Ending.HOPELESS
    assert (run.best, run.answered, run.calls_left()) == (None, 0, (0, 0))


def test_a_standing_without_a_look_proves_nothing() -> None:
    assert not Standing(answers=5).is_better


@settings(max_examples=40)
@given(st.integers(8, 60), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_equal_verdicts_gain_nothing(count: int, candidates: int, seed: int) -> None:
    before = verdicts(count, 0.7, seed)
    counted = np.random.default_rng(seed).random((candidates, count)) < 0.9
    found = compare(before, np.tile(before, (candidates, 1)), counted, labels(count))
    assert np.abs(found.gains).max() < 1e-9
    assert (found.lows(0.05) <= 1e-9).all()


def test_the_bounds_of_several_candidates_hold_together() -> None:
    before = verdicts(200, 0.7, 0)
    after = np.stack([verdicts(200, 0.8, 1 + index) for index in range(10)])
    found = compare(before, after, np.ones(after.shape, bool), labels(200))
    lows = found.lows(0.05)
    assert np.mean((found.drawn < lows[:, None]).any(axis=0)) <= 0.05
    alone = compare(before, after[:1], np.ones((1, 200), bool), labels(200)).lows(0.05)
    assert lows[0] < alone[0]


def test_a_candidate_that_separates_no_better_than_chance_is_not_better() -> None:
    belongs = labels(200)
    before = np.where(belongs, verdicts(200, 0.1, 0), verdicts(200, 0.9, 1))
    after = verdicts(200, 0.5, 2)[None]
    found = compare(before, after, np.ones((1, 200), bool), belongs)
    assert found.gains[0] > 0.2
    assert found.lows(0.05)[0] < 0.05
