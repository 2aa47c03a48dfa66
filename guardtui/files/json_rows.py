"""Rows written as JSON: an object per line, an array of objects, or an object that holds rows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guardtui.domain.findings import Finding, Severity
from guardtui.files.chats import looks_like_chat
from guardtui.files.problems import FileError, json_error
from guardtui.files.raw_rows import ERRORS_AT_MOST, JSON_CELLS_AT_MOST, require_cells
from guardtui.files.source_positions import json_items, json_members, numbered_lines

_DAMAGED = "the JSON breaks off or is damaged"
_NO_OBJECT = "not a JSON object (is the file truncated?)"
_NO_OBJECT_IN_ARRAY = "this element of the array is not a JSON object"

_REMEDY = (
    "write an array of objects, an object in each line (JSON Lines), or an object with one list of "
    "objects in it"
)
_SIGN = re.compile(r"\S")
_DEPTH = 5
"""Objects in objects that are searched for a list of rows."""


@dataclass(frozen=True, slots=True)
class JsonRows:
    """The line and the value of each row; None for a line that is not JSON.

    `not_object` says what is wrong with a value that is not an object. `wrapped` says whether the
    rows are parts of one object; lines may then be the numbers of the rows.
    """

    rows: Iterable[tuple[int, object]]
    not_object: str = _NO_OBJECT
    wrapped: bool = False


@dataclass(frozen=True, slots=True)
class JsonTable:
    """The columns by name, the line of each row, and the errors of rows that are left out.

    `wrapped` is as in `JsonRows`.
    """

    columns: dict[str, list[Any]]
    lines: list[int]
    errors: list[Finding]
    wrapped: bool


def json_rows(path: Path, text: str, needed: Collection[str] = ()) -> JsonRows:
    """Return the rows of a JSON file; `needed` are names of columns, in lower case.

    Arrays and objects are read as a whole: FileError says where they are damaged, or that they hold
    no rows.
    """
    if text.lstrip().startswith("["):
        return JsonRows(_array(path, text), _NO_OBJECT_IN_ARRAY)
    document = _single_object(path, text)
    if document is not None:
        return _of_object(path, text, document, needed)
    return JsonRows(_lines(path, text))


def json_table(
    path: Path,
    text: str,
    needed: Collection[str],
    prepare: Callable[[dict[str, Any]], tuple[dict[str, Any], str]],
) -> JsonTable:
    """Return the rows of a JSON file as columns. Raises FileError if it cannot be read at all.

    `prepare` returns the values of a row as they are kept, and its problem or "".
    """
    columns: dict[str, list[Any]] = {}
    lines: list[int] = []
    errors: list[Finding] = []
    found = json_rows(path, text, needed)
    # UTF-8 can contain half a surrogate pair only as an escape.
    escapes = "\\u" in text
    for number, value in found.rows:
        row, problem = prepare(value) if isinstance(value, dict) else ({}, found.not_object)
        if not problem and escapes and holds_lone_surrogate(json.dumps(value, ensure_ascii=False)):
            problem = "a text holds half of a surrogate pair, which is not a character: remove it"
        if problem:
            errors.append(Finding(Severity.ERROR, "json", problem, (number,)))
            if len(errors) == ERRORS_AT_MOST:
                break
            continue
        for name in row:
            if name not in columns:
                columns[name] = [None] * len(lines)
        for name, values in columns.items():
            values.append(row.get(name))
        lines.append(number)
        require_cells(path, len(columns), len(lines), JSON_CELLS_AT_MOST)
    return JsonTable(columns, lines, errors, found.wrapped)


def holds_lone_surrogate(text: str) -> bool:
    """Return whether a text contains half of a surrogate pair, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _lines(path: Path, text: str) -> Iterator[tuple[int, object]]:
    if "\n" not in text.rstrip() and re.search(r"\}\s*\r\s*\{", text):
        problem = "its lines end with carriage returns only"
        raise FileError(path, problem, "save it with line feeds, as programs do since 2001")
    for number, line in numbered_lines(text):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        yield number, value


def _array(path: Path, text: str) -> Iterator[tuple[int, object]]:
    try:
        for index, (line, value) in enumerate(json_items(text)):
            if not index and isinstance(value, list):
                problem = "its rows are lists without the names of the columns"
                remedy = "write objects (in pandas: to_json(orient='records'))"
                raise FileError(path, problem, remedy)
            yield line, value
    except (ValueError, RecursionError) as error:
        raise json_error(path, error, problem=_DAMAGED) from error


# --- rows in one object -------------------------------------------------------------------------


def _single_object(path: Path, text: str) -> dict[str, Any] | None:
    """Return the object that the whole text is; None if it is something else."""
    start = len(text) - len(text.lstrip())
    end = text.find("\n", start)
    if end >= 0 and _SIGN.search(text, end):
        try:
            json.loads(text[start:end])
        except (ValueError, RecursionError):
            pass
        else:  # JSON Lines
            return None
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        if path.suffix.lower() == ".json":
            raise json_error(path, error, problem=_DAMAGED) from error
        return None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _of_object(
    path: Path, text: str, document: dict[str, Any], needed: Collection[str]
) -> JsonRows:
    """Return the rows that an object holds in one of the forms that other programs write.

    These are the rows API of Hugging Face (`{"rows": [{"row": {…}}]}`), all forms of pandas'
    `to_json`, columns as lists, and any object with exactly one list of objects in it. Another
    object in one line is a row itself.
    """
    pages = document.get("rows")
    if (
        isinstance(pages, list)
        and _objects(pages)
        and all(isinstance(page.get("row"), dict) for page in pages)
    ):
        for number, page in enumerate(pages, start=1):
            if page.get("truncated_cells"):
                problem = f"row {number} is cut off: its truncated_cells are not empty"
                raise FileError(path, problem, "download the whole data set")
        return _numbered(page["row"] for page in pages)
    names, cells = document.get("columns"), document.get("data")
    if isinstance(names, list) and isinstance(cells, list):
        if not all(isinstance(row, list) and len(row) == len(names) for row in cells):
            problem = "the lists in 'data' do not have the length of 'columns'"
            raise FileError(path, problem, "write it again, or " + _REMEDY)
        return _numbered(dict(zip(map(str, names), row, strict=True)) for row in cells)
    lists = {name: value for name, value in document.items() if _objects(value)}
    if len(lists) == 1:
        (name,) = lists
        return JsonRows(json_members(text, name)[1], wrapped=True)
    if columns := _columns(document, needed):
        return _numbered(columns)
    inner = list(_inner_lists(document)) if not lists else []
    if len(inner) == 1:
        return _numbered(inner[0])
    if len(lists) > 1 or inner:
        found = ", ".join(lists) or f"{len(inner)} inside of others"
        problem = f"an object with several lists of objects ({found:.200})"
        raise FileError(path, problem, "write only the one with the prompts to a file")
    if "\n" in text.strip():
        raise FileError(path, "this is one JSON object, where rows are expected", _REMEDY)
    return JsonRows([(1 + text.count("\n", 0, text.index("{")), document)])


def _numbered(rows: Iterable[dict[str, Any]]) -> JsonRows:
    return JsonRows(enumerate(rows, start=1), wrapped=True)


def _objects(value: object) -> bool:
    """Return whether a value is a list of objects, but not of messages."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) for item in value)
        and not looks_like_chat(value)
    )


def _inner_lists(document: dict[str, Any], depth: int = 0) -> Iterator[list[dict[str, Any]]]:
    for value in document.values():
        if isinstance(value, list) and _objects(value):
            yield value
        elif isinstance(value, dict) and depth < _DEPTH:
            yield from _inner_lists(value, depth + 1)


def _columns(document: dict[str, Any], needed: Collection[str]) -> list[dict[str, Any]]:
    """Return the rows of an object of columns, or of rows by their names; [] for another object."""
    values = list(document.values())
    outer = {name.strip().lower() for name in document}
    if values and all(isinstance(value, list) for value in values):
        nested = any(isinstance(item, dict) for value in values for item in value)
        several = len(values) > 1 or outer & set(needed)
        if nested or not several or len({len(value) for value in values}) > 1:
            return []
        return [dict(zip(document, row, strict=True)) for row in zip(*values, strict=True)]
    if not values or not all(isinstance(value, dict) and value for value in values):
        return []
    if outer & set(needed) or all(name.isdigit() for value in values for name in value):
        rows = dict.fromkeys(name for value in values for name in value)
        return [{name: document[name].get(row) for name in document} for row in rows]
    inner = {name.strip().lower() for value in values for name in value}
    if inner & set(needed) or all(name.isdigit() for name in document):
        return values
    return []
