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
_EXAMPLE = re.compile(r"example(\d{1,2})")


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A row of a table: the given fields of a topic, and the line it starts on."""

    values: dict[str, Any]
    line: int


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
    header, rows = _table(path, text)
    columns = _columns(header)
    topics = [TopicRow(_values(cells, columns), line) for line, cells in rows]
    if not topics:
        raise FileError(path, "the table has no topics", "write one in a row below the header")
    return topics


def with_topic(path: Path, text: str, changes: Mapping[str, Any]) -> str:
    """Return the text of a table of one topic with some of its fields replaced.

    Missing columns are added. Raises FileError.
    """
    header, rows = _table(path, text)
    columns, cells = _columns(header), rows[0][1]
    for field, value in changes.items():
        texts = {field: str(value)}
        if field == "examples" and field in columns:
            texts = {field: _joined(value, cells[columns[field]])}
        elif field == "examples":
            numbered = [name for name in columns if _EXAMPLE.fullmatch(name)]
            texts = dict.fromkeys(numbered, "")
            names = [*numbered, *(f"example_{len(numbered) + k}" for k in range(1, 100))]
            texts |= dict(zip(names, value, strict=False))
        for name, cell in texts.items():
            if name in columns:
                cells[columns[name]] = cell
            else:
                header.append(name)
                cells.append(cell)
    return _written([header, cells], text, _separator(text) or ",")


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
        if _columns(header):
            return separator
    return None


def _columns(header: list[str]) -> dict[str, int]:
    """Return the position of each field, examples in order; {} for a table of something else."""
    names = [re.sub(r"[\W_]+", "", name).casefold() for name in header]
    columns = {name: position for position, name in reversed([*enumerate(names)])}
    name = columns.get("name", columns.get("topicname"))
    numbered = sorted((name for name in columns if _EXAMPLE.fullmatch(name)), key=_number)
    fields = ["description", *(["examples"] if "examples" in columns else numbered), "intent"]
    known = {field: columns[field] for field in fields if field in columns}
    if name is None or "prompt" in columns or not known.keys() - {"intent"}:
        return {}
    return {"name": name, **known}


def _number(name: str) -> int:
    return int(name.removeprefix("example"))


def _values(cells: list[str], columns: Mapping[str, int]) -> dict[str, Any]:
    """Return the fields of a topic; an intent only if it is given."""
    given: dict[str, Any] = {field: cells[position] for field, position in columns.items()}
    examples = [given.pop(field) for field in columns if _EXAMPLE.fullmatch(field)]
    if "examples" in given:
        given["examples"] = _split(given["examples"])
    else:
        given["examples"] = [text for text in examples if text.strip()]
    if not given.get("intent", "").strip():
        given.pop("intent", None)
    return given


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


def _joined(examples: tuple[str, ...], before: str) -> str:
    if before.lstrip().startswith("[") or any("\n" in text or "|" in text for text in examples):
        return json.dumps(examples, ensure_ascii=False)
    return f"{_sign(before)}{' ' if ' | ' in before else ''}".join(examples)


def _table(path: Path, text: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the header, and the rows that are not blank with their lines, all of its length.

    Raises FileError.
    """
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=_separator(text) or ",", strict=True
    )
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
    (_, header), *rows = records
    if not _columns(header):
        raise FileError(path, "the header has no name of a topic", "name it topic_name", 1)
    for line, cells in rows:
        if len(cells) > len(header):
            problem = f"{len(cells)} fields where the header has {len(header)}"
            remedy = "put a text that holds the separator in quotes"
            raise FileError(path, problem, remedy, line)
        cells += [""] * (len(header) - len(cells))
    return header, rows
