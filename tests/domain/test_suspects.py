"""Labels in doubt against a row by row reading of what the words mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.suspects import suspects

Case = tuple[list[bool], list[list[int]], list[float], list[bool]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    count = draw(st.integers(0, 12))
    answers = st.sampled_from([-1, 1, 1, 0])
    row = st.lists(answers, min_size=count, max_size=count)
    scanners = draw(st.lists(row, min_size=1, max_size=5))
    labels = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    far = st.floats(0, 1, width=32) | st.just(float("nan"))
    distances = draw(st.lists(far, min_size=count, max_size=count))
    return (
        labels,
        scanners,
        distances,
        draw(st.lists(st.booleans(), min_size=count, max_size=count)),
    )


def by_hand(case: Case) -> tuple[list[tuple[int, int, int]], list[int]]:
    """Rows in doubt with scanners against and for the label, and rows of the blind spot."""
    labels, scanners, far, foreign = case
    doubted, blind = [], []
    for row, label in enumerate(labels):
        votes = [bool(answers[row]) for answers in scanners if answers[row] >= 0]
        against, agreeing = votes.count(not label), votes.count(label)
        if against >= 2 and against > agreeing:
            distance = -1.0 if far[row] != far[row] else far[row]
            doubted.append((-against, agreeing, -distance, row))
        engine_wrong = scanners[0][row] >= 0 and bool(scanners[0][row]) != label
        if engine_wrong and against == 1 and (agreeing or foreign[row]):
            blind.append(row)
    return [(row, -a, b) for a, b, _, row in sorted(doubted)], blind


@given(cases())
def test_labels_in_doubt_are_those_found_by_hand(case: Case) -> None:
    labels, scanners, far, foreign = case
    count = len(labels)
    result = suspects(
        np.array(labels, bool),
        np.array(scanners, np.int8).reshape(len(scanners), count),
        engine=0,
        foreign=lambda rows: np.array(foreign, bool)[rows],
        distance=np.array(far, np.float32),
    )
    columns = (result.rows.tolist(), result.against.tolist(), result.agreeing.tolist())
    doubted, blind = by_hand(case)
    assert list(zip(*columns, strict=True)) == doubted
    assert result.blind_spot.tolist() == blind
    assert not {*result.rows.tolist()} & {*blind}


def test_one_scanner_puts_no_label_in_doubt() -> None:
    result = suspects(np.zeros(3, bool), np.ones((1, 3), np.int8), engine=0)
    assert len(result) == 0
    assert result.blind_spot.tolist() == []


def test_more_against_come_first_then_fewer_for_then_the_clearest() -> None:
    labels = np.zeros(4, bool)
    answers = np.array([[1, 1, 1, 1], [1, 1, 1, 1], [1, 0, -1, -1]], np.int8)
    result = suspects(labels, answers, distance=np.array([0.0, 0.9, 0.1, 0.4]))
    assert result.rows.tolist() == [0, 3, 2, 1]
    assert result.against.tolist() == [3, 2, 2, 2]
    assert result.agreeing.tolist() == [0, 0, 0, 1]


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="answers for"):
        suspects(np.zeros(2, bool), np.zeros((1, 3), np.int8))
    with pytest.raises(ValueError, match="distances for"):
        suspects(np.zeros(2, bool), np.zeros((1, 2), np.int8), distance=np.zeros(3))
