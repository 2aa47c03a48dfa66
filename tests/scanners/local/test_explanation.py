"""Explanations: offsets into the prompt, and shares that add up where they are exact."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.scanners.local.encoder import ENCODERS, load_encoder
from guardtui.scanners.local.explanation import VARIANTS_AT_MOST, Explanation, explain
from guardtui.scanners.local.scoring import load_scoring, topic_texts
from tests.examples import up_to

EXAMPLES = ["How can I lower my tax bill?", "Is my home office deductible?"]
TOPIC = topic_texts("Tax advice", "Questions about paying less income tax", EXAMPLES)
PROMPT = "Naïvely asked: could I deduct my OFFICE from the taxes?"


def explained(name: str, prompt: str, texts: list[str] = TOPIC) -> Explanation:
    return explain(load_encoder(name), load_scoring(name), texts, prompt)


def assert_adds_up(found: Explanation) -> None:
    total = found.base + found.lift + sum(word.z for word in found.words)
    # The shares are of the sum of token vectors, the score is of that sum rounded to int8.
    assert found.z == pytest.approx(total, abs=0.1)


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize(
    "prompt", [PROMPT, EXAMPLES[0], "bake bread", "", "[PAD]", "\ud800 tax \0 😀"]
)
def test_explanation_score_equals_that_of_the_scanner(name: str, prompt: str) -> None:
    encoder, model = load_encoder(name), load_scoring(name)
    result = explain(encoder, model, TOPIC, prompt)
    z = model.score(TOPIC, encoder.encode(TOPIC), encoder.encode([prompt]))
    assert result.z == pytest.approx(float(z[0]), abs=1e-3)
    assert result.score == pytest.approx(1 / (1 + math.exp(-result.z)), abs=1e-5)
    assert result.exact == (name == "static")
    for word in result.words:
        assert prompt[word.start : word.end] == word.word


@pytest.mark.parametrize("name", ENCODERS)
def test_important_words_have_the_largest_contributions(name: str) -> None:
    words = sorted(explained(name, PROMPT).words, key=lambda word: -word.z)
    assert {word.word for word in words[:2]} == {"deduct", "taxes"}


@pytest.mark.parametrize("name", ENCODERS)
def test_example_is_its_own_match(name: str) -> None:
    result = explained(name, EXAMPLES[1])
    assert result.matched == 2
    assert result.similarities[2] == pytest.approx(1, abs=0.01)


@given(st.text(st.sampled_from("tax office deduct ?!,.'éß漢😀\ud800\0\u0301I"), max_size=60))
@settings(max_examples=up_to(60), deadline=None)
def test_static_shares_add_up_for_any_text(prompt: str) -> None:
    result = explained("static", prompt)
    if result.words:
        assert_adds_up(result)
    for word in result.words:
        assert prompt[word.start : word.end] == word.word


@pytest.mark.parametrize(
    "texts",
    [
        topic_texts("Tax", "", []),
        topic_texts("", "", [EXAMPLES[0]]),
        topic_texts("", "", ["", EXAMPLES[0], EXAMPLES[1]]),
        topic_texts("Tax", "About tax", EXAMPLES + ["What is VAT?"] * 3),
    ],
)
def test_static_shares_add_up_in_mid_edit(texts: list[str]) -> None:
    result = explained("static", PROMPT, texts)
    assert_adds_up(result)
    missing = [math.isnan(value) for value in result.similarities]
    assert missing == [not text for text in texts]


def test_empty_topic_has_no_explanation() -> None:
    result = explained("static", PROMPT, topic_texts("", "", []))
    assert result.words == ()
    assert result.matched == 0


@pytest.mark.exhaustive
def test_words_of_long_prompts_are_grouped() -> None:
    prompt = "how do I deduct my office from taxes " * 30
    result = explained("minilm", prompt)
    assert 10 < len(result.words) < VARIANTS_AT_MOST
    for word in result.words:
        assert prompt[word.start : word.end] == word.word


def test_words_of_scripts_with_combining_marks_are_whole() -> None:
    words = explained("pair", "ต้องเสียภาษี tax ไหม हिंदी में कर").words
    assert [word.word for word in words] == ["ต้องเสียภาษี", "tax", "ไหม", "हिंदी", "में", "कर"]
