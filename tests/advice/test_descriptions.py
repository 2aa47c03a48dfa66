"""Other wordings of a description: readable, with its beginning, without excluding words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.advice.descriptions import drafts, extended, generalized, including, shortened
from guardtui.advice.phrases import content_words, excludes

PARTS = st.sampled_from(
    [
        "Questions about income tax",
        ", and requests to file returns",
        "; the deadlines of returns",
        " (with their forms)",
        ", including late returns",
        ", such as fines",
        ": what to pay",
        ". Whatever else",
        " – in words",
        ", not fines",
        ".",
        "(",
    ]
)
DESCRIPTIONS = st.lists(PARTS, max_size=6).map("".join)


@given(DESCRIPTIONS)
def test_a_shortened_description_is_its_beginning_the_longest_first(text: str) -> None:
    shorter_texts = list(shortened(text))
    assert [len(shorter) for shorter in shorter_texts] == sorted(
        (len(shorter) for shorter in shorter_texts), reverse=True
    )
    for shorter in shorter_texts:
        assert text.startswith(shorter)
        assert shorter != text
        assert shorter.count("(") == shorter.count(")")
        assert len(content_words(shorter)) >= 2
        assert shorter[-1] not in " ,;:–("


@given(DESCRIPTIONS)
def test_a_widened_description_keeps_its_beginning_and_excludes_nothing_more(text: str) -> None:
    base = re.split(r", including ", text.strip())[0].rstrip(",;:")
    for wider, added in generalized(text):
        assert wider.startswith(base.rstrip())
        assert added in wider
        assert excludes(wider) <= excludes(text)


def test_clauses_are_dropped_from_the_end() -> None:
    text = "Questions about tax (of any kind), including late returns; and the fines for them"
    assert list(shortened(text)) == [
        "Questions about tax (of any kind), including late returns",
        "Questions about tax (of any kind)",
    ]
    assert list(shortened("Personal tax advice")) == []


@pytest.mark.parametrize(
    ("text", "wider"),
    [
        ("Tax", "Tax, including a fine"),
        ("Tax:", "Tax, including a fine"),
        (" Tax ", "Tax, including a fine"),
        ("Tax, including fees", "Tax, including fees and a fine"),
        ("Tax, including fees and dues", "Tax, including fees, dues and a fine"),
        ("Tax, including fees, dues and tolls", "Tax, including fees, dues, tolls and a fine"),
        ("Tax, including w, x, y and z", None),
        ("Tax.", "Tax. This includes a fine."),
        ("Is it tax?", "Is it tax? This includes a fine."),
        ("Tax, including fees; returns", "Tax, including fees; returns, including a fine"),
    ],
)
def test_an_including_list_is_extended(text: str, wider: str | None) -> None:
    assert including(text, "a fine") == wider


def test_a_phrase_of_one_prompt_or_of_others_too_is_not_included() -> None:
    prompts = (
        "Can I deduct a home office?",
        "What is a home office worth?",
        "Is a company car taxed?",
        "Is a small loan taxed?",
        "And a small loan of mine?",
    )
    others = ("Who is a small loan shark?", "How is a small loan made of clay?")
    extensions = list(extended("Tax", prompts, others))
    assert extensions == [("Tax, including a home office", "a home office", prompts[0])]
    assert list(extended("Tax on a home office", prompts, others)) == []
    assert [phrase for _, phrase, _ in extended("Tax", prompts, ())] == [
        "a home office",
        "a small loan",
    ]


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("tax advice", "Tax advice", "Questions and requests about tax advice"),
        ("Tax advice", "Tax advice", "Questions and requests about tax advice"),
        ("IRS forms", "IRS forms", "Questions and requests about IRS forms"),
        (" X ", "X", "Questions and requests about X"),
    ],
)
def test_a_name_makes_first_descriptions(name: str, first: str, second: str) -> None:
    assert drafts(name)[:2] == [first, second]


def test_no_name_makes_none() -> None:
    assert drafts(" ") == []
