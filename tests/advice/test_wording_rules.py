"""Excluding words and cutting, on texts with known answers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.advice.wording_rules import (
    exclusions,
    shortened,
    without_exclusions,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tax advice, not about history", [("not", 3)]),
        ("Anything about tax except dates, unless asked", [("except", 4), ("unless", 6)]),
        ("Prompts that don’t ask for tax", [("don’t", 3)]),
        ("Sports other than football", [("other than", 2)]),
        ("Non-medical questions", [("Non", 1)]),
        ("Requests without consent, excluding jokes", [("without", 2), ("excluding", 4)]),
        ("Fragen zur Steuer, aber nicht zur Geschichte der Steuer", [("nicht", 5)]),
        ("Not only tax but also duty", []),
        ("Whether or not to file", []),
        ("Notable knots and nothing-burgers", []),
        ("Tax, no matter whose", []),
        ("", []),
    ],
)
def test_exclusions_have_their_position(text: str, expected: list[tuple[str, int]]) -> None:
    assert [(exclusion.text, exclusion.word) for exclusion in exclusions(text)] == expected
    for exclusion in exclusions(text):
        assert text[exclusion.start : exclusion.stop] == exclusion.text


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Personal tax advice, not about history", "Personal tax advice"),
        ("Tax advice (excluding dates) for a person", "Tax advice for a person"),
        ("Questions that do not ask for facts", "Questions"),
        ("Not about history, but about advice on tax", "Advice on tax"),
        ("Not about taxes", None),
        ("Personal tax advice", "Personal tax advice"),
    ],
)
def test_removing_exclusions(text: str, rest: str | None) -> None:
    assert without_exclusions(text) == rest


@given(
    st.text(max_size=120)
    | st.lists(st.sampled_from(["a", "not", "tax", ",", ".", "but", "except", "("])).map(" ".join)
)
def test_any_text_without_exclusions_has_none_or_is_none(text: str) -> None:
    rest = without_exclusions(text)
    assert rest is None or not exclusions(rest)
    assert rest is None or len(rest) <= len(text)
    assert all(exclusion.word >= 1 for exclusion in exclusions(text))


@given(st.text(max_size=200), st.integers(1, 120))
def test_a_cut_text_is_a_beginning_within_the_limit(text: str, limit: int) -> None:
    rest = shortened(text, limit)
    if rest is not None:
        assert text.strip().startswith(rest)
        assert 0 < len(rest.encode("utf-8", "surrogatepass")) <= limit


def test_a_cut_ends_with_a_phrase_where_one_fits() -> None:
    text = (
        "Personal advice on income tax, "
        + "on duty and on fees and on levies of all kinds of states"
    )
    rest = shortened(text, 60)
    assert rest is not None
    assert re.search(r"\b(tax|fees|duty)$", rest)
