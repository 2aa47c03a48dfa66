"""The order of a scan after an edit: a permutation, likely changes first, and what moves a row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.comparison import ABSENT
from guardtui.domain.verdicts import Outcome
from guardtui.session.scan_order import (
    LIKELY_MOVE,
    forecast_order,
    movement,
    scan_order,
    teaching_order,
)

SCORES = st.floats(0, 1, width=32) | st.just(float("nan"))
MOVES = st.floats(-1, 1, width=32) | st.just(float("nan"))
CODES = st.sampled_from([ABSENT, *Outcome])
WRONG = (Outcome.FP, Outcome.FN)
UNKNOWN = (ABSENT, Outcome.ERROR, Outcome.OPEN)


@given(st.lists(st.tuples(MOVES, st.booleans(), CODES), max_size=40))
def test_likely_changes_come_first_and_every_row_once(
    table: list[tuple[float, bool, int]],
) -> None:
    moved = np.array([move for move, _, _ in table], np.float32)
    flipped = np.array([flip for _, flip, _ in table], bool)
    earlier = np.array([code for _, _, code in table], np.int8)
    order = scan_order(moved, flipped, earlier)
    assert sorted(order.rows.tolist()) == list(range(len(table)))

    def part(row: int) -> int:
        move, flip, code = float(moved[row]), table[row][1], table[row][2]
        if flip or not abs(move) <= np.float32(LIKELY_MOVE):
            return 0
        return 1 if code in UNKNOWN else 2 if code in WRONG else 3

    parts = [part(row) for row in order.rows.tolist()]
    assert parts == sorted(parts)
    assert order.likely == sum(value < 3 for value in parts)
    assert order.likely_rows.tolist() == order.rows[: order.likely].tolist()


def test_largest_moves_come_first_then_unknown_rows_then_mistakes() -> None:
    moved = np.array([0.0, 0.2, 0.01, 0.0, -0.4, 0.0, 0.02], np.float32)
    tn, fp = Outcome.TN, Outcome.FP
    earlier = np.array([tn, tn, tn, fp, tn, ABSENT, tn], np.int8)
    order = scan_order(moved, None, earlier)
    assert order.rows.tolist() == [4, 1, 5, 3, 6, 2, 0]
    assert order.likely_rows.tolist() == [4, 1, 5, 3]


def test_earlier_mistake_counts_as_moved_farther_but_not_as_moved() -> None:
    fp, tp = Outcome.FP, Outcome.TP
    moved = np.array([0.2, 0.15, 0.05], np.float32)
    order = scan_order(moved, None, np.array([tp, fp, fp], np.int8), cut=0.1)
    assert order.rows.tolist() == [1, 0, 2]


def test_flip_is_likely_for_any_movement() -> None:
    moved = np.array([0.3, 0.0, 0.001], np.float32)
    flipped = np.array([False, False, True])
    order = scan_order(moved, flipped, np.zeros(3, np.int8))
    assert order.likely_rows.tolist() == [0, 2]


def test_equal_rows_keep_their_order_and_inputs_stay_unchanged() -> None:
    moved, earlier = np.full(50, -0.5, np.float32), np.full(50, Outcome.FN, np.int8)
    order = scan_order(moved, np.zeros(50, bool), earlier)
    assert order.rows.tolist() == list(range(50))
    assert (moved == -0.5).all()
    assert (earlier == Outcome.FN).all()


def test_edit_without_movement_leaves_unknown_and_wrong_rows() -> None:
    earlier = np.array([0, 1, 2, 3, 4, ABSENT], np.int8)
    order = scan_order(np.zeros(6, np.float32), None, earlier)
    assert order.likely_rows.tolist() == [4, 5, 2, 3]


def test_without_the_embedded_engine_every_row_may_have_changed() -> None:
    order = scan_order(None, None, np.array([0, 2, 1], np.int8))
    assert order.rows.tolist() == [1, 0, 2]
    assert order.likely == 3


@given(st.lists(st.tuples(SCORES, SCORES), max_size=40), st.floats(0.01, 0.99))
def test_movement_is_the_same_in_both_directions_and_never_negative(
    pairs: list[tuple[float, float]], threshold: float
) -> None:
    table = np.array(pairs, np.float32).reshape(-1, 2)
    there, back = table[:, 0].copy(), table[:, 1].copy()
    moved = movement(there, back, threshold)
    assert moved.dtype == np.float32
    np.testing.assert_array_equal(moved, movement(back, there, threshold))
    unknown = np.isnan(there) | np.isnan(back)
    np.testing.assert_array_equal(np.isnan(moved), unknown)
    assert (moved[~unknown] >= 0).all()
    assert (moved[there == back] == 0).all()


def test_movement_counts_most_near_the_threshold() -> None:
    before = np.array([0.50, 0.50, 0.90, 0.001], np.float32)
    after = np.array([0.60, 0.52, 0.93, 0.002], np.float32)
    moved = movement(before, after, 0.5)
    assert moved.argsort()[::-1].tolist() == [0, 1, 2, 3]
    # By hand: p(1 − p) = ¼ at the threshold, log odds of 0.6 are ln 1.5, and 0.3 is added.
    assert moved[0] == pytest.approx(0.25 * (np.log(1.5) + 0.3), rel=1e-5)
    far = movement(before, after, 0.95)
    assert far.argmax() == 2


def test_crossing_counts_more_than_an_equal_move_on_one_side() -> None:
    # Both go 0.811 up in log odds.
    before, after = np.array([0.4, 0.6], np.float32), np.array([0.6, 0.7714], np.float32)
    crossing, beside = movement(before, after, 0.5)
    assert crossing > beside


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.5, float("nan")])
def test_threshold_of_0_or_1_is_rejected(threshold: float) -> None:
    one = np.array([0.5], np.float32)
    with pytest.raises(ValueError, match="threshold"):
        movement(one, one, threshold)


def test_columns_of_different_length_are_rejected() -> None:
    earlier = np.zeros(2, np.int8)
    with pytest.raises(ValueError, match="outcomes"):
        scan_order(np.zeros(3, np.float32), None, earlier)
    with pytest.raises(ValueError, match="outcomes"):
        scan_order(None, np.zeros(3, bool), earlier)
    with pytest.raises(ValueError, match="scores"):
        movement(np.zeros(3, np.float32), np.zeros(2, np.float32), 0.5)


def test_forecast_orders_likely_changes_then_unscanned_rows() -> None:
    nan = float("nan")
    order = forecast_order(np.array([0.02, 0.6, nan, 0.3, 0.09, nan]))
    assert order.rows.tolist() == [1, 3, 2, 5, 4, 0]
    assert order.likely_rows.tolist() == [1, 3, 2, 5]


def test_certain_forecast_has_no_likely_changes() -> None:
    order = forecast_order(np.zeros(4))
    assert order.rows.tolist() == [0, 1, 2, 3]
    assert order.likely == 0


def test_check_orders_rows_by_their_effect_on_coverage() -> None:
    belongs = np.array([True] * 4 + [False] * 8)
    right = np.full(12, 0.995)
    right[[0, 1]] = 0.5, 0.9
    right[[4, 5]] = 0.5, 0.9
    changes = 1 - right
    order = teaching_order(changes, right, belongs)
    # Of the smaller class, whose rate is likely the smaller one, a prompt tells more.
    assert order[0] == 0
    assert set(order.tolist()) == {0, 1, 4, 5}
    assert order.tolist().index(4) < order.tolist().index(5)
    # Where the other rate is the smaller one beyond doubt, only its prompts tell anything.
    right[6:] = 0.1
    order = teaching_order(np.full(12, 0.5), right, belongs)
    assert order[0] == 4
    assert set(order[:8].tolist()) == set(range(4, 12))


def test_row_without_a_verdict_is_always_doubtful() -> None:
    changes = np.array([np.nan, 0.0, 0.009, 0.011])
    right = np.array([1.0, 1.0, 0.991, 0.989])
    order = teaching_order(changes, right, np.array([True, True, False, False]))
    assert sorted(order.tolist()) == [0, 3]


@pytest.mark.parametrize("belongs", [True, False])
def test_order_works_with_a_single_class(belongs: bool) -> None:
    changes = np.array([0.5, 0.2, 0.4])
    order = teaching_order(changes, 1 - changes, np.full(3, belongs))
    assert sorted(order.tolist()) == [0, 1, 2]
