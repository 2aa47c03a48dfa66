"""`f1` and `exact` compare words, whatever their case and punctuation."""

from __future__ import annotations

import pytest

from guardtui.scorer import exact, f1
from tests.scorer.samples import score_of


@pytest.mark.parametrize(
    ("completion", "target", "equal"),
    [
        ("The cat.", "cat", True),
        ("a well-known cat", "well known cat", True),
        ("cat dog", "dog cat", False),
        ("cat cat", "cat", False),
        ("3,000", "3000.0", True),
        ("$3.50", "3.5", True),
        ("50%", "50", True),
        ("1e3", "1000", True),
        ("007", "7", True),
        ("-5", "5", True),
        ("(3.14)", "3.14", True),
        ("3.14", "314", False),
        ("1.2.3", "123", True),
        ("U.S.", "us", True),
        ("3.0\n4.0", "3.0 4.0", False),
        ("3.0\n4.0", "30 40", False),
        ("don’t", "dont", False),
        ("don't", "dont", True),
        ("the\ncat", "cat", True),
        ("STRASSE", "Straße", True),
        ("nan", "NaN", True),
        ("", "", False),
        ("the", "a", False),
    ],
)
def test_exact(completion: str, target: str, equal: bool) -> None:
    score = score_of(exact(), completion, target)
    assert score.value == ("C" if equal else "I")
    assert (score.answer, score.explanation) == (completion, None)


def test_every_target_has_a_chance() -> None:
    assert score_of(exact(), "Rome", "Paris", "rome").value == "C"
    assert score_of(f1(), "Rome", "Paris", "rome").value == 1.0


@pytest.mark.parametrize(
    ("completion", "target", "value"),
    [
        ("one two three", "one two", 0.8),
        ("one", "one one", 0.67),
        ("x", "y", 0.0),
        ("", "y", 0.0),
        ("x", "the", 0.0),
        ("one two", "two one", 1.0),
    ],
)
def test_f1(completion: str, target: str, value: float) -> None:
    score = score_of(f1(), completion, target)
    assert score.value == value
    assert type(score.value) is float


def test_stop_words_are_left_out() -> None:
    assert score_of(f1(stop_words=["Very", "so"]), "very good", "so good").value == 1.0
    assert score_of(f1(stop_words=["good"]), "good", "good").value == 0.0


def test_the_answer_is_found_by_a_function() -> None:
    scorer = f1(lambda text: text.split()[-1])
    score = score_of(scorer, "It is Paris", "paris")
    assert (score.value, score.answer) == (1.0, "Paris")
    with pytest.raises(IndexError):
        score_of(scorer, "", "paris")


@pytest.mark.parametrize("scorer", [f1(), exact()])
def test_an_empty_output(scorer: object) -> None:
    assert score_of(scorer, " ", "x").reason == "no_response"
    assert score_of(scorer, "y", "x").reason is None


def test_long_tokens_are_not_kept() -> None:
    from guardtui.scorer.wording import _kept_token

    before = _kept_token.cache_info().currsize
    long = "y" * 100
    assert score_of(exact(), long, long.upper()).value == "C"
    assert _kept_token.cache_info().currsize == before
