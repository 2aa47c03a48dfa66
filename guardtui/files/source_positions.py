"""JSON with the line numbers of its entries, for messages, and values as plain texts."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from typing import Any

_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"[ \t\r\n]*")
_NESTED_AT_MOST = 10_000
"""Maximum number of nested values in one entry; more come from aliases that multiply."""


def json_members(text: str, wanted: str) -> tuple[dict[str, Any], list[tuple[int, Any]]]:
    """Return an object without one member, and the elements of that member with their lines.

    If the member is missing or no list, it stays with the others and there are no elements. Of
    several members with one name the last counts. Raises ValueError (json.JSONDecodeError has the
    line) and RecursionError.
    """
    members: dict[str, Any] = {}
    elements: list[tuple[int, Any]] = []
    position = _behind(text, _skip(text, 0), "{")
    if text[position : position + 1] == "}":
        _require_end(text, position + 1)
        return members, elements
    while True:
        key, position = _DECODER.raw_decode(text, position)
        if not isinstance(key, str):
            raise json.JSONDecodeError("a key must be a text", text, position)
        position = _behind(text, _skip(text, position), ":")
        if key == wanted and text[position : position + 1] == "[":
            elements, position = json_elements(text, position)
        else:
            members[key], position = _DECODER.raw_decode(text, position)
        position = _skip(text, position)
        if text[position : position + 1] == "}":
            _require_end(text, position + 1)
            return members, elements
        position = _behind(text, position, ",")


def json_list(text: str) -> list[tuple[int, Any]]:
    """Return the elements of a JSON array with the line of each. Raises like `json_members`."""
    return list(json_items(text))


def json_items(text: str) -> Iterator[tuple[int, Any]]:
    """Yield the elements of a JSON array with the line of each. Raises like `json_members`."""
    _require_end(text, (yield from _items(text, _skip(text, 0))))


def json_elements(text: str, position: int) -> tuple[list[tuple[int, Any]], int]:
    """Return the elements of the array at `position` with their lines, and where it ends."""
    elements: list[tuple[int, Any]] = []
    items = _items(text, position)
    while True:
        try:
            elements.append(next(items))
        except StopIteration as end:
            return elements, int(end.value)


def _items(text: str, position: int) -> Generator[tuple[int, Any], None, int]:
    """Yield the elements of the array at `position` with their lines; returns where it ends."""
    position = _behind(text, position, "[")
    if text[position : position + 1] == "]":
        return position + 1
    line, counted = 1, 0
    while True:
        line += text.count("\n", counted, position)
        counted = position
        value, position = _DECODER.raw_decode(text, position)
        yield line, value
        position = _skip(text, position)
        if text[position : position + 1] == "]":
            return position + 1
        position = _behind(text, position, ",")


def _skip(text: str, position: int) -> int:
    blanks = _BLANKS.match(text, position)
    return blanks.end() if blanks else position


def _behind(text: str, position: int, sign: str) -> int:
    """Return the position after a required sign and the blanks that follow it."""
    if text[position : position + 1] != sign:
        raise json.JSONDecodeError(f"{sign!r} is missing", text, position)
    return _skip(text, position + 1)


def _require_end(text: str, position: int) -> None:
    if _skip(text, position) != len(text):
        raise json.JSONDecodeError("something follows the end", text, position)


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each non-blank line.

    Only a line feed ends a line: str.splitlines would also split at odd separators in prompts.
    """
    number, start = 1, 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if line := text[start:end].strip():
            yield number, line
        number, start = number + 1, end + 1


def json_lines(text: str) -> Iterator[tuple[int, Any]]:
    """Yield the number and value of each non-blank line; a ValueError in place of bad JSON."""
    for number, line in numbered_lines(text):
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError):
            yield number, ValueError("not valid JSON (is the file truncated?)")


def plain(value: Any) -> Any:
    """Return a YAML or JSON value as plain dicts, lists, texts and numbers. Raises ValueError.

    Cycles and too many nested values (an alias that multiplies) are rejected.
    """
    remaining = _NESTED_AT_MOST

    def converted(item: Any, depth: int) -> Any:
        nonlocal remaining
        remaining -= 1
        if remaining < 0 or depth > 50:
            raise ValueError("too many values are nested in it")
        if isinstance(item, dict):
            return {text_of(key): converted(inner, depth + 1) for key, inner in item.items()}
        if isinstance(item, list | tuple | set):
            return [converted(inner, depth + 1) for inner in item]
        if item is None or isinstance(item, bool):
            return item
        if isinstance(item, int):
            return int(item)
        if isinstance(item, float):
            return float(item)
        return str(item)

    return converted(value, 0)


def text_of(value: Any) -> str:
    """Return a plain value as the text of a cell: text unchanged, "" for None, else JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        return json.dumps(plain(value), ensure_ascii=False)
    except ValueError:
        return repr(type(value).__name__)
