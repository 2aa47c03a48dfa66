"""`choice` holds the selected choices against those of the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from guardtui.scorer import Target, TaskState, choice
from guardtui.scorer.state import Choice
from tests.scorer.samples import run


def judged(
    target: str | Sequence[str], selected: Sequence[int], count: int = 4, completion: str = "x"
) -> Any:
    state = TaskState(completion, choices=[f"text {place}" for place in range(count)])
    for place in selected:
        state.choices[place].correct = True
    return run(choice()(state, Target(target)))


@pytest.mark.parametrize("target", ["AC", "A,C", "C, a", ["A", "C"], ["C A"]])
def test_spellings_of_a_target(target: str | Sequence[str]) -> None:
    score = judged(target, [0, 2])
    assert (score.value, score.answer, score.explanation) == ("C", "A, C", "x")
    assert judged(target, [0]).value == "I"


def test_after_z_come_numbers() -> None:
    assert judged("12", [37], 40).value == "C"
    assert judged("12", [37], 40).answer == "12"
    assert judged("A1", [0, 26], 40).value == "C"


def test_twice_the_same_is_never_right() -> None:
    assert judged("AA", [0]).value == "I"


@pytest.mark.parametrize("target", ["E", "0", "1", "A-B", "é", "½", "ß"])
def test_targets_that_name_no_choice(target: str) -> None:
    with pytest.raises(ValueError, match="choices"):
        judged(target, [0])


def test_without_choices() -> None:
    with pytest.raises(ValueError, match="no choices"):
        judged("A", [], 0)


def test_output_without_a_selection() -> None:
    assert judged("", []).value == "C"
    missing, silent = judged("A", []), judged("A", [], completion=" ")
    assert (missing.value, missing.answer) == ("I", "")
    assert (missing.reason, silent.reason) == ("invalid_response_format", "no_response")
    assert silent.value == "N"


def test_only_true_is_selected() -> None:
    choices = [Choice("a", 1, 0), Choice("b", True, 1)]  # type: ignore[arg-type]
    assert run(choice()(TaskState("x", choices=choices), Target("B"))).value == "C"


def test_shuffled_choices_are_put_back() -> None:
    choices = [Choice("second", True, 1), Choice("third", None, 2), Choice("first", None, 0)]
    score = run(choice()(TaskState("it is A", choices=choices), Target("B")))
    assert (score.value, score.answer) == ("C", "B")
    for line in ("A) second", "B) third", "C) first", "Selected as shown: A"):
        assert line in score.explanation.splitlines()
    assert [one.original_position for one in choices] == [1, 2, 0]
