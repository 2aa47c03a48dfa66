"""Vim's normal mode for short text fields: the effect of each key on a text and a cursor.

Motions are h l w b e 0 ^ $; commands are i a I A x D C dd cc p. `u`, `j` and `k` are done
by the field. There are no counts, operators over motions, text objects or visual mode: `$EDITOR`
has those. An offset counts characters, from 0 to `len(text)`; lines end with a line feed.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from enum import StrEnum

_BLANK, _WORD, _SIGN = range(3)

_SAME_AS = {
    "left": "h", "right": "l", "up": "k", "down": "j", "home": "0", "end": "$",
    "backspace": "h", "delete": "x", "space": "l", " ": "l",
}  # fmt: skip
_REQUESTS = {"u": "undo", "j": "down", "k": "up"}


class Mode(StrEnum):
    """The mode that gives keys their meaning."""

    NORMAL = "NORMAL"
    INSERT = "INSERT"


@dataclass(slots=True)
class Register:
    """The text deleted last, which `p` inserts; all fields share one."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class KeyEffect:
    """Effect of a key: `text[start:stop]` becomes `insert`, then the cursor goes to `offset`.

    `request` names what the field itself does: undo, down, up or "" for nothing.
    """

    offset: int
    start: int = 0
    stop: int = 0
    insert: str = ""
    request: str = ""


@dataclass(slots=True)
class Vim:
    """Mode and pending key of one field."""

    register: Register = field(default_factory=Register)
    mode: Mode = Mode.NORMAL
    pending: str = ""
    """The first key of `dd` or `cc`, or ""."""

    def press(self, key: str, text: str, offset: int) -> KeyEffect | None:
        """Return the effect of a key; None if the field handles it, as in insert mode.

        `key` is a character, or a name of Textual's such as "escape".
        """
        if key == "escape":
            return self._escape(text, offset)
        if self.mode is Mode.INSERT:
            return None
        offset = on_character(text, offset)
        key = _SAME_AS.get(key, key)
        if len(key) != 1:
            return None
        pending, self.pending = self.pending, ""
        if pending:
            return self._line(key, text, offset) if key == pending else KeyEffect(offset)
        if key in ("d", "c"):
            self.pending = key
            return KeyEffect(offset)
        if key in _REQUESTS:
            return KeyEffect(offset, request=_REQUESTS[key])
        target = _target(key, text, offset)
        if target is not None:
            return KeyEffect(on_character(text, target))
        return self._command(key, text, offset)

    def leave(self) -> None:
        """Return to normal mode, as when the field loses the focus."""
        self.mode, self.pending = Mode.NORMAL, ""

    def _escape(self, text: str, offset: int) -> KeyEffect | None:
        if self.mode is Mode.NORMAL and not self.pending:
            return None
        if self.mode is Mode.INSERT:
            offset = max(line_start(text, offset), offset - 1)
        self.leave()
        return KeyEffect(on_character(text, offset))

    def _command(self, key: str, text: str, offset: int) -> KeyEffect:
        end = line_end(text, offset)
        if key == "p":
            at = min(offset + 1, end)
            return KeyEffect(
                max(offset, at + len(self.register.text) - 1), at, at, self.register.text
            )
        if key in ("x", "D"):
            stop = end if key == "D" else min(offset + 1, end)
            rest = self._cut(text, offset, stop)
            return KeyEffect(on_character(rest, offset), offset, stop)
        if key == "C":
            self._cut(text, offset, end)
            self.mode = Mode.INSERT
            return KeyEffect(offset, offset, end)
        insert_at = {
            "i": offset,
            "a": min(offset + 1, end),
            "I": first_of_line(text, offset),
            "A": end,
        }
        if key in insert_at:
            self.mode = Mode.INSERT
            return KeyEffect(insert_at[key])
        return KeyEffect(offset)

    def _line(self, key: str, text: str, offset: int) -> KeyEffect:
        """Delete the line (`dd`), or its text in order to write it anew (`cc`)."""
        start, stop = line_start(text, offset), line_end(text, offset)
        rest = self._cut(text, start, stop)
        if key == "c":
            self.mode = Mode.INSERT
            return KeyEffect(start, start, stop)
        if stop < len(text):
            stop += 1
        elif start > 0:
            start -= 1
        rest = text[:start] + text[stop:]
        first = first_of_line(rest, min(start, len(rest)))
        return KeyEffect(on_character(rest, first), start, stop)

    def _cut(self, text: str, start: int, stop: int) -> str:
        """Put `text[start:stop]` into the register; return the text without it."""
        if stop > start:
            self.register.text = text[start:stop]
        return text[:start] + text[stop:]


# --- motions ----------------------------------------------------------------------------------


def line_start(text: str, offset: int) -> int:
    """Return the offset of the first character of the line."""
    return text.rfind("\n", 0, offset) + 1


def line_end(text: str, offset: int) -> int:
    """Return the offset after the last character of the line."""
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


def on_character(text: str, offset: int) -> int:
    """Return the nearest offset at which the cursor of normal mode can stand."""
    offset = max(0, min(offset, len(text)))
    return min(offset, max(line_start(text, offset), line_end(text, offset) - 1))


def first_of_line(text: str, offset: int) -> int:
    """Return the offset after the blanks at the start of the line (`^`)."""
    start, end = line_start(text, offset), line_end(text, offset)
    return end - len(text[start:end].lstrip())


def next_word(text: str, offset: int) -> int:
    """Return the start of the next word or empty line (`w`); the text's end if there is none."""
    at, size = offset, len(text)
    if at < size:
        kind = _kind(text[at])
        at += 1
        while kind != _BLANK and at < size and _kind(text[at]) == kind:
            at += 1
    while at < size and _kind(text[at]) == _BLANK and not _is_empty_line(text, at):
        at += 1
    return at


def word_before(text: str, offset: int) -> int:
    """Return the start of this word, or of the word or empty line before it (`b`)."""
    at = min(offset, len(text)) - 1
    while at >= 0 and _kind(text[at]) == _BLANK and not _is_empty_line(text, at):
        at -= 1
    if at < 0 or _kind(text[at]) == _BLANK:
        return max(at, 0)
    while at > 0 and _kind(text[at - 1]) == _kind(text[at]):
        at -= 1
    return at


def word_end(text: str, offset: int) -> int:
    """Return the offset of the last character of this word, or of the next one (`e`)."""
    at, size = offset + 1, len(text)
    while at < size and _kind(text[at]) == _BLANK:
        at += 1
    while at + 1 < size and _kind(text[at + 1]) == _kind(text[at]):
        at += 1
    return on_character(text, at)


def _target(key: str, text: str, offset: int) -> int | None:
    """Return where a motion leads, or None if the key is not a motion."""
    match key:
        case "h":
            return max(line_start(text, offset), offset - 1)
        case "l":
            return min(offset + 1, line_end(text, offset))
        case "w":
            return next_word(text, offset)
        case "b":
            return word_before(text, offset)
        case "e":
            return word_end(text, offset)
        case "0":
            return line_start(text, offset)
        case "^":
            return first_of_line(text, offset)
        case "$":
            return line_end(text, offset)
    return None


def _kind(character: str) -> int:
    if character.isspace():
        return _BLANK
    is_word = character == "_" or character.isalnum()
    return _WORD if is_word or unicodedata.category(character).startswith("M") else _SIGN


def _is_empty_line(text: str, offset: int) -> bool:
    starts = offset == 0 or text[offset - 1] == "\n"
    return starts and (offset == len(text) or text[offset] == "\n")
