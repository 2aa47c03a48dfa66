"""Epochs: answers made one by the reducers of the scorer library, held against its own words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.verdicts import Triggered, Usage, Verdicts
from guardtui.scorer.expression import ExpressionError
from guardtui.session.epochs import EVEN, Epochs

YES, NO, NONE = Triggered.YES, Triggered.NO, Triggered.NO_VERDICT
OPEN = Triggered.NOT_ASKED


def verdicts(answers: list[int], **more: object) -> Verdicts:
    count = len(answers)
    errors = {row: "broken" for row, answer in enumerate(answers) if answer == NONE}
    told = {"errors": errors, **more}
    return Verdicts(
        np.array(answers, np.int8),
        np.full(count, np.nan, np.float32),
        np.full(count, -1, np.int16),
        **told,  # type: ignore[arg-type]
    )


def combined(reducer: str, *epochs: list[int]) -> Verdicts:
    return Epochs.parse(len(epochs), reducer).combine([verdicts(epoch) for epoch in epochs])


@pytest.mark.parametrize(
    ("reducer", "answers", "wanted"),
    [
        ("mode", [YES, YES, NO], YES),
        ("mode", [NO, YES], NO),  # of equally frequent ones the first
        ("majority", [NO, YES], NONE),
        ("mean", [YES, NO], NONE),
        ("mean", [YES, YES, NO], YES),
        ("median", [YES, NO, NO], NO),
        ("max", [NO, NO, YES], YES),
        ("at_least_2", [YES, NO, YES], YES),
        ("at_least_2", [YES, NO, NO], NO),
        ("mean", [YES, NONE, NONE], YES),
        ("mode", [NONE, NONE], NONE),
    ],
)
def test_reducer_combines_epochs_to_one_verdict(
    reducer: str, answers: list[int], wanted: int
) -> None:
    result = combined(reducer, *([answer] for answer in answers))
    assert result.triggered.tolist() == [wanted]
    assert (0 in result.errors) == (wanted == NONE)


def test_tie_is_reported_and_error_keeps_its_reason() -> None:
    result = combined("mean", [YES, NONE], [NO, NONE])
    assert result.errors == {0: f"{EVEN} (1/2)", 1: "broken"}
    # Epochs without an answer do not vote.
    assert combined("majority", [YES], [NONE]).triggered.tolist() == [YES]


@given(
    st.lists(
        st.lists(st.sampled_from([YES, NO, NONE]), min_size=6, max_size=6), min_size=2, max_size=6
    )
)
def test_flaky_rows_and_shares_are_counted(epochs: list[list[int]]) -> None:
    result = combined("mode", *epochs)
    assert result.repeats is not None
    assert result.repeats.tolist() == epochs
    for row in range(6):
        given_answers = [epoch[row] for epoch in epochs if epoch[row] != NONE]
        assert bool(result.flaky[row]) == (len(set(given_answers)) == 2)
        if given_answers:
            share = given_answers.count(YES) / len(given_answers)
            assert result.score[row] == pytest.approx(share)
            assert row not in result.errors
        else:
            assert result.triggered[row] == NONE


def test_texts_come_from_an_epoch_with_the_final_verdict() -> None:
    epochs = [
        verdicts([NO], reasons={0: "not that"}, used=Usage(1, 10, 2, 0.5)),
        verdicts([YES], reasons={0: "that"}, used=Usage(1, 10, 3, 0.5)),
        verdicts([YES], reasons={0: "that too"}),
    ]
    result = Epochs.parse(3, "mode").combine(epochs)
    assert result.reasons == {0: "that"}
    assert result.notes == {0: "triggered in 2 of 3 epochs"}
    assert result.used == Usage(2, 20, 5, 1.0)


def test_rows_without_repeats_use_their_only_answer() -> None:
    second = verdicts([OPEN, NO])
    result = Epochs.parse(2, "mode").combine([verdicts([YES, YES]), second])
    assert result.triggered.tolist() == [YES, YES]
    assert result.flaky.tolist() == [False, True]


def test_row_without_requests_is_open_and_failed_row_is_not() -> None:
    first = verdicts([OPEN, OPEN, OPEN], errors={2: "not sent"})
    second = verdicts([OPEN, NONE, OPEN], errors={1: "timeout"})
    result = Epochs.parse(2, "mode").combine([first, second])
    assert result.triggered.tolist() == [OPEN, NONE, OPEN]
    assert result.errors == {1: "timeout", 2: "not sent"}


def test_newer_epochs_replace_older_ones() -> None:
    old = combined("mode", [YES, NO], [YES, NO])
    new = Epochs.parse(3, "mode").combine([verdicts([OPEN, YES]) for _ in range(3)])
    both = old.merged(new)
    assert both.triggered.tolist() == [YES, YES]
    assert both.repeats is not None
    assert both.repeats.tolist() == [[YES, YES], [YES, YES], [OPEN, YES]]


def test_invalid_input_is_rejected() -> None:
    with pytest.raises(ExpressionError):
        Epochs.parse(3, "nonsense")
    with pytest.raises(ValueError, match="epochs"):
        Epochs.parse(0)
