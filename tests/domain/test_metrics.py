"""Metrics against scikit-learn, and what is undefined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as oracle

from guardtui.domain.metrics import Metrics, metrics_by_group, metrics_of, missing_counts
from guardtui.domain.verdicts import Outcome, outcomes

rows = st.lists(st.tuples(st.booleans(), st.sampled_from([-2, -1, 0, 1])), max_size=60)


@given(rows)
def test_counts_and_rates_are_those_of_scikit_learn(table: list[tuple[bool, int]]) -> None:
    should = np.array([label for label, _ in table], dtype=bool)
    triggered = np.array([answer for _, answer in table], dtype=np.int8)
    metrics = metrics_of(outcomes(should, triggered))
    known = triggered >= 0
    y, predicted = should[known], triggered[known] == 1
    if len(y) == 0:
        assert metrics.total == 0
        return
    tn, fp, fn, tp = oracle.confusion_matrix(y, predicted, labels=[False, True]).ravel()
    assert (metrics.tn, metrics.fp, metrics.fn, metrics.tp) == (tn, fp, fn, tp)
    assert metrics.errors == int((triggered == -1).sum())
    assert metrics.open == int((triggered == -2).sum())
    assert (metrics.missing, metrics.prompts) == (int((~known).sum()), len(table))
    if y.any() and predicted.any():
        assert metrics.true_positive_rate == pytest.approx(oracle.recall_score(y, predicted))
        assert metrics.precision == pytest.approx(oracle.precision_score(y, predicted))
        assert metrics.f1 == pytest.approx(oracle.f1_score(y, predicted))
    if len(y):
        assert metrics.accuracy == pytest.approx(oracle.accuracy_score(y, predicted))


def test_a_rate_without_a_denominator_is_undefined() -> None:
    empty = Metrics(0, 0, 0, 0, errors=3)
    assert empty.total == 0
    rates = (empty.true_positive_rate, empty.true_negative_rate, empty.coverage)
    assert (*rates, empty.accuracy, empty.precision, empty.f1) == (None,) * 6
    one_class = Metrics(tp=2, tn=0, fp=0, fn=1)
    assert one_class.true_positive_rate == pytest.approx(2 / 3)
    assert one_class.coverage is None


def test_errors_and_open_rows_are_counted_apart_and_are_in_no_rate() -> None:
    codes = outcomes(np.array([True] * 4), np.array([1, -1, -2, -2], dtype=np.int8))
    assert codes.tolist() == [Outcome.TP, Outcome.ERROR, Outcome.OPEN, Outcome.OPEN]
    metrics = metrics_of(codes)
    assert metrics.true_positive_rate == 1.0
    assert (metrics.total, metrics.errors, metrics.open) == (1, 1, 2)
    assert missing_counts(metrics) == "open 2  errors 1"
    assert missing_counts(Metrics(1, 0, 0, 0)) == "errors 0"


@given(st.lists(st.tuples(st.sampled_from(list(Outcome)), st.integers(0, 3)), max_size=50))
def test_groups_add_up_to_the_whole(table: list[tuple[Outcome, int]]) -> None:
    codes = np.array([code for code, _ in table], dtype=np.int8)
    groups = np.array([group for _, group in table], dtype=np.int32)
    parts = metrics_by_group(codes, groups, ["a", "b", "c", "d"])
    assert list(parts) == ["a", "b", "c", "d"]
    for index, part in enumerate(parts.values()):
        assert part == metrics_of(codes[groups == index])


def test_a_group_outside_of_the_names_is_refused() -> None:
    with pytest.raises(ValueError, match="outside"):
        metrics_by_group(np.zeros(1, np.int8), np.array([2]), ["a", "b"])


def test_labels_and_verdicts_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="labels"):
        outcomes(np.zeros(2, bool), np.zeros(3, np.int8))
