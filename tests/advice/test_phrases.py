"""Phrases of texts: their ranges, their removal, and noun phrases."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guardtui.advice.phrases import (
    content_words,
    excludes,
    pieces,
    without,
    words,
)

TEXTS = st.text(st.sampled_from("ab ,.;()-’'\n–not and a the ") | st.characters(), max_size=60)


def test_phrases_are_split_at_signs_and_conjunctions() -> None:
    text = "Questions about income tax, and requests to file returns (late or not)"
    assert [text[start:stop] for start, stop in pieces(text)] == [
        "Questions",
        "income tax",
        "and requests to file returns",
        "late",
        "not",
    ]


@given(TEXTS)
@example("0:0)0")
@example("A:µ")
def test_phrases_are_disjoint_ordered_and_not_blank(text: str) -> None:
    end = 0
    for start, stop in pieces(text):
        assert end <= start < stop <= len(text)
        assert text[start:stop].strip()
        end = stop
        shorter = without(text, start, stop)
        assert {*words(shorter)} <= {*words(text)}


@pytest.mark.parametrize(
    ("text", "gone", "left"),
    [
        ("Questions about tax, returns and refunds", "returns", "Questions about tax and refunds"),
        ("Questions about tax", "Questions", "Tax"),
        ("Questions about tax", "tax", "Questions"),
        ("tax (personal), returns", "personal", "tax, returns"),
        ("tax: (personal)returns", "personal", "tax returns"),
    ],
)
def test_text_without_a_phrase_is_tidied(text: str, gone: str, left: str) -> None:
    start = text.index(gone)
    assert without(text, start, start + len(gone)) == left


def test_wording_that_excludes_is_found_in_any_form() -> None:
    assert excludes("Not tax, don’t file, WITHOUT a return") == {"not", "don't", "without"}
    assert excludes("A notable note on nothing") == set()


def test_content_words_are_distinct() -> None:
    text = "Can I deduct 20 of the taxes, or can I not DEDUCT a tax? Don’t"
    assert content_words(text) == ("deduct", "taxes", "tax")


def test_words_of_scripts_with_combining_marks_are_whole() -> None:
    assert words("कर सलाह में cafe\u0301s") == ["कर", "सलाह", "में", "cafe\u0301s"]
