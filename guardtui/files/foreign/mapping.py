"""The one mapping of columns: which value of an entry is the prompt, and which one its label."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guardtui.domain.topic import Intent
from guardtui.files.chats import last_user_text, looks_like_chat, read_chat
from guardtui.files.foreign.base import (
    ForeignPrompts,
    ForeignRow,
    ImportOptions,
    Problems,
)
from guardtui.files.source_positions import text_of


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of an input: its prompt, its label, and further values as columns.

    A prompt is a text, or a conversation, whose last message of the user is taken. `expected` is
    the label if the format decides it; otherwise it is read from the value `label`. The names of
    both are for messages, and for the column of a conversation.
    """

    path: Path
    line: int
    prompt: Any
    label: Any = None
    expected: bool | None = None
    prompt_name: str = "prompt"
    label_name: str = "label"
    columns: Mapping[str, Any] = field(default_factory=dict)


def mapped(
    entries: Iterable[Entry],
    options: ImportOptions,
    problems: Problems,
    intent: Intent | None = None,
    notes: Iterable[str] = (),
) -> ForeignPrompts:
    """Return a row for each entry; entries without a label are left out if that is wanted.

    Problems of entries go to `problems`; `notes` follow those on the rows.
    """
    rows: list[ForeignRow] = []
    left_out = several = 0
    for entry in entries:
        label = entry.expected if options.label is None else options.label
        if label is None:
            label = options.label_of(entry.label)
        if label is None and options.leaves_out(entry.label):
            left_out += 1
            continue
        try:
            if label is None:
                raise ValueError(f"{entry.label_name}: {options.not_a_label(entry.label)}")
            prompt, conversation = _prompt(entry)
        except ValueError as error:
            problems.add(entry.path, str(error), entry.line)
            continue
        several += bool(conversation)
        columns = {name: text_of(value) for name, value in entry.columns.items()} | conversation
        rows.append(ForeignRow(entry.path, entry.line, prompt, label, columns))
    return ForeignPrompts(rows, intent, [*_notes(left_out, several), *notes])


def _prompt(entry: Entry) -> tuple[str, dict[str, str]]:
    """Return the prompt, and its conversation as a column if it has several messages.

    Raises ValueError.
    """
    value, name = entry.prompt, entry.prompt_name
    if isinstance(value, dict) or (isinstance(value, list) and not looks_like_chat(value)):
        kind = "an object" if isinstance(value, dict) else "a list without roles"
        raise ValueError(f"{name}: this is {kind}, neither a text nor a list of messages")
    if not isinstance(value, list):
        return text_of(value), {}
    try:
        prompt = last_user_text(read_chat(value))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return prompt, {name: text_of(value)} if len(value) > 1 else {}


def conversation_of(text: str) -> list[Any] | None:
    """Return the messages that a text holds as JSON, or None."""
    if not text.lstrip().startswith("["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if looks_like_chat(value) else None


def _notes(left_out: int, several: int) -> Iterator[str]:
    if left_out:
        verb = "is" if left_out == 1 else "are"
        yield f"{_have(left_out, 'prompt')} no label and {verb} left out"
    if several:
        messages = "several messages: the user's last one is the prompt"
        yield f"{_have(several, 'row')} {messages}"


def _have(count: int, noun: str) -> str:
    return f"1 {noun} has" if count == 1 else f"{count} {noun}s have"
