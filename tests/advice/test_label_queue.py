"""The queue of a log: which prompt is next, what counts, and what the line says."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

from guardtui.advice.label_queue import (
    FIRST,
    FIRST_CHANGE,
    AuditedDifference,
    LabelQueue,
    Question,
    decide,
    looks,
)
from guardtui.domain.estimates import RateEstimate
from guardtui.domain.inbox import WhyAsked

SIZE = 300
SCORES = np.linspace(1, 0, SIZE)
BELONGS = (np.arange(SIZE) % 3 > 0) & (np.arange(SIZE) < 60)
MATCHES = np.arange(SIZE) < 50


def label(queue: LabelQueue, count: int) -> list[Question]:
    """Give the true label of the next prompts."""
    questions = []
    for _ in range(count):
        question = queue.next_audited()
        assert question is not None
        queue.audit(question.row, bool(BELONGS[question.row]))
        questions.append(question)
    return questions


def test_the_same_labels_lead_to_the_same_questions() -> None:
    first, second = (LabelQueue(SCORES, [MATCHES], seed=3) for _ in range(2))
    asked = label(first, 40)
    for question in asked:
        second.audit(question.row, bool(BELONGS[question.row]))
    assert second.next_audited() == first.next_audited()
    assert label(LabelQueue(SCORES, [MATCHES], seed=4), 40) != asked


def test_every_prompt_is_asked_once_with_a_chance() -> None:
    queue = LabelQueue(SCORES, [MATCHES])
    asked = label(queue, SIZE)
    assert sorted(question.row for question in asked) == list(range(SIZE))
    assert all(0 < (question.chance or 0) <= 1 for question in asked)
    assert queue.next_audited() is None
    coverage = queue.rates().coverage
    assert coverage.low == coverage.high == pytest.approx(float(MATCHES[BELONGS].mean()))


def test_undo_asks_the_same_prompt_again() -> None:
    queue = LabelQueue(SCORES, [MATCHES])
    asked = label(queue, 30)
    assert queue.undo() == asked[-1].row
    assert queue.next_audited() == asked[-1]
    assert [queue.undo() for _ in range(30)][-1] is None


def test_a_prompt_set_aside_is_not_asked() -> None:
    queue = LabelQueue(SCORES, [MATCHES])
    question = queue.next_audited()
    assert question is not None
    queue.set_aside(question.row)
    asked = label(queue, SIZE - 1)
    assert question.row not in [each.row for each in asked]
    assert queue.next_audited() is None
    assert queue.rates().coverage.half_width == 0


def test_a_chosen_prompt_counts_only_when_the_audit_draws_it() -> None:
    queue = LabelQueue(SCORES, [MATCHES])
    label(queue, FIRST)
    before = queue.rates()
    for row in range(SIZE - 10):
        queue.choose(row, bool(BELONGS[row]))
    assert queue.rates() == before
    question = queue.next_audited()
    assert question is not None
    assert question.row >= SIZE - 10
    audited = queue.audited
    queue.audit(question.row, False)
    assert queue.undo() == question.row
    assert queue.audited == audited


def test_undo_takes_labels_that_were_known_back_with_the_one_before_them() -> None:
    queue = LabelQueue(SCORES, [MATCHES])
    first = queue.next_audited()
    assert first is not None
    queue.audit(first.row, False)
    queue.audit((first.row + 1) % SIZE, True, known=True)
    assert queue.undo() == first.row
    assert queue.audited == 0


def test_chosen_prompts_are_near_the_operating_point_on_both_sides() -> None:
    queue = LabelQueue(SCORES, [MATCHES])
    cut = float(SCORES[49])
    rows = []
    for _ in range(6):
        question = queue.next_chosen(cut)
        assert question is not None
        assert question.why is WhyAsked.CHOSEN
        assert question.chance is None
        queue.choose(question.row, True)
        rows.append(question.row)
    assert sorted(rows) == [47, 48, 49, 50, 51, 52]


def test_a_chosen_prompt_is_unlike_the_labelled_ones() -> None:
    vectors = np.zeros((4, 2))
    vectors[:, 0] = 1
    vectors[3] = 0, 1
    queue = LabelQueue(np.array([0.9, 0.8, 0.7, 0.6]), [np.ones(4, bool)], vectors=vectors)
    queue.audit(0, True)
    question = queue.next_chosen(0.5)
    assert question is not None
    assert question.row == 3


def test_no_chosen_prompt_is_left_when_all_are_labelled() -> None:
    queue = LabelQueue(np.array([0.9, 0.1]), [np.array([True, False])])
    queue.choose(0, True)
    queue.choose(1, False)
    assert queue.next_chosen(0.5) is None


def test_labels_of_an_audit_count_for_a_changed_definition() -> None:
    changed = np.arange(SIZE) < 70
    truth = float((~changed)[~BELONGS].mean())
    held = 0
    for seed in range(20):
        earlier = LabelQueue(SCORES, [MATCHES], seed=seed)
        asked = label(earlier, 60)
        queue = LabelQueue(SCORES, [changed], strata=earlier.strata, seed=seed)
        for question in asked:
            queue.audit(question.row, bool(BELONGS[question.row]))
        coverage = queue.rates().coverage
        held += coverage.low <= truth <= coverage.high
    assert held >= 17


def test_prompts_that_come_later_have_strata_of_their_own() -> None:
    earlier = LabelQueue(SCORES[::2], [MATCHES[::2]])
    strata = np.full(SIZE, -1)
    strata[::2] = earlier.strata
    queue = LabelQueue(SCORES, [MATCHES], strata=strata)
    assert not set(queue.strata[::2].tolist()) & set(queue.strata[1::2].tolist())


def test_two_people_are_asked_different_prompts() -> None:
    queue = LabelQueue(SCORES, [MATCHES])
    first = queue.next_audited()
    assert first is not None
    second = queue.next_audited(pending=[first.row])
    assert second is not None
    assert second.row != first.row


def test_the_line_counts_labels_until_the_first_estimate() -> None:
    queue = LabelQueue(SCORES, [MATCHES])
    label(queue, FIRST - 1)
    assert queue.line == "1 more label until the first estimate"


def test_the_line_names_the_labels_until_the_interval_is_narrow_and_says_enough() -> None:
    queue = LabelQueue(SCORES, [MATCHES])
    label(queue, FIRST)
    assert queue.line.endswith(" more labels for ±0.08")
    while "for ±0.08" in queue.line[20:]:
        label(queue, 5)
    assert queue.line.startswith("enough for ±0.08: coverage 0.")
    assert queue.line.endswith(" more labels for ±0.05")
    label(queue, SIZE - queue.audited)
    assert queue.line == "enough: coverage 0.82 in production (0.82 to 0.82)"


def test_the_labels_until_the_interval_is_narrow_are_predicted_without_jumps() -> None:
    queue = LabelQueue(SCORES, [MATCHES])
    totals = []
    for count in (FIRST, *[5] * 12):
        label(queue, count)
        if found := re.search(r"about (\d+) more labels for ±0\.08$", queue.line):
            totals.append(queue.audited + int(found[1]))
    assert len(totals) > 2
    assert max(abs(after - before) for before, after in pairwise(totals)) <= 40


def test_a_change_is_estimated_after_fifteen_labels() -> None:
    queue = LabelQueue(SCORES, [MATCHES, np.arange(SIZE) < 60])
    assert queue.line == "15 more labels until the first estimate"
    label(queue, FIRST_CHANGE)
    assert queue.is_estimated


def test_the_line_of_two_definitions_names_the_decision() -> None:
    queue = LabelQueue(SCORES, [MATCHES, np.arange(SIZE) < 60])
    label(queue, SIZE)
    assert queue.line == ("enough: your edit is better: coverage +0.098 (+0.098 to +0.098)")


@pytest.mark.parametrize(
    ("low", "high", "decision"),
    [
        (0.01, 0.05, AuditedDifference.BETTER),
        (-0.05, -0.01, AuditedDifference.WORSE),
        (-0.02, 0.02, AuditedDifference.SAME),
        (-0.01, 0.03, AuditedDifference.OPEN),
        (0.0, 0.0, AuditedDifference.SAME),
    ],
)
def test_a_decision_follows_from_the_interval(
    low: float, high: float, decision: AuditedDifference
) -> None:
    assert decide(RateEstimate((low + high) / 2, low, high)) is decision


def test_looks_become_rarer_as_labels_become_many() -> None:
    assert looks(29) == []
    assert looks(41) == [30, 35, 40]
    assert looks(26, FIRST_CHANGE) == [15, 20, 25]
    assert looks(1_000)[-1] - looks(1_000)[-2] > 40


def test_strata_of_ten_thousand_prompts_give_a_queue_of_sixty() -> None:
    random = np.random.default_rng(0)
    scores = random.random(10_000)
    vectors = random.normal(size=(10_000, 64))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    queue = LabelQueue(scores, [scores > 0.95], vectors=vectors)
    for _ in range(30):
        question = queue.next_audited()
        assert question is not None
        queue.audit(question.row, bool(scores[question.row] > 0.9))
        chosen = queue.next_chosen(0.95)
        assert chosen is not None
        queue.choose(chosen.row, True)
    assert queue.audited >= 30
