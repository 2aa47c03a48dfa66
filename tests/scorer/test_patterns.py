"""`pattern` and `answer` judge what they capture."""

from __future__ import annotations

import re

import pytest

from guardtui.scorer import answer, pattern
from tests.scorer.samples import score_of


@pytest.mark.parametrize(
    ("expression", "completion", "targets", "value", "captured"),
    [
        (r"is (\w+)", "It is Paris", ["paris"], "C", "Paris"),
        (r"is (\w+)", "It is Rome", ["paris"], "I", "Rome"),
        (r"(\w+) is (\w+)", "It is Rome", ["paris"], "I", None),
        (r"(\w+) is (\w+)", "It is Rome", ["rome"], "C", "Rome"),
        (r"(a)|(b)", "b", ["b"], "C", "b"),
        (r"\d+", "all 42 of them", ["42"], "C", "42"),
        (r"(.*)", "", [""], "I", ""),
        (r"(\w+)", "STRASSE", ["straße"], "I", "STRASSE"),
    ],
)
def test_groups(
    expression: str, completion: str, targets: list[str], value: str, captured: str | None
) -> None:
    score = score_of(pattern(expression), completion, *targets)
    assert (score.value, score.answer, score.explanation) == (value, captured, completion)


def test_all_groups() -> None:
    scorer = pattern(r"(\w+) and (\w+)(!)?", match_all=True)
    score = score_of(scorer, "a and B", "A", "b", "c")
    assert (score.value, score.answer) == ("C", "Abc")
    assert score_of(scorer, "a and b!", "A", "B").value == "I"
    assert score_of(pattern(r"x(y)?", match_all=True), "x", "y").value == "I"


def test_without_a_match() -> None:
    score = score_of(pattern(r"(\d)"), "none here", "1")
    assert (score.value, score.answer, score.reason) == ("I", None, "invalid_response_format")
    assert score.explanation.endswith("none here")
    assert score_of(pattern(r"(\d)"), " ", "1").reason == "no_response"


def test_a_broken_expression_fails_when_it_is_used() -> None:
    scorer = pattern("(")
    with pytest.raises(re.error):
        score_of(scorer, "x", "y")


@pytest.mark.parametrize(
    ("kind", "completion", "captured"),
    [
        ("letter", "ANSWER: A) because", "A"),
        ("letter", "answer : b", "b"),
        ("letter", "ANSWER: A\nANSWER: B.", "B"),
        ("letter", "MYANSWER:\n\nA", "A"),
        ("letter", "ANSWER: A\nANSWER: not sure", None),
        ("letter", "ANSWER: (A)", None),
        ("letter", "ANSWER: AB", None),
        ("letter", "ANSWERS: A", None),
        ("letter", "ANSWER： A", None),
        ("word", "ANSWER: Yes.", "Yes"),
        ("word", "ANSWER: Yes...", "Yes.."),
        ("word", "**ANSWER: Yes**", "Yes**"),
        ("word", "ANSWER: 3.14\nthat is all", "3.14"),
        ("word", "ANSWER: Yes because", None),
        ("word", "ANSWER: a\nANSWER: New York", None),
        ("word", "ANSWER:xANSWER:y", "xANSWER:y"),
        ("line", "ANSWER: New York  ", "New York  "),
        ("line", "ANSWER:\nNew York\n\n", "New York"),
        ("line", "ANSWER: x ANSWER: y", "x ANSWER: y"),
        ("line", "ANSWER: x\r\n", "x\r"),
        ("line", "ANSWER: x\nmore", None),
        ("line", "ANSWER:", None),
    ],
)
def test_answers(kind: str, completion: str, captured: str | None) -> None:
    score = score_of(answer(kind), completion, captured or "")
    assert score.answer == captured
    assert score.value == ("I" if captured is None else "C")


def test_a_stop_that_was_dropped_is_missed() -> None:
    assert score_of(answer("word"), "ANSWER: Yes.", "Yes.").value == "I"


def test_a_long_output_full_of_markers_takes_no_time() -> None:
    for kind in ("letter", "word", "line"):
        score_of(answer(kind), "ANSWER:" * 20_000 + " " * 20_000 + ":", "x")


@pytest.mark.parametrize("kind", ["paragraph", "", "LETTER", None])
def test_other_kinds(kind: str) -> None:
    with pytest.raises(TypeError):
        answer(kind)
