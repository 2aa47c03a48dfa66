"""Edits of a prompt set as values; rows are identified by their key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from guardtui.domain.prompts import PROMPT_BYTES, PromptSet


@dataclass(frozen=True, slots=True)
class Relabel:
    """Set the label of rows to `expected`; with None, invert each label."""

    keys: frozenset[int]
    expected: bool | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove rows; with `restorable`, they are returned, for `Restore`."""

    keys: frozenset[int]
    restorable: bool = False


@dataclass(frozen=True, slots=True)
class RemovedRow:
    """A row that was removed: its values, its place, and the bytes that its file had for it.

    `others` are the values of further columns, `before` the keys that the rows before it which
    stayed have without it, the nearest first.
    """

    key: int
    prompt: str
    expected: bool
    others: dict[str, str]
    before: tuple[int, ...]
    stored: bytes


@dataclass(frozen=True, slots=True)
class Restore:
    """Put removed rows back at their places.

    Rows of several removals are in the order of these, those of one in the order of the file.
    """

    rows: tuple[RemovedRow, ...]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Insert a copy of each row after it, with all columns unchanged."""

    keys: frozenset[int]


@dataclass(frozen=True, slots=True)
class Add:
    """Append a prompt; `others` are values of further columns, by name."""

    prompt: str
    expected: bool
    others: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Replace a row's text and label, and set `others` in further columns, by name.

    Columns that are not named keep their values. A new text gives the row a new key.
    """

    key: int
    prompt: str
    expected: bool
    others: dict[str, str] = field(default_factory=dict)


PromptEdit: TypeAlias = Relabel | Remove | Restore | Duplicate | Add | Rewrite


def text_problem(text: str, subject: str = "prompt") -> str:
    """Return why no prompt file can contain a text, and the remedy; "" if it can."""
    if "\0" in text:
        return f"the {subject} holds a NUL, which no text file can: remove it"
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return f"the {subject} holds half of a surrogate pair: remove it"
    if size > PROMPT_BYTES:
        return f"the {subject} has more than 1 MiB: shorten it"
    return ""


def prompt_problem(prompt: str, prompts: PromptSet, key: int | None = None) -> str:
    """Return why a text cannot be a prompt, and the remedy; "" if it can.

    With the `key` of the edited row, no other row may have the same text.
    """
    if not prompt.strip():
        return "empty prompt: write one, or remove the row"
    if problem := text_problem(prompt):
        return problem
    row = None if key is None else prompts.row_of(key)
    if row is None or prompts.prompts[row] == prompt:  # an existing duplicate may stay
        return ""
    same = prompts.frame["line"].filter(prompts.prompts == prompt)
    if not len(same):
        return ""
    return f"line {same[0]} has the same prompt already: write another, or remove this row"
