"""What an author can do to the prompts of a prompt set, as values; rows are named by their key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from guardtui.domain.prompts import PROMPT_BYTES, PromptSet


@dataclass(frozen=True, slots=True)
class Relabel:
    """Give rows the label `expected`, or, with None, turn the label of each round."""

    keys: frozenset[int]
    expected: bool | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """Take rows out."""

    keys: frozenset[int]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Put a copy of each row after it, with every column as it is."""

    keys: frozenset[int]


@dataclass(frozen=True, slots=True)
class Add:
    """Put one more prompt at the end; `others` are values of further columns, by their name."""

    prompt: str
    expected: bool
    others: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Give a row this text and this label, and `others` to further columns, by their name.

    Columns that are not named stay as they are. Another text gives the row another key.
    """

    key: int
    prompt: str
    expected: bool
    others: dict[str, str] = field(default_factory=dict)


PromptEdit: TypeAlias = Relabel | Remove | Duplicate | Add | Rewrite


def text_problem(text: str, what: str = "prompt") -> str:
    """Return why no prompt file can hold a text, and what to do; "" where one can."""
    if "\0" in text:
        return f"the {what} holds a NUL, which no text file can: remove it"
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return f"the {what} holds half of a surrogate pair: remove it"
    if size > PROMPT_BYTES:
        return f"the {what} has more than 1 MiB: shorten it"
    return ""


def prompt_problem(prompt: str, prompts: PromptSet, key: int | None = None) -> str:
    """Return why a text cannot be a prompt, and what to do; "" where it can.

    With the `key` of the row that it is for, no other row may have the same text.
    """
    if not prompt.strip():
        return "empty prompt: write one, or remove the row"
    if problem := text_problem(prompt):
        return problem
    row = None if key is None else prompts.row_of(key)
    if row is None or prompts.prompts[row] == prompt:  # a repeat of before may stay one
        return ""
    same = prompts.frame["line"].filter(prompts.prompts == prompt)
    if not len(same):
        return ""
    return f"line {same[0]} has the same prompt already: write another, or remove this row"
