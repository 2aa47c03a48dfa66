"""Agreement of two scanners against scikit-learn and the definitions, and doubtful labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as oracle

from guardtui.domain.agreement import agreement, suspects

ANSWERS = st.sampled_from([-1, 0, 1])
pairs = st.lists(st.tuples(ANSWERS, ANSWERS), max_size=60)


def columns(table: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    array = np.array(table, np.int8).reshape(-1, 2)
    return array[:, 0].copy(), array[:, 1].copy()


@given(pairs)
def test_counts_and_kappa_are_those_of_scikit_learn(table: list[tuple[int, int]]) -> None:
    first, second = columns(table)
    result = agreement(first, second)
    known = (first >= 0) & (second >= 0)
    assert result.left_out == int((~known).sum())
    assert result.total == int(known.sum())
    assert result.differ.tolist() == [
        row for row, (a, b) in enumerate(table) if a != b and a >= 0 and b >= 0
    ]
    if not known.any():
        assert (result.observed, result.kappa, result.interval()) == (None, None, None)
        return
    one, other = first[known], second[known]
    counts = oracle.confusion_matrix(one, other, labels=[0, 1]).ravel().tolist()
    assert [result.neither, result.second_only, result.first_only, result.both] == counts
    assert result.observed == pytest.approx(oracle.accuracy_score(one, other))
    if len({*one.tolist(), *other.tolist()}) == 1:
        assert result.kappa is None
    else:
        kappa = oracle.cohen_kappa_score(one, other)
        assert result.kappa == pytest.approx(kappa, abs=1e-12)
    wilson = stats.binomtest(int((one == other).sum()), len(one)).proportion_ci(method="wilson")
    interval = result.interval()
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((wilson.low, wilson.high))


@given(pairs)
def test_the_direction_is_tested_as_a_coin(table: list[tuple[int, int]]) -> None:
    result = agreement(*columns(table))
    unequal = result.first_only + result.second_only
    p = stats.binomtest(result.first_only, unequal).pvalue if unequal else 1.0
    assert result.p_value == pytest.approx(p)


@given(pairs)
def test_who_is_first_makes_no_difference_to_how_well_they_agree(
    table: list[tuple[int, int]],
) -> None:
    first, second = columns(table)
    one, other = agreement(first, second), agreement(second, first)
    assert (one.observed, one.kappa, one.p_value) == (other.observed, other.kappa, other.p_value)
    assert (one.first_only, one.second_only) == (other.second_only, other.first_only)
    assert one.differ.tolist() == other.differ.tolist()


def test_verdicts_of_different_prompts_are_refused() -> None:
    with pytest.raises(ValueError, match="verdicts"):
        agreement(np.zeros(2, np.int8), np.zeros(3, np.int8))


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
