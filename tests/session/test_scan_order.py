"""The order of a scan after an edit: likely changes first, and what a check asks."""

from __future__ import annotations

import numpy as np
import pytest

from guardtui.session.scan_order import forecast_order, teaching_order


def test_forecast_orders_likely_changes_then_unscanned_rows() -> None:
    nan = float("nan")
    rows, likely = forecast_order(np.array([0.02, 0.6, nan, 0.3, 0.09, nan]))
    assert rows.tolist() == [1, 3, 2, 5, 4, 0]
    assert likely.tolist() == [1, 3, 2, 5]


def test_certain_forecast_has_no_likely_changes() -> None:
    rows, likely = forecast_order(np.zeros(4))
    assert (rows.tolist(), likely.tolist()) == ([0, 1, 2, 3], [])


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
