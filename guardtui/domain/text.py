"""The one way to show foreign text on a screen or in a log: inert, with visible controls."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_NAMED: dict[int, str] = {
    0x00AD: "⟪SHY⟫",
    0x034F: "⟪CGJ⟫",
    0x061C: "⟪ALM⟫",
    0x115F: "⟪HCF⟫",
    0x1160: "⟪HJF⟫",
    0x17B4: "⟪KIV⟫",
    0x17B5: "⟪KIV⟫",
    0x180E: "⟪MVS⟫",
    0x200B: "⟪ZWSP⟫",
    0x200C: "⟪ZWNJ⟫",
    0x200D: "⟪ZWJ⟫",
    0x200E: "⟪LRM⟫",
    0x200F: "⟪RLM⟫",
    0x2028: "⟪LS⟫",
    0x2029: "⟪PS⟫",
    0x202A: "⟪LRE⟫",
    0x202B: "⟪RLE⟫",
    0x202C: "⟪PDF⟫",
    0x202D: "⟪LRO⟫",
    0x202E: "⟪RLO⟫",
    0x2060: "⟪WJ⟫",
    0x2066: "⟪LRI⟫",
    0x2067: "⟪RLI⟫",
    0x2068: "⟪FSI⟫",
    0x2069: "⟪PDI⟫",
    0x3164: "⟪HF⟫",
    0xFEFF: "⟪BOM⟫",
    0xFFA0: "⟪HHF⟫",
}

_UNNAMED = (
    (0x2061, 0x2066),  # invisible operators of formulas
    (0x206A, 0x2070),  # deprecated shaping controls
    (0xFDD0, 0xFDF0),  # noncharacters
    (0xFFF9, 0xFFFC),  # interlinear annotation
    (0x13430, 0x13440),  # hieroglyph joiners
    (0x1BCA0, 0x1BCA4),  # shorthand controls
    (0x1D173, 0x1D17B),  # musical beams and slurs
)
"""Further invisible characters, as half-open ranges."""


def _table() -> dict[int, str]:
    table = dict(_NAMED)
    # The control pictures of Unicode are exactly 0x2400 above the C0 controls.
    table.update({code: chr(0x2400 + code) for code in range(0x20)})
    table[0x7F] = "␡"
    table[0x0A] = "↵"
    table[0x09] = "⇥"
    table.update({code: f"⟪{code:02X}⟫" for code in range(0x80, 0xA0)})
    table.update({code: f"⟪{code:04X}⟫" for first, last in _UNNAMED for code in range(first, last)})
    # Noncharacters: XML and some spreadsheets reject a file that contains one.
    for plane in range(0, 0x110000, 0x10000):
        table.update({plane + code: f"⟪{plane + code:04X}⟫" for code in (0xFFFE, 0xFFFF)})
    table.update(dict.fromkeys(range(0xE0000, 0xE0080), "⟪TAG⟫"))
    table.update({code: f"⟪VS{code - 0xE0100 + 17}⟫" for code in range(0xE0100, 0xE01F0)})
    table.update(dict.fromkeys(range(0xD800, 0xE000), "⟪?⟫"))
    return table


_SIGNS = _table()
_BLANKS = {0x0A, 0x09}
_TONES = range(0x1F3FB, 0x1F400)
_FLAGS = {code: chr(code - 0x1F1E6 + ord("A")) for code in range(0x1F1E6, 0x1F200)}
_DISPLAYED = {**_SIGNS, **dict.fromkeys(_TONES, "⟪TONE⟫"), **_FLAGS}


def character_ranges(codes: Iterable[int]) -> str:
    """Return the characters as ranges of a character class, which makes it 20 times faster."""
    parts: list[list[int]] = []
    for code in sorted(codes):
        if parts and code == parts[-1][1] + 1:
            parts[-1][1] = code
        else:
            parts.append([code, code])
    return "".join(f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in parts)


HIDDEN = re.compile(f"[{character_ranges(_SIGNS.keys() - _BLANKS)}]")
"""A character that `display_text` makes visible, except line feed and tab."""

_EMOJI_STYLE = re.compile(
    "(?<=[#*0-9\xa9\xae\u2000-\u33ff\U0001f000-\U0001faff])[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]+"
)
"""Variation selectors and skin tones of emoji, after which terminals disagree about their width."""

_PICTOGRAPH = "\u2600-\u27bf\U0001f300-\U0001faff"
_EMOJI_JOINER = re.compile(f"(?<=[\ufe0f{_PICTOGRAPH}])\u200d(?=[{_PICTOGRAPH}])")


def display_text(text: str, *, newlines: bool = False) -> str:
    """Return the text with control, bidi, zero-width and tag characters as visible signs.

    Emoji are shown without variation selectors and skin tones, and flags as their two letters, so
    that every terminal gives them the same width.

    With `newlines`, line feeds stay, for a widget with several lines; otherwise they become "↵" and
    the result is one line. The result has no characters below 0x20 (except such line feeds), none
    from 0x7f to 0x9f and no surrogates, so it can be written to any terminal.
    """
    if not text.isascii():
        text = _EMOJI_STYLE.sub("", text)
    if newlines:
        text = text.replace("\r\n", "\n")
        return "\n".join(line.translate(_DISPLAYED) for line in text.split("\n"))
    return text.translate(_DISPLAYED)


def shortened(text: str, characters: int) -> str:
    """Return at most so many characters: a longer text is cut and ends with "…".

    It is cut at the end of a word, unless that would leave less than half of it.
    """
    if len(text) <= characters:
        return text
    start, after = text[: characters - 1], text[characters - 1]
    if not after.isspace() and after not in ",;:.?!":
        _, *last = start.rsplit(maxsplit=1) or [""]
        words = start[: start.rindex(last[0])].rstrip() if last else ""
        start = words if 2 * len(words) >= characters else start
    return f"{start.rstrip().rstrip(',;:')}…"


def display_start(text: str, characters: int, *, newlines: bool = False) -> str:
    """Return `display_text` of a text `shortened`, at a cost bounded by the characters."""
    return display_text(shortened(text, characters), newlines=newlines)


@lru_cache(maxsize=4096)
def hidden_characters(text: str) -> int:
    """Count invisible and control characters of the text, without line feeds and tabs.

    A joiner between two emoji is part of their spelling and is not counted.
    """
    return len(HIDDEN.findall(_EMOJI_JOINER.sub("", text)))


_FORMULA = "[=+@＝＋－＠-]"
_STARTS_FORMULA = re.compile(rf"[\t\r\n]|\s*{_FORMULA}")
_INNER_FORMULA = re.compile(rf"([,;|\t\r\n\"]\s*)(?={_FORMULA})")


def spreadsheet_text(text: str) -> str:
    """Return the text safe for a spreadsheet cell: a "'" precedes whatever starts a formula.

    Source: OWASP, "CSV Injection": a cell that starts with = + - @ (also full-width), tab or a line
    end. The same signs are escaped after a separator, a quote or a line end, because a spreadsheet
    with another separator, as in many locales, starts a cell there. Blanks before the sign do not
    make it safe.
    """
    text = _INNER_FORMULA.sub(r"\1'", text)
    return f"'{text}" if starts_formula(text) else text


def starts_formula(text: str) -> bool:
    """Return whether a spreadsheet would read this cell as a formula, or skip its start.

    Source: as for `spreadsheet_text`; full-width signs and blanks before a sign count too.
    """
    return _STARTS_FORMULA.match(text) is not None


def nearest(word: str, words: Iterable[str]) -> str:
    """Return the word that is most similar to a misspelt one, or "" if none is similar.

    One with another first letter, which is seldom mistyped, must be more similar.
    """
    from difflib import get_close_matches  # only for mistakes: every start would import it

    alike: dict[bool, list[str]] = {True: [], False: []}
    for known in words:
        alike[known[:1].lower() == word[:1].lower()].append(known)
    first = get_close_matches(word, alike[True], n=1)
    return next(iter(first or get_close_matches(word, alike[False], n=1, cutoff=0.8)), "")


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return `; did you mean 'WORD'?` for a misspelt word, or "" if no word is similar."""
    near = nearest(word, words)
    return f"; did you mean '{near}'?" if near else ""
