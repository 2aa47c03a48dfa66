"""Labels in doubt against a row by row reading of what the words mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.suspects import suspects

Case = tuple[list[bool], list[list[int]]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    count = draw(st.integers(0, 12))
    answers = st.sampled_from([-1, 1, 1, 0])
    row = st.lists(answers, min_size=count, max_size=count)
    guardrails = draw(st.lists(row, min_size=0, max_size=5))
    return draw(st.lists(st.booleans(), min_size=count, max_size=count)), guardrails


def by_hand(case: Case) -> list[bool]:
    labels, guardrails = case
    doubtful = []
    for row, label in enumerate(labels):
        votes = [bool(answers[row]) for answers in guardrails if answers[row] >= 0]
        against, agreeing = votes.count(not label), votes.count(label)
        doubtful.append(against >= 2 and against > agreeing)
    return doubtful


@given(cases())
def test_labels_in_doubt_are_those_found_by_hand(case: Case) -> None:
    labels, guardrails = case
    answers = np.array(guardrails, np.int8).reshape(len(guardrails), len(labels))
    assert suspects(np.array(labels, bool), answers).tolist() == by_hand(case)


def test_one_guardrail_puts_no_label_in_doubt() -> None:
    assert not suspects(np.zeros(3, bool), np.ones((1, 3), np.int8)).any()


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="answers for"):
        suspects(np.zeros(2, bool), np.zeros((1, 3), np.int8))
