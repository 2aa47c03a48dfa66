"""`match` and `includes` find a target where it should stand."""

from __future__ import annotations

import pytest

from guardtui.scorer import Score, Target, TaskState, includes, match
from tests.scorer.samples import run, score_of


@pytest.mark.parametrize(
    ("location", "completion", "target", "value"),
    [
        ("exact", "Paris!", "paris?", "C"),
        ("exact", "Pa-ris", "Paris", "I"),
        ("end", "It is Paris.", "Paris", "C"),
        ("end", "Paris it is", "Paris", "I"),
        ("begin", "Paris it is", "Paris", "C"),
        ("any", "I say Paris it is", "Paris", "C"),
        ("no such place", "I say Paris it is", "Paris", "C"),
        ("end", "whatever", "!?", "C"),
        ("exact", "whatever", "", "I"),
        ("exact", "", "!", "C"),
        ("end", "I like C", "C++", "C"),
        ("end", "STRASSE", "Straße", "C"),
        ("end", "FI", "ﬁ", "C"),
        ("end", "caf\u00e9", "cafe\u0301", "I"),
        ("end", "Paris…", "Paris", "I"),
        ("end", "Paris\u200b", "Paris", "I"),
    ],
)
def test_texts(location: str, completion: str, target: str, value: str) -> None:
    assert score_of(match(location), completion, target).value == value


def test_the_case_counts_when_it_is_not_ignored() -> None:
    assert score_of(match(ignore_case=False), "paris", "Paris").value == "I"


def test_the_answer_is_the_stripped_output_and_the_explanation_all_of_it() -> None:
    score = score_of(match(), "  It is PARIS. \n", "London", "Paris")
    assert (score.value, score.answer) == ("C", "It is PARIS.")
    assert score.explanation == "  It is PARIS. \n"
    assert score.reason is None


@pytest.mark.parametrize(
    ("location", "completion", "target", "value", "answer"),
    [
        ("end", "25", "5", "I", "25"),
        ("end", "It is -5", "5", "I", "-5"),
        ("end", "42 of 60%", "42", "C", "42"),
        ("end", "nothing", "42", "I", ""),
        ("begin", "first 7 then 8", "7", "C", "7"),
        ("any", "7, 8 or 9.", "8", "C", "8"),
        ("any", " none ", "8", "I", "none"),
        ("exact", "(42)", "42", "I", "(42)"),
        ("exact", "42", "(42)", "C", "42"),
        ("end", "7,800,000,000", "7.8e9", "C", "7.8e+09"),
        ("end", "$1,234.50.", "1234.5", "C", "1234.5"),
        ("end", "123464", "123456", "C", "1.2346e+05"),
        ("end", "100000", "99999", "I", "1e+05"),
        ("end", "-0", "0", "I", "-0"),
        ("end", "007", "7", "C", "7"),
        ("end", "2½ cups", "2.5", "C", "2.5"),
        ("end", "I won $5 million", "$5 million", "C", "I won $5 million"),
        ("end", "I won 5 million", "$5 million", "C", "I won 5 million"),
        ("any", "x*y", "x*y", "I", "x*y"),
    ],
)
def test_numbers(location: str, completion: str, target: str, value: str, answer: str) -> None:
    score = score_of(match(location, numeric=True), completion, target)
    assert (score.value, score.answer) == (value, answer)


def test_options_go_by_keyword_only() -> None:
    with pytest.raises(TypeError):
        match("end", True)  # type: ignore[call-arg, misc]


@pytest.mark.parametrize("scorer", [match(), includes()])
def test_no_targets_and_no_answer(scorer: object) -> None:
    score = score_of(scorer, "anything")
    assert (score.value, score.answer, score.reason) == ("I", None, None)
    assert score_of(scorer, " \n", "").reason == "no_response"


def test_includes_answers_with_what_it_compared() -> None:
    score = score_of(includes(), "The STRAßE", "strasse")
    assert (score.value, score.answer, score.explanation) == ("C", "the strasse", "The STRAßE")
    assert score_of(includes(False), "Paris", "paris").answer == "Paris"
    assert score_of(includes(), "Paris", " Paris").value == "I"


def test_state_needs_only_an_output() -> None:
    class Output:
        completion = "Paris"

    class State:
        output = Output()

    assert run(match()(State(), ["Paris"])) == Score(value="C", answer="Paris", explanation="Paris")


def test_a_target_changed_later_is_read_anew() -> None:
    scorer, target = match(), Target("Paris")
    assert run(scorer(TaskState("Paris"), target)).value == "C"
    target.target[0] = "London"
    assert run(scorer(TaskState("Paris"), target)).value == "I"
