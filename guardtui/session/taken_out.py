"""Prompts that left their set because edits made them examples, and when they come back."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from guardtui.domain.example_prompts import EqualTexts
from guardtui.domain.prompt_edit import Remove, RemovedRow, Restore
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic

NAME = "taken_out"
"""The setting of the session that stores them."""


@dataclass(frozen=True, slots=True)
class TakenPrompt:
    """A prompt that an edit made an example; `out` tells whether undo has not put it back yet."""

    row: RemovedRow
    out: bool = True


TakenPrompts: TypeAlias = tuple[TakenPrompt, ...]


def with_removed(taken: TakenPrompts, rows: Sequence[RemovedRow]) -> TakenPrompts:
    """Return the taken prompts with these rows, which just left the set."""
    keys = {row.key for row in rows}
    return (*without(taken, keys), *(TakenPrompt(row) for row in rows))


def without(taken: TakenPrompts, keys: Iterable[int]) -> TakenPrompts:
    """Return the taken prompts but those of some keys."""
    return tuple(prompt for prompt in taken if prompt.row.key not in {*keys})


def following(
    taken: TakenPrompts, before: Topic, after: Topic, prompts: PromptSet
) -> Restore | Remove | None:
    """Return the edit by which the set follows a step back or forth between two definitions.

    Prompts that are no longer examples come back, or else those that are examples again leave.
    """
    known = {*prompts.keys.tolist()}
    equal = EqualTexts(pl.Series([prompt.row.prompt for prompt in taken], dtype=pl.String))
    were, are = _examples(equal, before), _examples(equal, after)
    back = [taken[index].row for index in sorted(were - are) if taken[index].out]
    if back := [row for row in back if row.key not in known]:
        return Restore(tuple(back))
    again = [taken[index].row.key for index in are - were if not taken[index].out]
    leaving = known.intersection(again)
    return Remove(frozenset(leaving), restorable=True) if leaving else None


def _examples(equal: EqualTexts, topic: Topic) -> set[int]:
    """Return the indices of the texts that are examples."""
    return {row for text in topic.examples for part in equal.rows(text) for row in part.tolist()}


def with_restored(taken: TakenPrompts, edit: Restore) -> TakenPrompts:
    """Return the taken prompts after some came back."""
    keys = {row.key for row in edit.rows}
    return tuple(replace(prompt, out=prompt.out and prompt.row.key not in keys) for prompt in taken)


def to_json(taken: TakenPrompts, path: Path) -> dict[str, Any]:
    """Return the taken prompts of a prompt file as a setting of the session."""
    prompts = [
        {
            "out": prompt.out,
            **asdict(prompt.row),
            "stored": base64.b64encode(prompt.row.stored).decode(),
        }
        for prompt in taken
    ]
    return {NAME: {"file": str(path.resolve()), "prompts": prompts}}


def from_json(saved: Any, path: Path, topic: Topic) -> TakenPrompts:
    """Return the taken prompts of a prompt file that are examples of the topic.

    There are none if the setting is of another file, or of another version of guardtui.
    """
    try:
        if saved["file"] != str(path.resolve()):
            return ()
        taken = tuple(map(_taken, saved["prompts"]))
    except (TypeError, KeyError, ValueError):
        return ()
    equal = EqualTexts(pl.Series([prompt.row.prompt for prompt in taken], dtype=pl.String))
    return tuple(taken[index] for index in sorted(_examples(equal, topic)))


def _taken(saved: Any) -> TakenPrompt:
    row = RemovedRow(
        int(saved["key"]),
        str(saved["prompt"]),
        bool(saved["expected"]),
        {str(name): str(text) for name, text in dict(saved["others"]).items()},
        tuple(map(int, saved["before"])),
        base64.b64decode(saved["stored"]),
    )
    return TakenPrompt(row, bool(saved["out"]))
