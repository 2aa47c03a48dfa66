"""Languages of prompts: told where sure, "" where not, and held against what encoders learnt."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.languages import LEARNT, NAMES, language_not_learnt, language_of

FIT_DATA = Path(__file__).parents[3] / "scripts" / "fit_data"


def test_languages_of_sentences_are_identified() -> None:
    for text, code in (
        ("How do I file my tax return this year?", "en"),
        ("Kann ich mein Arbeitszimmer von der Steuer absetzen?", "de"),
        ("所得税を減らすにはどうすればいいですか", "ja"),
        ("Làm thế nào để tôi trả ít thuế hơn?", "vi"),
        ("Hvordan betaler jeg mindre i skat i år?", "da"),
        ("मैं कम कर कैसे दूँ?", "hi"),
    ):
        assert language_of(text) == code, text


@pytest.mark.parametrize(
    "text", ["", " ", "42 + 7", "?!", "\x1b[2J\x07", "\ud800", "🧾🧾", "x" * 9999]
)
def test_text_without_a_language_has_none(text: str) -> None:
    assert language_not_learnt("pair", text) == ""


@given(st.text(max_size=60))
def test_any_text_gets_a_known_code_or_none(text: str) -> None:
    assert language_of(text) in {"", *NAMES}


def test_every_encoder_has_its_languages_and_every_language_a_name() -> None:
    assert set(LEARNT) == set(ENCODERS)
    assert all("en" in codes and codes <= set(NAMES) for codes in LEARNT.values())


def test_labelled_prompts_in_languages_that_the_pair_has_not_learnt_are_found() -> None:
    rows = [
        row
        for path in sorted(FIT_DATA.glob("*/*.csv"))
        for row in csv.DictReader(path.open(encoding="utf-8", newline=""))
        if row["language"]
    ]
    strange = [row for row in rows if row["language"] not in LEARNT["pair"]]
    results = [row for row in rows if language_not_learnt("pair", row["prompt"])]
    assert len(strange) > 50
    assert [row for row in results if row not in strange] == []
    assert len(results) >= 0.85 * len(strange)
