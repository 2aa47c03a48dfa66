"""Words are whole in every script."""

from __future__ import annotations

import sys
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.words import WORDS, WordPattern

PIECES = WordPattern(r"WORD|\s+|SIGN")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Can't I deduct Anna’s desk?", ["Can't", "I", "deduct", "Anna’s", "desk"]),
        ("snake_case 2024", ["snake", "case", "2024"]),
        ("ต้องเสียภาษี tax ไหม", ["ต้องเสียภาษี", "tax", "ไหม"]),
        ("हिंदी में कर कैसे बचाएं", ["हिंदी", "में", "कर", "कैसे", "बचाएं"]),
        ("வரி எப்படி சேமிப்பது", ["வரி", "எப்படி", "சேமிப்பது"]),
        ("שָׁלוֹם עוֹלָם", ["שָׁלוֹם", "עוֹלָם"]),
        ("cafe\u0301 fermé", ["cafe\u0301", "fermé"]),
        ("می\u200cخواهم مالیات", ["می\u200cخواهم", "مالیات"]),
        ("क\u094d\u200dष कर", ["क\u094d\u200dष", "कर"]),
        ("\u200b \u0301 ?!", []),
    ],
)
def test_words_of_many_scripts(text: str, words: list[str]) -> None:
    assert WORDS.findall(text) == words


def test_every_mark_of_unicode_belongs_to_the_word_it_follows() -> None:
    marks = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)).startswith("M")
    ]
    assert len(marks) > 2000
    assert [mark for mark in marks if WORDS.findall(f"a{mark}b") != [f"a{mark}b"]] == []


@given(st.text(), st.text())
def test_pieces_leave_nothing_out_and_begin_with_no_mark_of_the_one_before(
    start: str, end: str
) -> None:
    text = f"{start}\u0e49{end}"
    pieces = PIECES.findall(text)
    assert "".join(pieces) == text
    for before, piece in pairwise(pieces):
        assert before.isspace() or not unicodedata.category(piece[0]).startswith("M")
