"""Separation against scikit-learn, resampling, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn import metrics as oracle

from guardtui.domain.separation import placements, separation, separation_change

Floats = NDArray[np.float32]
Labels = NDArray[np.bool_]


@st.composite
def samples(draw: st.DrawFn) -> tuple[Floats, Labels]:
    """Scores with ties, and both classes."""
    labels = [True] * draw(st.integers(2, 12)) + [False] * draw(st.integers(2, 12))
    scores = draw(
        st.lists(
            st.integers(0, 8).map(lambda step: step / 8),
            min_size=len(labels),
            max_size=len(labels),
        )
    )
    return np.array(scores, np.float32), np.array(draw(st.permutations(labels)), bool)


@given(samples())
def test_the_area_is_that_of_scikit_learn_seen_from_either_class(
    sample: tuple[Floats, Labels],
) -> None:
    result = placements(*sample)
    assert result is not None
    area = oracle.roc_auc_score(sample[1], sample[0])
    assert result.area == pytest.approx(area, abs=1e-12)
    assert result.outside.mean() == pytest.approx(area, abs=1e-12)


@given(samples())
def test_a_monotone_transformation_of_scores_changes_nothing(
    sample: tuple[Floats, Labels],
) -> None:
    scores, labels = sample
    before, after = placements(scores, labels), placements(scores**3 / 2 + 0.1, labels)
    assert before is not None
    assert after is not None
    assert separation(before) == separation(after)
    change = separation_change(before, after)
    assert change is not None
    assert (change.value, change.low, change.high) == (0, 0, 0)


@given(samples())
def test_the_interval_holds_the_area_and_stays_within_bounds(
    sample: tuple[Floats, Labels],
) -> None:
    result = placements(*sample)
    assert result is not None
    separated = separation(result)
    assert separated.interval is not None
    assert 0 <= separated.interval.low <= separated.area <= separated.interval.high <= 1


def drawn(seed: int, shift: float = 1.0, count: int = 60) -> tuple[Floats, Floats, Labels]:
    """Scores of two scanners that are correlated, the second a little better."""
    random = np.random.default_rng(seed)
    labels = np.arange(count) % 3 == 0
    common = random.normal(size=count) + labels * shift
    first = common + random.normal(size=count) * 0.5
    second = common + random.normal(size=count) * 0.5 + labels * 0.3
    return first.astype(np.float32), second.astype(np.float32), labels


def test_95_percent_intervals_hold_the_true_area_about_as_often() -> None:
    large_scores, _, large_labels = drawn(1, count=60_000)
    truth = oracle.roc_auc_score(large_labels, large_scores)
    held = 0
    for seed in range(300):
        scores, _, labels = drawn(1000 + seed)
        result = placements(scores, labels)
        assert result is not None
        interval = separation(result).interval
        assert interval is not None
        held += interval.low <= truth <= interval.high
    assert 0.92 <= held / 300 <= 0.98


@pytest.mark.exhaustive
def test_the_interval_of_a_change_is_that_of_paired_resampling() -> None:
    first, second, labels = drawn(7, count=300)
    before, after = placements(first, labels), placements(second, labels)
    assert before is not None
    assert after is not None
    change = separation_change(before, after)
    assert change is not None
    assert change.value == pytest.approx(after.area - before.area)
    random, moved = np.random.default_rng(3), []
    groups = np.flatnonzero(labels), np.flatnonzero(~labels)
    for _ in range(800):
        rows = np.concatenate([random.choice(group, len(group)) for group in groups])
        moved.append(
            oracle.roc_auc_score(labels[rows], second[rows])
            - oracle.roc_auc_score(labels[rows], first[rows])
        )
    assert (change.high - change.low) / 2 == pytest.approx(1.96 * np.std(moved), rel=0.12)


def test_classes_that_are_wholly_apart_have_an_interval_all_the_same() -> None:
    result = placements(np.array([0.9, 0.8, 0.7, 0.1, 0.2], np.float32), np.arange(5) < 3)
    assert result is not None
    separated = separation(result)
    assert separated.area == 1
    assert separated.interval is not None
    assert separated.interval.low == pytest.approx(0.342, abs=0.001)  # Wilson, 2 of 2


@pytest.mark.parametrize("labels", [[True, True], [False, False], []])
def test_one_class_alone_has_no_separation(labels: list[bool]) -> None:
    scores = np.linspace(0, 1, len(labels)).astype(np.float32)
    assert placements(scores, np.array(labels, bool)) is None


def test_prompts_without_a_score_count_nowhere_and_tiny_classes_have_no_interval() -> None:
    result = placements(
        np.array([0.9, np.nan, 0.1, np.nan], np.float32), np.array([1, 1, 0, 0], bool)
    )
    assert result is not None
    separated = separation(result)
    assert (separated.area, separated.interval) == (1, None)
    assert separation_change(result, result) is None


def test_a_change_over_other_prompts_is_refused() -> None:
    first, _, labels = drawn(1)
    before, after = placements(first, labels), placements(first[:-1], labels[:-1])
    assert before is not None
    assert after is not None
    with pytest.raises(ValueError, match="placements before"):
        separation_change(before, after)
