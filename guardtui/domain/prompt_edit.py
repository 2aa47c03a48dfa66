"""What an author can do to the prompts of a prompt set, as values; rows are named by their key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


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


PromptEdit: TypeAlias = Relabel | Remove | Duplicate | Add
