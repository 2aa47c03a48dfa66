"""Tables with a topic in each row, as deployments of AIRS keep them: read, and one row rewritten.

The columns are a name (`name`, `topic_name`), `description`, `examples` or `example_1` …, and
`intent`; the header may be in any case.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guardtui.domain.topic import Topic
from guardtui.files.problems import ContentError, FileError, decode, read_bytes
from guardtui.files.table_formats import SEPARATORS

ENDINGS = (".csv", ".tsv")
_NAMES = ("name", "topicname")
_EXAMPLE = re.compile(r"example(\d{1,2})")


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A row of a table: the given fields of a topic, and the line it starts on."""

    values: dict[str, Any]
    line: int


@dataclass(frozen=True, slots=True)
class _Columns:
    """The positions of the fields; `examples` are one column, or one for each example."""

    name: int
    description: int | None
    examples: tuple[int, ...]
    intent: int | None
    one_cell: bool


def is_topic_table(path: Path) -> bool:
    """Return whether a file is a table of topics, by its header. Raises FileError."""
    if path.suffix.lower() not in ENDINGS:
        return False
    try:
        return _separator(decode(path, read_bytes(path))) is not None
    except ContentError:  # empty, or no text: told by the reader of prompts
        return False


def read_table(path: Path, text: str) -> list[TopicRow]:
    """Return the topics of a table, at least one. Raises FileError."""
    separator = _separator(text) or ","
    header, *rows = _records(path, text, separator)
    columns = _columns(header[1])
    if columns is None:
        raise FileError(path, "the header has no name of a topic", "name it topic_name", 1)
    topics = []
    for line, cells in rows:
        if len(cells) > len(header[1]):
            raise FileError(
                path,
                f"{len(cells)} fields where the header has {len(header[1])}",
                "put a text that holds the separator in quotes",
                line,
            )
        cells = cells + [""] * (len(header[1]) - len(cells))
        topics.append(TopicRow(_values(cells, columns), line))
    if not topics:
        raise FileError(path, "the table has no topics", "write one in a row below the header")
    return topics


def with_topic(path: Path, text: str, changes: Mapping[str, Any]) -> str:
    """Return the text of a table of one topic with some of its fields replaced.

    Missing columns are added. Raises FileError.
    """
    separator = _separator(text) or ","
    (_, header), (_, cells) = _records(path, text, separator)[:2]
    columns = _columns(header)
    if columns is None:
        raise FileError(path, "the header has no name of a topic", "name it topic_name", 1)
    cells = cells + [""] * (len(header) - len(cells))

    def put(position: int | None, column: str, value: str) -> None:
        if position is None:
            header.append(column)
            cells.append(value)
        else:
            cells[position] = value

    if "name" in changes:
        put(columns.name, "name", changes["name"])
    if "description" in changes:
        put(columns.description, "description", changes["description"])
    if "examples" in changes:
        examples = list(changes["examples"])
        if columns.one_cell:
            put(columns.examples[0], "", _joined(examples, cells[columns.examples[0]]))
        else:
            for index in range(max(len(examples), len(columns.examples))):
                value = examples[index] if index < len(examples) else ""
                known = columns.examples[index] if index < len(columns.examples) else None
                put(known, f"example_{index + 1}", value)
    if "intent" in changes:
        put(columns.intent, "intent", str(changes["intent"]))
    return _written([header, cells], text, separator)


def new_text(topic: Topic) -> str:
    """Return the text of a table of one topic."""
    header = ["name", "description", *(f"example_{k + 1}" for k in range(len(topic.examples)))]
    cells = [topic.name, topic.description, *topic.examples]
    return _written([[*header, "intent"], [*cells, topic.intent.value]], "", ",")


def _written(rows: list[list[str]], before: str, separator: str) -> str:
    stream = io.StringIO()
    writer = csv.writer(
        stream,
        delimiter=separator,
        lineterminator="\r\n" if "\r\n" in before else "\n",
        quoting=csv.QUOTE_ALL if before.lstrip().startswith('"') else csv.QUOTE_MINIMAL,
    )
    writer.writerows(rows)
    return stream.getvalue()


def _separator(text: str) -> str | None:
    """Return the separator with which the header is that of topics, or None."""
    first = re.split(r"[\r\n]", text.lstrip("\r\n"), maxsplit=1)[0]
    for separator in SEPARATORS:
        try:
            header = next(csv.reader([first], delimiter=separator), [])
        except csv.Error:  # such as a field that is too long
            return None
        if _columns(header) is not None:
            return separator
    return None


def _columns(header: list[str]) -> _Columns | None:
    """Return the columns of topics, or None for another table."""
    names = [re.sub(r"[\W_]+", "", name).casefold() for name in header]
    name = next((names.index(one) for one in _NAMES if one in names), None)
    if name is None or "prompt" in names:
        return None
    numbered = sorted(
        (int(match[1]), position)
        for position, one in enumerate(names)
        if (match := _EXAMPLE.fullmatch(one))
    )
    one_cell = "examples" in names
    description = names.index("description") if "description" in names else None
    if description is None and not one_cell and not numbered:
        return None
    examples = [names.index("examples")] if one_cell else [position for _, position in numbered]
    intent = names.index("intent") if "intent" in names else None
    return _Columns(name, description, tuple(examples), intent, one_cell)


def _values(cells: list[str], columns: _Columns) -> dict[str, Any]:
    texts = [cells[position] for position in columns.examples]
    values: dict[str, Any] = {
        "name": cells[columns.name],
        "examples": _split(texts[0]) if columns.one_cell else [one for one in texts if one.strip()],
    }
    if columns.description is not None:
        values["description"] = cells[columns.description]
    if columns.intent is not None and cells[columns.intent].strip():
        values["intent"] = cells[columns.intent]
    return values


def _split(cell: str) -> list[Any]:
    """Return the examples of one cell: a JSON array, or texts a line each, or between bars."""
    if cell.lstrip().startswith("["):
        try:
            examples = json.loads(cell)
        except ValueError:
            examples = None
        if isinstance(examples, list):
            return examples
    return [text.strip() for text in cell.split(_sign(cell)) if text.strip()]


def _sign(cell: str) -> str:
    return "\n" if "\n" in cell else "|"


def _joined(examples: list[str], before: str) -> str:
    if before.lstrip().startswith("[") or any("\n" in text or "|" in text for text in examples):
        return json.dumps(examples, ensure_ascii=False)
    return f"{_sign(before)}{' ' if ' | ' in before else ''}".join(examples)


def _records(path: Path, text: str, separator: str) -> list[tuple[int, list[str]]]:
    """Return the rows that are not blank, with the line each starts on. Raises FileError."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    records: list[tuple[int, list[str]]] = []
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                records.append((line, cells))
            line = reader.line_num + 1
    except csv.Error as error:
        remedy = "put a text that holds quotes or the separator in quotes, and double its quotes"
        raise FileError(path, f"not valid CSV: {error}", remedy, line) from error
    return records
