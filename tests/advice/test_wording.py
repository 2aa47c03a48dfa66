"""Wording that excludes, languages, and cutting, held against texts whose answer is known."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.advice.wording import (
    exclusions,
    language,
    odd_languages,
    shortened,
    without_exclusions,
)
from guardtui.files.prompt_files import load_prompts
from guardtui.session.workspace import sample_folder


@pytest.mark.parametrize(
    ("text", "found"),
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
def test_what_excludes_is_named_with_its_place(text: str, found: list[tuple[str, int]]) -> None:
    assert [(one.text, one.word) for one in exclusions(text)] == found
    for one in exclusions(text):
        assert text[one.start : one.stop] == one.text


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
def test_without_what_it_excludes(text: str, rest: str | None) -> None:
    assert without_exclusions(text) == rest


@given(
    st.text(max_size=120)
    | st.lists(st.sampled_from(["a", "not", "tax", ",", ".", "but", "except", "("])).map(" ".join)
)
def test_whatever_is_typed_ends_without_exclusions_or_not_at_all(text: str) -> None:
    rest = without_exclusions(text)
    assert rest is None or not exclusions(rest)
    assert rest is None or len(rest) <= len(text)
    assert all(one.word >= 1 for one in exclusions(text))


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


LANGUAGE_OF = {
    "¿Puedo deducir el alquiler de mi piso en la declaración?": "es",
    "Was kann ich als Lehrer alles von der Steuer absetzen?": "de",
    "Je voudrais être remboursé de mon vol annulé": "fr",
    "Как мне платить меньше налогов?": "cyrl",
    "税金を減らす方法は": "han",
    "세금을 줄이는 방법": "hang",
    "How can I pay less tax this year?": "en",
    "tax": None,
    "🙂 123 !!": None,
}


@pytest.mark.parametrize("text", LANGUAGE_OF)
def test_languages(text: str) -> None:
    assert language(text) == LANGUAGE_OF[text]


_FOREIGN = re.compile(r"[¿¡ñáéíóúüäößèêçàûœ]|\b(Posso|Comment|Muss ich|Voglio|Wie |Ce |mio nome)\b")


@pytest.mark.parametrize("name", ["tax-advice", "airline-service", "harm-intent"])
def test_nothing_english_of_the_samples_is_taken_for_another_language(name: str) -> None:
    texts = load_prompts(sample_folder() / f"{name}.csv").prompts.to_list()
    plain = [text for text in texts if text.isascii() and re.search(r"\b(the|my|is)\b", text)]
    wrong = [text for text in plain if language(text) not in ("en", None)]
    assert [text for text in wrong if not _FOREIGN.search(text)] == []
    assert sum(language(text) == "en" for text in texts) > 0.7 * len(texts)


def test_the_odd_ones_out_are_found() -> None:
    german = "Was kann ich als Lehrer von der Steuer absetzen?"
    english = "How do I pay less tax on my income?"
    assert odd_languages(["Questions about tax and how to pay it", german, english]) == (
        "en",
        {1: "de"},
    )
    assert odd_languages([english, "tax", english]) is None
    assert odd_languages([german, german]) is None
