"""Suspect labels against a row by row reading of what the words mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.suspects import suspects

Case = tuple[list[bool], list[list[int]], list[list[int]], list[int], list[float]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    count = draw(st.integers(0, 12))
    # Mostly of one mind, or nothing would ever be suspect.
    answers = st.sampled_from([-1, 1, 1, 1, 1, 0])
    row = st.lists(answers, min_size=count, max_size=count)
    now, past = draw(st.lists(row, max_size=4)), draw(st.lists(row, max_size=5))
    voices = len(now) + len(past)
    speakers = draw(st.lists(st.integers(0, 4), min_size=voices, max_size=voices))
    labels = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    far = st.floats(0, 1, width=32) | st.just(float("nan"))
    return labels, now, past, speakers, draw(st.lists(far, min_size=count, max_size=count))


def by_hand(case: Case) -> list[tuple[int, int]]:
    """Rows with their voices, as the words say it."""
    labels, now, past, speakers, far = case
    found = []
    for row, label in enumerate(labels):
        said: dict[int, set[bool]] = {}
        for speaker, answers in zip(speakers, [*now, *past], strict=True):
            if answers[row] >= 0:
                said.setdefault(speaker, set()).add(bool(answers[row]))
        if len(said) >= 2 and all(answers == {not label} for answers in said.values()):
            distance = -1.0 if far[row] != far[row] else far[row]
            found.append((-len(said), -distance, row))
    return [(row, -voices) for voices, _, row in sorted(found)]


def columns(table: list[list[int]], count: int) -> np.ndarray:
    return np.array(table, np.int8).reshape(len(table), count)


@given(cases())
def test_suspects_are_those_found_by_hand(case: Case) -> None:
    labels, now, past, speakers, far = case
    count = len(labels)
    found = suspects(
        np.array(labels, bool),
        columns(now, count),
        columns(past, count),
        speakers=speakers,
        distance=np.array(far, np.float32),
    )
    assert list(zip(found.rows.tolist(), found.voices.tolist(), strict=True)) == by_hand(case)
    assert (found.scanners <= found.voices).all()


def test_most_voices_come_first_then_the_clearest_then_the_order() -> None:
    labels = np.zeros(5, bool)
    now = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]], np.int8)
    past = np.array([[-1, 1, -1, -1, 1]], np.int8)
    found = suspects(labels, now, past, distance=np.array([0.1, 0.0, 0.4, 0.1, 0.9]))
    assert found.rows.tolist() == [1, 2, 0, 3]
    assert found.voices.tolist() == [3, 2, 2, 2]
    assert found.scanners.tolist() == [2, 2, 2, 2]


def test_one_voice_alone_is_not_enough_however_often_it_speaks() -> None:
    labels, yes = np.zeros(1, bool), np.ones((1, 1), np.int8)
    assert len(suspects(labels, yes, [])) == 0
    assert len(suspects(labels, yes, [yes[0], yes[0]], speakers=[0, 0, 0])) == 0
    assert len(suspects(labels, yes, [yes[0]], speakers=[0, 1])) == 1


def test_a_speaker_that_once_said_as_the_label_clears_it() -> None:
    labels, yes = np.zeros(1, bool), np.ones(1, np.int8)
    said_no = np.zeros(1, np.int8)
    assert len(suspects(labels, [yes, yes], [said_no], speakers=[0, 1, 0])) == 0


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="answers for"):
        suspects(np.zeros(2, bool), np.zeros((1, 3), np.int8), [])
    with pytest.raises(ValueError, match="distances for"):
        suspects(np.zeros(2, bool), np.zeros((1, 2), np.int8), [], distance=np.zeros(3))
