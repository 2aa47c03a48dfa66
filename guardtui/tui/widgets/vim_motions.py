"""Vim's motions and text objects as pure functions on a text and a place in it.

A place is an offset in characters, from 0 to `len(text)`; lines end with a line feed. Semantics
are those of Vim's motion.txt; `tests/tui/test_vim.py` compares them with Vim itself.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

BLANK, WORD, SIGN = range(3)

Motion = Callable[[str, int, bool], int]


def kind(character: str, big: bool = False) -> int:
    """Whether a character is a blank, part of a word or another sign; `big` knows no signs."""
    if character.isspace():
        return BLANK
    if big or character == "_" or character.isalnum():
        return WORD
    return WORD if unicodedata.category(character).startswith("M") else SIGN


def line_start(text: str, place: int) -> int:
    """The first place of the line."""
    return text.rfind("\n", 0, place) + 1


def line_end(text: str, place: int) -> int:
    """The place after the last character of the line."""
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def last_on_line(text: str, place: int) -> int:
    """The last character of the line, or the start of an empty one."""
    return max(line_start(text, place), line_end(text, place) - 1)


def on_character(text: str, place: int) -> int:
    """The nearest place that the cursor of normal mode can stand on."""
    place = max(0, min(place, len(text)))
    return min(place, last_on_line(text, place))


def first_of_line(text: str, place: int) -> int:
    """The first character of the line that is no blank (`^`)."""
    start, end = line_start(text, place), line_end(text, place)
    line = text[start:end]
    indent = len(line) - len(line.lstrip())
    return last_on_line(text, place) if indent == len(line) else start + indent


def _empty_line(text: str, place: int) -> bool:
    return (place == 0 or text[place - 1] == "\n") and (place == len(text) or text[place] == "\n")


def next_word(text: str, place: int, big: bool = False) -> int:
    """Start of the next word or empty line (`w`, `W`); the end of the text when there is none."""
    here, size = place, len(text)
    if here < size and kind(text[here], big) != BLANK:
        same = kind(text[here], big)
        while here < size and kind(text[here], big) == same:
            here += 1
    elif here < size:
        here += 1
    while here < size and kind(text[here], big) == BLANK:
        if _empty_line(text, here):
            return here
        here += 1
    return here


def word_before(text: str, place: int, big: bool = False) -> int:
    """Start of the word, or the word or empty line before (`b`, `B`)."""
    here = min(place, len(text)) - 1
    while here >= 0 and kind(text[here], big) == BLANK and not _empty_line(text, here):
        here -= 1
    if here < 0:
        return 0
    if kind(text[here], big) == BLANK:
        return here
    same = kind(text[here], big)
    while here > 0 and kind(text[here - 1], big) == same:
        here -= 1
    return here


def word_end(text: str, place: int, big: bool = False) -> int:
    """Last character of the word, or of the next one (`e`, `E`)."""
    here, size = place + 1, len(text)
    while here < size and kind(text[here], big) == BLANK:
        here += 1
    if here >= size:
        return on_character(text, size)
    same = kind(text[here], big)
    while here + 1 < size and kind(text[here + 1], big) == same:
        here += 1
    return here


def find(
    text: str, place: int, how: str, character: str, count: int = 1, *, again: bool = False
) -> int | None:
    """Where `f`, `F`, `t` or `T` (`how`) finds the count-th `character` on the line.

    `again` is for a repetition: a `t` that stands before its character looks for the next one.
    """
    start, end = line_start(text, place), line_end(text, place)
    step = 1 if how in "ft" else -1
    here = place
    if again and how in "tT" and count == 1:
        beside = place + step
        if start <= beside < end and text[beside] == character:
            here = beside
    for _ in range(count):
        found = (
            text.find(character, here + 1, end)
            if step > 0
            else text.rfind(character, start, max(start, here))
        )
        if found < 0:
            return None
        here = found
    return here - step if how in "tT" else here


def _run_end(text: str, place: int, end: int, big: bool) -> int:
    same = kind(text[place], big)
    while place < end and kind(text[place], big) == same:
        place += 1
    return place


def inner_word(text: str, place: int, count: int = 1, big: bool = False) -> tuple[int, int] | None:
    """The word or the run of blanks at a place (`iw`), and `count` - 1 more of them."""
    first, end = line_start(text, place), line_end(text, place)
    if place >= end:
        return place, place
    start = place
    while start > first and kind(text[start - 1], big) == kind(text[place], big):
        start -= 1
    stop = place
    for _ in range(count):
        if stop >= end:
            return None
        stop = _run_end(text, stop, end, big)
    return start, stop


def a_word(text: str, place: int, count: int = 1, big: bool = False) -> tuple[int, int] | None:
    """`count` words with the blanks after them, or else before them (`aw`)."""
    first, end = line_start(text, place), line_end(text, place)
    if place >= end:
        return None
    start = place
    while start > first and kind(text[start - 1], big) == kind(text[place], big):
        start -= 1
    stop = place
    blanks_first = kind(text[place], big) == BLANK
    for _ in range(count):
        if stop >= end:
            return None
        if kind(text[stop], big) == BLANK:
            stop = _run_end(text, stop, end, big)
            if stop >= end:
                return None
            stop = _run_end(text, stop, end, big)
        else:
            stop = _run_end(text, stop, end, big)
            if not blanks_first and stop < end and kind(text[stop], big) == BLANK:
                stop = _run_end(text, stop, end, big)
    if not blanks_first and kind(text[stop - 1], big) != BLANK:
        before = start
        while before > first and kind(text[before - 1], big) == BLANK:
            before -= 1
        if before > first:  # the indent of a line is left alone
            start = before
    return start, stop


def _next_quote(text: str, place: int, end: int, quote: str, *, escapes: bool) -> int:
    while place < end:
        if escapes and text[place] == "\\":
            place += 1
        elif text[place] == quote:
            return place
        place += 1
    return -1


def quoted(text: str, place: int, quote: str, *, around: bool) -> tuple[int, int] | None:
    """The quoted string at a place or after it on the line (`i"`, `a"`)."""
    first, end = line_start(text, place), line_end(text, place)
    if place < end and text[place] == quote:
        opening = closing = first - 1
        while closing < place:
            opening = _next_quote(text, closing + 1, end, quote, escapes=False)
            closing = _next_quote(text, opening + 1, end, quote, escapes=True)
            if not first <= opening <= place or closing < 0:
                return None
    else:
        opening = place - 1
        while opening >= first and not (
            text[opening] == quote and _backslashes(text, first, opening) % 2 == 0
        ):
            opening -= 1
        if opening < first:
            opening = _next_quote(text, place, end, quote, escapes=False)
        closing = _next_quote(text, opening + 1, end, quote, escapes=True)
        if opening < 0 or closing < 0:
            return None
    if not around:
        return opening + 1, closing
    stop = closing + 1
    while stop < end and text[stop] in " \t":
        stop += 1
    if stop == closing + 1:
        while opening > first and text[opening - 1] in " \t":
            opening -= 1
    return opening, stop


def _backslashes(text: str, first: int, place: int) -> int:
    count = 0
    while place - count > first and text[place - count - 1] == "\\":
        count += 1
    return count
