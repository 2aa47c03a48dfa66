"""Tables of prompts with other column names or labels, or a single label: CSV, JSON, Parquet …"""

from __future__ import annotations

from typing import Any

from guardtui.domain.topic import Intent
from guardtui.files.foreign.base import ForeignInput, ForeignPrompts, ImportOptions, Problems
from guardtui.files.foreign.mapping import Entry, conversation_of, mapped
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
    kind = detect_format(source.path, source.content)
    if kind is TableFormat.DELIMITED:
        return source.ending in _DELIMITED
    if kind not in (TableFormat.JSON_LINES, TableFormat.JSON_ARRAY) or source.ending in _JSON_LINES:
        return True
    rows = [value for _, value in json_rows(source.path, source.text).rows]
    return bool(rows) and all(isinstance(value, dict) for value in rows)


def read(source: ForeignInput, options: ImportOptions, problems: Problems) -> ForeignPrompts:
    """Read a prompt from each row, by default from the columns `prompt` and `expected`.

    With `label`, no label column is needed, and the column of prompts must be named.
    """
    entries, intent = entries_of(source, options, problems)
    return mapped(entries, options, problems, intent)


def entries_of(
    source: ForeignInput, options: ImportOptions, problems: Problems
) -> tuple[list[Entry], Intent | None]:
    """Return the rows with the columns that `options` name, and the intent if all have one."""
    wanted = {"--prompt-column": options.prompt_column or "prompt"}
    if options.label is None:
        wanted["--expected-column"] = options.expected_column or "expected"
    needed = [name.strip().lower() for name in wanted.values()]
    columns, lines, errors = read_table(source.path, source.content, needed, options.sheet)
    for error in errors:
        problems.add(source.path, error.message, error.lines[0] if error.lines else None)
    if errors and not columns:  # no row can be read, so the columns are unknown
        return [], None
    chosen = _chosen(source, options, wanted, columns, problems)
    if len(chosen) < len(wanted):
        return [], None
    others = [name for name in columns if name not in chosen]
    intent = _intent(columns, others)
    values = _conversations(columns[chosen[0]])
    labels = columns[chosen[1]] if len(chosen) > 1 else [None] * len(lines)
    entries = [
        Entry(
            source.path,
            line,
            values[index],
            labels[index],
            prompt_name=chosen[0],
            label_name=chosen[-1],
            columns={name: columns[name][index] for name in others},
        )
        for index, line in enumerate(lines)
    ]
    return entries, intent


def _chosen(
    source: ForeignInput,
    options: ImportOptions,
    wanted: dict[str, str],
    columns: dict[str, list[Any]],
    problems: Problems,
) -> list[str]:
    """Return the columns of prompt and label; fewer, with a problem, if one is missing."""
    present = ", ".join(columns) or "none"
    if options.label is not None and not options.prompt_column:
        problems.add(
            source.path,
            f"this is a table, not a plain list (columns: {present:.300}): "
            f"name the column of the prompts with --prompt-column{_OR_PART}",
        )
        return []
    names = {name.strip().lower(): name for name in reversed(columns)}
    chosen = []
    for option, name in wanted.items():
        column = name if name in columns else names.get(name.strip().lower())
        if column is None:
            problems.add(
                source.path,
                f"no column is named {name!r:.60} (existing: {present:.300}): "
                f"name it with {option}{_OR_PART * (options.label is not None)}",
            )
        else:
            chosen.append(column)
    if len(set(chosen)) < len(chosen):
        problems.add(source.path, "prompt and label are one column: name two")
        return []
    return chosen


def _intent(columns: dict[str, list[Any]], others: list[str]) -> Intent | None:
    """Return the intent if all rows give the same one; its column is then removed from `others`."""
    own = next((name for name in others if name.strip().lower() == "intent"), None)
    if own is None:
        return None
    given = {text_of(value).strip().lower() for value in columns[own]}
    if len(given) != 1 or (word := given.pop()) not in ("block", "allow"):
        return None
    others.remove(own)
    return Intent(word)


def _conversations(values: list[Any]) -> list[Any]:
    """Return the values, as conversations if every text among them is one in JSON."""
    texts = [value for value in values if isinstance(value, str) and value.strip()]
    if not texts or not all(map(conversation_of, texts)):
        return values
    return [
        conversation_of(value) or value if isinstance(value, str) else value for value in values
    ]
