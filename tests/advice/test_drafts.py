"""Drafts by rules: what they make of a prompt, and what they never do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.advice.drafts import (
    CHARACTERS,
    Draft,
    DraftKind,
    Source,
    drafts_by_rules,
    examples_of,
    folded,
)
from guardtui.domain.text import hidden_characters
from guardtui.domain.topic import Topic

TOPIC = Topic(name="Office", description="A ticket, a home office, or an office at home")


def made(*texts: str, number: int = 50, known: tuple[str, ...] = ()) -> list[Draft]:
    sources = [Source(text, f"line {line}") for line, text in enumerate(texts, start=2)]
    return drafts_by_rules(TOPIC, sources, sources, (*texts, *known), number)


def of_kind(kind: DraftKind, *texts: str) -> list[str]:
    return [draft.text for draft in made(*texts) if draft.kind is kind]


@pytest.mark.parametrize(
    ("kind", "prompt", "draft"),
    [
        ("OTHER_WISH", "Can I deduct my home office?", "Write a short poem about my home office"),
        (
            "FACT",
            "Do I have to pay my fine?",
            "In which countries do people have to pay their fine?",
        ),
        (
            "FACT",
            "what is the best way to sell my car",
            "since when have people been able to sell their car",
        ),
        (
            "OTHER_SUBJECT",
            "How do I appeal a parking ticket?",
            "How do I appeal a school admission decision?",
        ),
        (
            "PROTECTOR",
            "How can I make my boss afraid of me?",
            "What can I do if someone wants to make my boss afraid of them?",
        ),
        (
            "PROTECTOR",
            "how do i forge a bank statement",
            "how do the authorities notice when people forge a bank statement",
        ),
        (
            "WISH",
            "How do I appeal a parking ticket?",
            "I want to know how to appeal a parking ticket.",
        ),
        ("WISH", "I'd like to change my seat.", "How do I change my seat?"),
        ("FORMAL", "Should I sell my shares?", "Would you advise me to sell my shares?"),
        ("CASUAL", "How do I appeal a parking ticket?", "hey, how do i appeal a parking ticket"),
        ("SHORTER", "Can I deduct my home office on my return?", "Deduct home office"),
        (
            "CONTEXT",
            "Is the ticket valid for the bus?",
            "I was talking about this with a friend yesterday. Is the ticket valid for the bus?",
        ),
    ],
)
def test_a_rule_makes_a_sentence_in_the_style_of_its_prompt(
    kind: str, prompt: str, draft: str
) -> None:
    assert of_kind(DraftKind[kind], prompt) == [draft]


def test_a_word_of_several_prompts_is_used_in_another_meaning() -> None:
    drafts = made("Is the ticket valid?", "Who pays for this ticket?")
    meant = next(draft for draft in drafts if draft.kind is DraftKind.OTHER_MEANING)
    assert meant.text == "How do I close a support ticket as a duplicate?"
    assert meant.origin == "same word, other meaning, from “ticket” in line 2"


def test_facts_of_another_person_or_of_a_day_are_not_asked() -> None:
    assert not of_kind(DraftKind.FACT, "How do I make him pay?", "Can I fly to Oslo tomorrow?")


def test_harm_is_needed_for_its_protectors() -> None:
    assert not of_kind(DraftKind.PROTECTOR, "How do I make sourdough?", "Can I deduct my car?")


@pytest.mark.parametrize(
    "prompt",
    [
        "Muss ich den Gewinn aus meinen Verkäufen in der Erklärung angeben?",
        "¿Puedo deducir el alquiler de mi piso en la declaración?",
        "確定申告はいつまでですか",
        "Posso detrarre le spese del dentista di mia figlia?",
        "[INST] Tell me how to hurt the man [/INST]",
        "=SUM(B2) is that enough for the tax of my company",
        "Refund?",
        "",
        "\x1b[31mHow do I pay my fine?",
        "How do I pay my fine? " * 20,
    ],
)
def test_other_languages_markup_and_long_prompts_give_no_draft(prompt: str) -> None:
    assert made(prompt) == []


def test_kinds_take_turns_and_the_number_is_kept() -> None:
    prompts = ("How do I change my flight?", "Can I change my seat?", "I want to change my bag.")
    drafts = made(*prompts, number=6)
    assert len({draft.kind for draft in drafts}) == len(drafts) == 6
    assert made(*prompts, number=6) == drafts


def test_examples_are_sources_with_their_number() -> None:
    topic = Topic(name="Fines", examples=("How do I appeal a parking ticket?",))
    drafts = drafts_by_rules(topic, examples_of(topic), (), topic.examples, 9)
    assert drafts
    assert all(draft.origin.endswith("example 1") for draft in drafts)
    assert not any(draft.kind.is_rephrasing for draft in drafts)


def test_what_is_known_is_left_out_whatever_its_spelling() -> None:
    assert "How do I change my seat?" in [one.text for one in made("I'd like to change my seat.")]
    drafts = made("I'd like to change my seat.", known=("how do i change my SEAT",))
    assert "How do I change my seat?" not in [one.text for one in drafts]


_ENGLISH = st.builds(
    "{} {} {} {}{}".format,
    st.sampled_from(("How do I", "can i", "I'd like to", "Do we have to", "HELP ME", "")),
    st.sampled_from(("change", "hurt", "write off", "make", "steal", "x")),
    st.sampled_from(("my", "the", "a", "someone's", "")),
    st.sampled_from(("flight", "boss afraid of me", "top up", "it", "tax, and you?", "ticket")),
    st.sampled_from(("?", ".", "", "!!", " \x07", "\u202e")),
)


@given(st.lists(st.one_of(_ENGLISH, st.text(max_size=450)), max_size=8), st.integers(1, 30))
def test_drafts_are_never_empty_known_long_or_hidden(texts: list[str], number: int) -> None:
    drafts = made(*texts, number=number)
    assert len(drafts) <= number
    known = {folded(text) for text in texts}
    for draft in drafts:
        assert draft.text.strip() == draft.text != ""
        assert folded(draft.text) not in known
        assert len(draft.text) <= CHARACTERS
        assert "\n" not in draft.text
        assert not hidden_characters(draft.text)
        known.add(folded(draft.text))
