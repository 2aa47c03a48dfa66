"""Verdicts collected row by row."""

from __future__ import annotations

import numpy as np

from guardtui.domain.verdicts import (
    Failure,
    Triggered,
    Usage,
    Verdict,
    VerdictColumns,
    Verdicts,
    spread,
)

NOBODY = Verdict(Triggered.NO_VERDICT, problem="no connection", failure=Failure.UNREACHABLE)


def test_columns_store_verdicts_and_start_unrequested() -> None:
    columns = VerdictColumns(5)
    columns.put([0], Verdict(Triggered.YES, topics=("Tax",), reason="it is"), "a note")
    columns.put([1], NOBODY)
    spent = Verdict(Triggered.NOT_ASKED, problem="the budget is used up", failure=Failure.BUDGET)
    columns.put([2, 3], spent)
    columns.put([3], Verdict(Triggered.YES, topics=("Tax",), reason="it is"), "a note")
    verdicts = columns.verdicts(Usage(calls=3))
    assert verdicts.triggered.tolist() == [1, -1, -2, 1, -2]
    assert verdicts.errors == {1: "no connection", 2: "the budget is used up"}
    assert verdicts.notes == {0: "a note", 3: "a note"}
    assert verdicts.stopped_by == {0: ("Tax",), 3: ("Tax",)}
    assert verdicts.reasons == {0: "it is", 3: "it is"}
    assert verdicts.used == Usage(calls=3)
    assert verdicts.beyond_budget == {2}
    assert columns.errors == 1
    assert columns.not_asked.tolist() == [False, False, True, False, True]


def test_a_later_verdict_replaces_an_error_and_leaves_earlier_columns_alone() -> None:
    columns = VerdictColumns(1)
    columns.put([0], NOBODY)
    before = columns.verdicts()
    columns.put([0], Verdict(Triggered.NO))
    assert (before.triggered.tolist(), before.errors) == ([-1], {0: "no connection"})
    after = columns.verdicts()
    assert (after.triggered.tolist(), after.errors, columns.errors) == ([0], {}, 0)


def test_reason_of_unrequested_rows_is_stored_once() -> None:
    columns = VerdictColumns(2)
    columns.put([0], Verdict(Triggered.NOT_ASKED, problem="the budget is used up"))
    for row in (0, 1):
        columns.explain_not_asked(row, "given up")
    assert columns.verdicts().errors == {0: "the budget is used up", 1: "given up"}


def test_verdicts_of_a_part_stand_in_their_rows_and_the_others_are_open() -> None:
    part = Verdicts(
        np.array([1, 0, -1], np.int8),
        np.array([0.9, 0.1, np.nan], np.float32),
        np.array([1, 0, -1], np.int16),
        errors={2: "failed"},
        notes={0: "note"},
        stopped_by={0: ("Tax",)},
        reasons={1: "why"},
    )
    whole = spread(part, np.array([4, 0, 2]), 5)
    assert whole.triggered.tolist() == [0, -2, -1, -2, 1]
    np.testing.assert_array_equal(
        whole.score, np.array([0.1, np.nan, np.nan, np.nan, 0.9], np.float32)
    )
    assert whole.matched.tolist() == [0, -1, -1, -1, 1]
    assert (whole.errors, whole.notes) == ({2: "failed"}, {4: "note"})
    assert (whole.stopped_by, whole.reasons) == ({4: ("Tax",)}, {0: "why"})
