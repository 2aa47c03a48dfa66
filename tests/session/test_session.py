"""Edits, undo, keep and discard: the rules of the loop, without files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import Guardrail, ScannerSettings
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, Verdicts
from guardtui.session.session import PLATEAU, Decision, Session
from tests.guardrails import engine_settings

TOPIC = Topic(name="Tax", description="tax advice", examples=("one", "two"))


def evaluation(topic: Topic, hits: int, of: int = 10) -> Evaluation:
    """An evaluation with coverage hits / of: all negatives right, that many positives found."""
    expected = np.array([True] * of + [False] * of)
    triggered = np.array([1] * hits + [0] * (of - hits) + [0] * of, dtype=np.int8)
    nothing = np.zeros(2 * of, np.float32)
    return Evaluation(
        topic,
        engine_settings("test", 0.5, "built-in"),
        "prompts",
        np.arange(2 * of, dtype=np.uint64),
        expected,
        Verdicts(triggered, nothing, np.zeros(2 * of, np.int16)),
    )


def record(session: Session, hits: int, decision: Decision, topic: Topic = TOPIC) -> None:
    session.record(session.next_iteration(evaluation(topic, hits), decision, "2026-01-01"))


def test_typing_a_word_is_one_step() -> None:
    session = Session(TOPIC)
    for text in ("tax advice,", "tax advice, a", "tax advice, all "):
        session.edit(TOPIC.model_copy(update={"description": text}), "description")
    session.end_group()
    session.edit(TOPIC.model_copy(update={"description": "tax advice, all n"}), "description")
    assert session.undo() == ("description +1 byte",)
    assert session.undo() == ("description +6 bytes",)
    assert session.topic == TOPIC
    assert not session.can_undo
    assert session.undo() == ()
    session.redo()
    session.redo()
    assert session.topic.description == "tax advice, all n"
    assert session.redo() == ()


def test_edit_after_undo_clears_redo() -> None:
    session = Session(TOPIC)
    session.edit(TOPIC.model_copy(update={"name": "A"}))
    session.undo()
    session.edit(TOPIC.model_copy(update={"name": "B"}))
    assert not session.can_redo
    assert not session.edit(session.topic)


def test_better_is_strictly_greater_than_the_best_kept() -> None:
    session = Session(TOPIC)
    assert session.is_better(evaluation(TOPIC, 0))
    record(session, 7, Decision.KEEP)
    record(session, 9, Decision.DISCARD)
    assert not session.is_better(evaluation(TOPIC, 7))
    assert session.is_better(evaluation(TOPIC, 8))
    assert session.best is session.iterations[0]


def test_an_incomplete_iteration_is_the_best_only_without_a_complete_one() -> None:
    session = Session(TOPIC)
    checked = evaluation(TOPIC, 10)
    triggered = checked.verdicts.triggered.copy()
    triggered[4:10] = Triggered.NOT_ASKED
    checked = replace(checked, verdicts=replace(checked.verdicts, triggered=triggered))
    session.record(session.next_iteration(checked, Decision.KEEP, "2026-01-01"))
    assert session.best is session.iterations[0]
    record(session, 7, Decision.KEEP)
    assert session.best is session.iterations[1]
    assert session.best_coverage == 0.7


def test_discard_restores_the_best_definition_exactly() -> None:
    best = TOPIC.model_copy(update={"examples": ("one", "two", "three")})
    session = Session(best)
    record(session, 8, Decision.KEEP, best)
    session.edit(TOPIC.model_copy(update={"description": "other"}))
    assert session.restore_best()
    assert session.topic == best
    assert session.undo()
    assert session.topic.description == "other"


def test_five_discards_in_a_row_are_a_plateau() -> None:
    session = Session(TOPIC)
    record(session, 7, Decision.KEEP)
    for number in range(PLATEAU):
        assert not session.plateau
        assert session.discards_in_a_row == number
        record(session, 6, Decision.DISCARD)
    assert session.plateau
    record(session, 8, Decision.KEEP)
    assert not session.plateau


def test_baseline_is_the_last_kept_iteration_unless_pinned() -> None:
    session = Session(TOPIC)
    assert session.baseline is None
    for hits, decision in ((5, Decision.KEEP), (7, Decision.KEEP), (6, Decision.DISCARD)):
        record(session, hits, decision)
    assert session.baseline is session.iterations[1]
    session.pin(2)
    assert session.baseline is session.iterations[2]
    session.pin(None)
    assert session.baseline is session.iterations[1]
    with pytest.raises(KeyError):
        session.pin(17)
    session.record(replace(session.iterations[1], decision=Decision.DISCARD))
    assert session.baseline is session.iterations[0]


def test_iterations_of_another_program_are_added_in_order_and_replaced() -> None:
    session = Session(TOPIC)
    for hits in (5, 6):
        record(session, hits, Decision.KEEP)
    version, best = session.version, session.best
    theirs = replace(session.iterations[1], number=3, decision=Decision.DISCARD)
    session.learn([theirs, replace(session.iterations[1], decision=Decision.DISCARD)])
    session.record(replace(theirs, number=2))
    assert [one.decision for one in session.iterations] == [Decision.KEEP, *3 * [Decision.DISCARD]]
    assert [one.number for one in session.iterations] == [0, 1, 2, 3]
    assert session.version != version
    assert best is not None
    assert session.best is session.iterations[0]


def test_recorded_iteration_is_compared_with_the_pinned_or_the_one_kept_before_by_its_scanner() -> (
    None
):
    session = Session(TOPIC)
    for hits in (5, 6, 7):
        record(session, hits, Decision.KEEP)
    first, second, third = session.iterations
    other = replace(second.evaluation, settings=ScannerSettings(guardrail=Guardrail("airs")))
    session.record(replace(second, evaluation=other))
    assert session.baseline_of(first) is None
    assert session.baseline_of(third) is first
    session.pin(1)
    assert session.baseline_of(third) is session.iterations[1]
    assert session.baseline_of(session.iterations[1]) is None
