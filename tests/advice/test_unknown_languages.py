"""Prompts in languages that an encoder has not learnt are counted, with their lines."""

from __future__ import annotations

from guardtui.advice.unknown_languages import unknown_language_finding
from guardtui.domain.prompts import PromptSet
from tests.advice.test_near_misses import TAX, prompt_set

GERMAN = "Kann ich mein Arbeitszimmer von der Steuer absetzen?"
HINDI = "मैं इस साल कम आयकर कैसे दे सकता हूँ?"
THAI = "ปีนี้ฉันจะจ่ายภาษีน้อยลงได้อย่างไร"


def message_and_lines(encoder: str, prompts: PromptSet) -> tuple[str, tuple[int, ...]]:
    finding = unknown_language_finding(encoder, prompts)
    assert finding is not None
    assert finding.code == "unknown-language"
    return finding.message, finding.lines


def test_english_prompts_are_not_reported() -> None:
    prompts = prompt_set(("How do I make onion soup?",))
    assert unknown_language_finding("minilm", prompts) is None


def test_languages_are_counted_by_encoder_with_the_lines_of_their_prompts() -> None:
    prompts = prompt_set((GERMAN, HINDI, THAI))
    message, lines = message_and_lines("minilm", prompts)
    assert "3 prompts are in languages that the engine's encoder 'minilm' has not" in message
    assert "German 1, Hindi 1, Thai 1" in message
    assert "choose the encoder 'pair'" in message
    assert lines == tuple(range(2 + len(TAX), 5 + len(TAX)))
    message, lines = message_and_lines("pair", prompts)
    assert "1 prompt is in a language" in message
    assert "(Hindi 1)" in message
    assert "choose the encoder" not in message
    assert lines == (3 + len(TAX),)


def test_of_many_prompts_evenly_spaced_ones_stand_for_all() -> None:
    texts = tuple(f"{HINDI} {number}" for number in range(6000))
    message, lines = message_and_lines("pair", prompt_set(texts))
    assert "of 3002 looked at" in message
    assert len(lines) == 20


def test_it_is_stopped() -> None:
    assert unknown_language_finding("pair", prompt_set((HINDI,)), lambda: True) is None
