"""Prompts in tables with columns of any name, and plain lists, whose label the author gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from guardtui.domain.topic import Intent
from guardtui.files.chats import looks_like_chat
from guardtui.files.foreign.base import (
    Entry,
    ForeignInput,
    ForeignPrompts,
    Format,
    ImportOptions,
    mapped,
)
from guardtui.files.json_rows import json_rows
from guardtui.files.output_tables import read_table
from guardtui.files.problems import FileError
from guardtui.files.source_positions import json_list, numbered_lines, text_of
from guardtui.files.table_formats import TableFormat, detect_format

_OR_PART = ", or after a colon: FILE:COLUMN"
_JSON_LINES = (".jsonl", ".ndjson")


def _is_table(source: ForeignInput) -> bool:
    """Return whether the input is a table, by its name or content.

    Text with commas is a table only by its name; JSON is one if every row is an object.
    """
    kind = detect_format(source.path, source.content)
    if kind is TableFormat.DELIMITED:
        return source.ending in (".csv", ".tsv")
    if kind not in (TableFormat.JSON_LINES, TableFormat.JSON_ARRAY) or source.ending in _JSON_LINES:
        return True
    rows = [value for _, value in json_rows(source.path, source.text).rows]
    return bool(rows) and all(isinstance(value, dict) for value in rows)


def _read_table(source: ForeignInput, options: ImportOptions) -> ForeignPrompts:
    """Read a prompt from each row, by default from the columns `prompt` and `expected`.

    With `label`, no label column is needed, and the column of prompts must be named.
    """
    entries, intent = entries_of(source, options)
    return mapped(source, entries, options, intent)


def entries_of(source: ForeignInput, options: ImportOptions) -> tuple[list[Entry], Intent | None]:
    """Return the rows with the columns that `options` name, and the intent if all have one."""
    wanted = {"--prompt-column": options.prompt_column or "prompt"}
    if options.label is None:
        wanted["--expected-column"] = options.expected_column or "expected"
    needed = [name.strip().lower() for name in wanted.values()]
    columns, lines, errors = read_table(source.path, source.content, needed, options.sheet)
    for error in errors:
        source.report(error.message, error.lines[0] if error.lines else None)
    if errors and not columns:  # no row can be read, so the columns are unknown
        return [], None
    chosen = _chosen(source, options, wanted, columns)
    if len(chosen) < len(wanted):
        return [], None
    others = {name: values for name, values in columns.items() if name not in chosen}
    intent = _intent(others)
    values = _conversations(columns[chosen[0]])
    labels = columns[chosen[1]] if len(chosen) > 1 else [None] * len(lines)
    entries = [
        Entry(
            line,
            values[index],
            labels[index],
            prompt_name=chosen[0],
            label_name=chosen[-1],
            columns={name: cells[index] for name, cells in others.items()},
        )
        for index, line in enumerate(lines)
    ]
    return entries, intent


def _chosen(
    source: ForeignInput,
    options: ImportOptions,
    wanted: dict[str, str],
    columns: dict[str, list[Any]],
) -> list[str]:
    """Return the columns of prompt and label; fewer, with a problem, if one is missing."""
    present = ", ".join(columns) or "none"
    if options.label is not None and not options.prompt_column:
        source.report(
            f"this is a table, not a plain list (columns: {present:.300}): "
            f"name the column of the prompts with --prompt-column{_OR_PART}"
        )
        return []
    names = {name.strip().lower(): name for name in reversed(columns)}
    chosen = []
    for option, name in wanted.items():
        column = name if name in columns else names.get(name.strip().lower())
        if column is None:
            source.report(
                f"no column is named {name!r:.60} (existing: {present:.300}): "
                f"name it with {option}{_OR_PART * (options.label is not None)}"
            )
        else:
            chosen.append(column)
    if len(set(chosen)) < len(chosen):
        source.report("prompt and label are one column: name two")
        return []
    return chosen


def _intent(columns: dict[str, list[Any]]) -> Intent | None:
    """Return the intent if all rows give the same one, and remove its column."""
    own = next((name for name in columns if name.strip().lower() == "intent"), None)
    if own is None:
        return None
    given = {text_of(value).strip().lower() for value in columns[own]}
    if len(given) != 1 or (word := given.pop()) not in list(Intent):
        return None
    del columns[own]
    return Intent(word)


def _conversations(values: list[Any]) -> list[Any]:
    """Return the values, as conversations if every text among them is one in JSON."""
    decoded = list(values)
    for index, value in enumerate(values):
        if not isinstance(value, str) or not value.strip():
            continue
        try:
            decoded[index] = json.loads(value) if value.lstrip().startswith("[") else None
        except (ValueError, RecursionError):
            return values
        if not looks_like_chat(decoded[index]):
            return values
    return decoded


TABLE = Format(
    "a table with a column of prompts (CSV, TSV, JSON, JSONL, Parquet, Excel)",
    ("prompt_column", "expected_column", "true", "label", "unlabelled", "sheet"),
    _is_table,
    _read_table,
)


# --- plain lists --------------------------------------------------------------------------------


def _is_list(source: ForeignInput) -> bool:
    """Return whether the file has the extension of a text file."""
    return source.ending in (".txt", ".text", ".list")


def _read_list(source: ForeignInput, options: ImportOptions) -> ForeignPrompts:
    """Read a row for each non-blank line, stripped of blanks, or text of a JSON array."""
    source.text  # noqa: B018 - raises FileError for UTF-16 and the like
    if options.label is None:
        source.report(
            "a plain list has no labels: give --expected true or false, "
            "or give two lists with --positive and --negative"
        )
        return ForeignPrompts([])
    return mapped(source, _entries(source), options)


def _entries(source: ForeignInput) -> Iterator[Entry]:
    values = _array(source)
    for line, value in numbered_lines(source.text) if values is None else values:
        if isinstance(value, str):
            yield Entry(line, value)
        else:
            source.report(f"{json.dumps(value)[:40]} is not text", line)


def _array(source: ForeignInput) -> list[tuple[int, Any]] | None:
    """Return the elements of a JSON array with their lines; None for another text."""
    if not source.text.lstrip().startswith("["):
        return None
    try:
        return json_list(source.text)
    except RecursionError as error:
        raise FileError(source.path, "this JSON is nested too deeply") from error
    except ValueError as error:
        if source.ending != ".json":
            return None
        remedy = "fix it, or rename it to .txt"
        raise FileError(source.path, "not a JSON array of texts", remedy) from error


LINES = Format("a plain list, one prompt in each line", ("label",), _is_list, _read_list)
