"""Text that is not ours is inert once shown."""

from __future__ import annotations

import sys
import unicodedata
from unicodedata import east_asian_width

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from guardtui.domain.text import (
    display_start,
    display_text,
    hidden_characters,
    shortened,
    spreadsheet_text,
)

ANY = st.text(st.characters(codec=None, exclude_categories=()))


def controls(text: str) -> list[str]:
    return [one for one in text if ord(one) < 0x20 or 0x7F <= ord(one) <= 0x9F]


@given(ANY)
def test_no_control_and_no_surrogate_is_left(text: str) -> None:
    shown = display_text(text)
    assert controls(shown) == []
    shown.encode()  # a surrogate could not be


@given(ANY)
def test_with_newlines_only_line_feeds_are_left(text: str) -> None:
    assert set(controls(display_text(text, newlines=True))) <= {"\n"}


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)))
def test_printable_ascii_stays(text: str) -> None:
    assert display_text(text) == text


@given(ANY)
def test_showing_twice_changes_nothing(text: str) -> None:
    assert display_text(display_text(text)) == display_text(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;x\x07", "␛]52;c;x␇"),
        ("a\u202eb", "a⟪RLO⟫b"),
        ("a\nb\tc", "a↵b⇥c"),
        ("\x9b31m", "⟪9B⟫31m"),
        (chr(0xE0041), "⟪TAG⟫"),
        ("⏺\ufe0f ☺\ufe0f ⌚\ufe0e", "⏺ ☺ ⌚"),
        ("1\ufe0f\u20e3", "1\u20e3"),
        ("🇪🇸 👍🏻 👩🏽\u200d🚀", "ES 👍 👩⟪ZWJ⟫🚀"),
        ("a🏻", "a⟪TONE⟫"),
    ],
)
def test_signs(text: str, shown: str) -> None:
    assert display_text(text) == shown


EMOJI = st.sampled_from(
    [*"a1#é☺❄⏺™©👍👩🚀❤🇪🇸🏻🏿", "\ufe0e", "\ufe0f", "\u200d", "\u20e3", "\U000e0067", " "]
)


def cells(text: str) -> int:
    """Cells of a text for a terminal that measures each character by itself, as wcwidth does."""
    return sum(
        0 if unicodedata.category(one) in ("Mn", "Me") else 1 + (east_asian_width(one) in "WF")
        for one in text
    )


@given(st.lists(EMOJI).map("".join))
def test_emoji_are_shown_at_a_width_that_no_terminal_doubts(text: str) -> None:
    shown = display_text(text)
    assert cell_len(shown) == cells(shown)


def test_start_cuts_before_signs_are_made() -> None:
    assert display_start("\u200b\u200bab", 2) == "⟪ZWSP⟫…"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay less tax", "pay less tax"),
        ("What do I have to report?", "What do I…"),
        ("What do I did not say", "What do I…"),
        ("taxes, fees, and", "taxes, fees…"),
        ("ahaveryverylongword", "ahaveryvery…"),
        ("a veryverylongword", "a veryveryl…"),
        ("a\nveryverylongword", "a\nveryveryl…"),
        ("             long", "…"),
        ("", ""),
    ],
)
def test_a_shortened_text_ends_with_a_sign_behind_a_whole_word(text: str, shown: str) -> None:
    assert shortened(text, 12) == shown


@given(ANY, st.integers(1, 20))
@example("\r0000", 4)
def test_a_shortened_text_is_the_start_in_so_many_characters(text: str, most: int) -> None:
    shown = shortened(text, most)
    assert len(shown) <= most
    assert shown == text if len(text) <= most else text.startswith(shown.removesuffix("…"))


def test_hidden_characters_are_counted_but_not_emoji_spelling() -> None:
    assert hidden_characters("a\u200bb\u202ec") == 2
    assert hidden_characters("line\nfeed\tand tab") == 0
    assert hidden_characters("\U0001f469\u200d\U0001f680") == 0


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_formulas_are_disarmed(start: str) -> None:
    assert spreadsheet_text(f"{start}1") == f"'{start}1"
    assert spreadsheet_text(f"a{start}") == f"a{start}"


@pytest.mark.parametrize("sign", [*"=+-@＝＋－＠"])
def test_formulas_behind_a_separator_are_disarmed(sign: str) -> None:
    for between in (",", ";", "|", "\t", '"', "\n", "\r\n", "; "):
        assert spreadsheet_text(f"a{between}{sign}1") == f"a{between}'{sign}1"
    assert spreadsheet_text(f"\n {sign}1") == f"'\n '{sign}1"
    assert spreadsheet_text(f" {sign}1") == f"' {sign}1"
    assert spreadsheet_text(f"1{sign}1 {sign} 1") == f"1{sign}1 {sign} 1"


def test_every_character_that_draws_nothing_gets_a_sign() -> None:
    # Prefix signs of Arabic, Syriac and Kaithi numbers are format characters that are drawn.
    drawn = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    hidden = {
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in {"Cc", "Cf", "Zl", "Zp", "Cs"}
    }
    assert not [hex(code) for code in hidden - drawn if chr(code) in display_text(chr(code))]
