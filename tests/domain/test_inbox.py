"""What the lines of an inbox say of a prompt, taken together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.inbox import (
    InboxRecord,
    LabelChange,
    Production,
    State,
    WhyAsked,
    prompt_id,
)
from guardtui.domain.prompts import prompt_keys


def record(*lines: dict[str, object]) -> InboxRecord:
    made = InboxRecord("1")
    for line in lines:
        made.add(line)
    return made


def label(expected: bool | None, at: str = "t", **more: object) -> dict[str, object]:
    state = "unlabelled" if expected is None else "labelled"
    return {"state": state, "expected": expected, "at": at, **more}


def test_the_id_is_the_key_that_a_prompt_set_gives() -> None:
    assert int(prompt_id("a"), 16) == prompt_keys(["b", "a"])[1]
    assert len(prompt_id("a")) == 16


def test_later_lines_add_to_earlier_ones() -> None:
    made = record(
        {"text": "a", "origin": "log:1", "added_at": "t0", "production": {"triggered": True}},
        {"why_asked": "audit", "chance": 0.2, "asked_at": "t1"},
        label(True, "t2", reason="r"),
        {"why_asked": "chosen", "chance": 1, "asked_at": "t3"},
        label(False, "t4"),
    )
    prompt = made.prompt("a", False, in_set=True)
    assert (prompt.state, prompt.expected, prompt.reason) == (State.LABELLED, False, "r")
    assert (prompt.why_asked, prompt.chance) == (WhyAsked.AUDIT, 0.2)
    assert (prompt.asked_at, prompt.labelled_at) == ("t3", "t4")
    assert prompt.production == (Production(True),)
    assert prompt.changes == (
        LabelChange("t2", None, True, "r", WhyAsked.AUDIT),
        LabelChange("t4", True, False, "", WhyAsked.AUDIT),
    )


def test_a_label_that_the_prompt_set_lost_is_none() -> None:
    made = record(label(True))
    assert made.prompt("a", None, in_set=False).state is State.UNLABELLED
    assert made.prompt("a", None, in_set=False).changes[-1] == LabelChange("", True, None)
    assert made.prompt("a", True, in_set=True).changes == (LabelChange("t", None, True),)


def test_a_prompt_that_was_set_aside_is_not_if_the_prompt_set_has_a_label() -> None:
    made = record({"state": "set-aside", "at": "t"})
    assert made.prompt("a", None, in_set=True).state is State.SET_ASIDE
    assert made.prompt("a", True, in_set=True).state is State.LABELLED


@pytest.mark.parametrize("value", [None, "x", {}, {"triggered": 1}, {"guardrail": "g"}])
def test_other_values_are_no_verdict_of_production(value: object) -> None:
    assert Production.of(value) is None


def test_two_answers_of_one_guardrail_by_one_definition_are_none_and_stay_so() -> None:
    said = [
        Production(True, "a", "1", ("Tax",)),
        Production(True, "a", "2"),
        Production(False, "b", "1"),
        Production(False, "a", "1"),
        Production(True, "a", "1"),
    ]
    made = record(*({"production": one.as_json()} for one in said))
    assert made.prompt("a", True, in_set=True).production == (
        Production(None, "a", "1"), Production(True, "a", "2"), Production(False, "b", "1"),
    )  # fmt: skip


@given(st.lists(st.sampled_from([True, False, None])))
def test_each_change_of_a_label_is_kept(labels: list[bool | None]) -> None:
    made = record(*(label(expected) for expected in labels))
    before: bool | None = None
    changes = iter(made.changes)
    for expected in labels:
        if expected is not before:
            change = next(changes)
            assert (change.before, change.after) == (before, expected)
        before = expected
    assert next(changes, None) is None
    assert made.expected is before


@given(
    st.dictionaries(
        st.sampled_from(
            (
                "state",
                "expected",
                "reason",
                "chance",
                "why_asked",
                "asked_at",
                "production",
                "origin",
            )
        ),
        st.none() | st.booleans() | st.floats() | st.text() | st.lists(st.none()),
    )
)
def test_lines_written_by_hand_are_read(line: dict[str, object]) -> None:
    prompt = record(line).prompt("a", None, in_set=False)
    assert prompt.chance is None or 0 < prompt.chance <= 1
