"""Tables of prompts with other column names or labels, or a single label: CSV, JSON, Parquet …"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from guardtui.domain.topic import Intent
from guardtui.files.chats import ChatMessage, looks_like_chat, read_chat
from guardtui.files.foreign.base import (
    ForeignInput,
    ForeignPrompts,
    ForeignRow,
    ImportOptions,
    Problems,
    left_out_note,
)
from guardtui.files.json_rows import json_rows
from guardtui.files.output_tables import read_table
from guardtui.files.source_positions import text_of
from guardtui.files.table_formats import TableFormat, detect_format

TITLE = "a table with a column of prompts (CSV, TSV, JSON, JSONL, Parquet, Excel)"
OPTIONS = ("prompt_column", "expected_column", "true", "label", "unlabelled", "sheet")

_OR_PART = ", or after a colon: FILE:COLUMN"
_DELIMITED = (".csv", ".tsv")
_JSON_LINES = (".jsonl", ".ndjson")


def recognises(source: ForeignInput) -> bool:
    """Return whether the input is a table, by its name or content.

    Text with commas is a table only by its name; JSON is one if every row is an object.
    """
    if source.is_folder:
        return False
    kind = detect_format(source.path, source.content)
    if kind is TableFormat.DELIMITED:
        return source.ending in _DELIMITED
    if kind not in (TableFormat.JSON_LINES, TableFormat.JSON_ARRAY) or source.ending in _JSON_LINES:
        return True
    rows = [value for _, value in json_rows(source.path, source.text).rows]
    return bool(rows) and all(isinstance(value, dict) for value in rows)


def read(source: ForeignInput, mapped: ImportOptions, problems: Problems) -> ForeignPrompts:
    """Read a prompt from each row, by default from the columns `prompt` and `expected`.

    Of a list of messages, the user's last one is the prompt; several are kept as a column. With
    `label`, no label column is needed, and the column of prompts must be named.
    """
    wanted = {"--prompt-column": mapped.prompt_column or "prompt"}
    if mapped.label is None:
        wanted["--expected-column"] = mapped.expected_column or "expected"
    needed = [name.strip().lower() for name in wanted.values()]
    columns, lines, errors = read_table(source.path, source.content, needed, mapped.sheet)
    for error in errors:
        problems.add(source.path, error.message, error.lines[0] if error.lines else None)
    if errors and not columns:  # no row can be read, so the columns are unknown
        return ForeignPrompts([])
    present = ", ".join(columns) or "none"
    if mapped.label is not None and not mapped.prompt_column:
        problems.add(
            source.path,
            f"this is a table, not a plain list (columns: {present:.300}): "
            f"name the column of the prompts with --prompt-column{_OR_PART}",
        )
        return ForeignPrompts([])
    names = {name.strip().lower(): name for name in reversed(columns)}
    chosen = []
    for option, name in wanted.items():
        column = name if name in columns else names.get(name.strip().lower())
        if column is None:
            problems.add(
                source.path,
                f"no column is named {name!r:.60} (existing: {present:.300}): "
                f"name it with {option}{_OR_PART * (mapped.label is not None)}",
            )
        else:
            chosen.append(column)
    if len(chosen) < len(wanted):
        return ForeignPrompts([])
    if len(set(chosen)) < len(chosen):
        problems.add(source.path, "prompt and label are one column: name two")
        return ForeignPrompts([])
    others = [name for name in columns if name not in chosen]
    intent = _intent(columns, names.get("intent"), others)
    prompts = _Prompts(chosen[0], columns[chosen[0]])
    rows = []
    left_out = 0
    for index, line in enumerate(lines):
        value = columns[chosen[1]][index] if len(chosen) > 1 else None
        label = mapped.label if mapped.label is not None else mapped.label_of(value)
        if label is None and mapped.leaves_out(value):
            left_out += 1
            continue
        if label is None:
            problems.add(source.path, f"{chosen[1]}: {mapped.not_a_label(value)}", line)
            continue
        try:
            prompt, conversation = prompts.at(index)
        except ValueError as error:
            problems.add(source.path, f"{chosen[0]}: {error}", line)
            continue
        extra = {name: text_of(columns[name][index]) for name in others}
        rows.append(ForeignRow(source.path, line, prompt, label, extra | conversation))
    return ForeignPrompts(rows, intent, [*left_out_note(left_out), *prompts.notes()])


def _intent(columns: dict[str, list[Any]], own: str | None, others: list[str]) -> Intent | None:
    """Return the intent if all rows give the same one; its column is then removed from `others`."""
    if own not in others:
        return None
    given = {text_of(value).strip().lower() for value in columns[own]}
    if len(given) != 1 or (word := given.pop()) not in ("block", "allow"):
        return None
    others.remove(own)
    return Intent(word)


@dataclass(slots=True)
class _Prompts:
    """The values of the prompt column: texts, or conversations."""

    name: str
    values: list[Any]
    several: int = 0

    def __post_init__(self) -> None:
        texts = [value for value in self.values if isinstance(value, str) and value.strip()]
        # CSV cells are text: if every cell is a JSON conversation, parse them all.
        if texts and all(map(_conversation, texts)):
            self.values = [
                _conversation(value) or value if isinstance(value, str) else value
                for value in self.values
            ]

    def at(self, index: int) -> tuple[str, dict[str, str]]:
        """Return the prompt of a row, and its conversation as a column if it is longer.

        Raises ValueError.
        """
        value = self.values[index]
        if isinstance(value, dict) or (isinstance(value, list) and not looks_like_chat(value)):
            kind = "an object" if isinstance(value, dict) else "a list without roles"
            raise ValueError(f"this is {kind}, neither a text nor a list of messages")
        if not isinstance(value, list):
            return text_of(value), {}
        messages = read_chat(value)
        prompt = _last_of_user(messages)
        if len(messages) == 1:
            return prompt, {}
        self.several += 1
        return prompt, {self.name: text_of(value)}

    def notes(self) -> list[str]:
        """Return notes for the author."""
        if not self.several:
            return []
        rows = "1 row has" if self.several == 1 else f"{self.several} rows have"
        return [f"{rows} several messages: the user's last one is the prompt"]


def _last_of_user(messages: tuple[ChatMessage, ...]) -> str:
    """Return the user's last message. Raises ValueError if none or not only text."""
    last = next((message for message in reversed(messages) if message.role == "user"), None)
    if last is None:
        raise ValueError("no message in this list is the user's")
    if last.media:
        raise ValueError(f"the user's last message holds {last.media[0]!r:.40}, not only text")
    return last.text


def _conversation(text: str) -> list[Any] | None:
    """Return the messages that a text holds as JSON, or None."""
    if not text.lstrip().startswith("["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if looks_like_chat(value) else None
