"""JSON and YAML read with the lines on which things stand, for messages that name them."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from guardtui.files.problems import FileError

_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"[ \t\r\n]*")
_NESTED_AT_MOST = 10_000
"""Values inside of one entry; more come from aliases that multiply."""


def json_members(text: str, wanted: str) -> tuple[dict[str, Any], list[tuple[int, Any]]]:
    """An object without one of its members, and that one's elements with the line of each.

    When that is missing or no list, it is a member like the others and there are no elements; of
    several with the name the last counts. Raises ValueError (json.JSONDecodeError has the line)
    and RecursionError.
    """
    members: dict[str, Any] = {}
    elements: list[tuple[int, Any]] = []
    place = _behind(text, _skip(text, 0), "{")
    if text[place : place + 1] == "}":
        _require_end(text, place + 1)
        return members, elements
    while True:
        key, place = _DECODER.raw_decode(text, place)
        if not isinstance(key, str):
            raise json.JSONDecodeError("a key must be a text", text, place)
        place = _behind(text, _skip(text, place), ":")
        if key == wanted and text[place : place + 1] == "[":
            elements, place = json_elements(text, place)
        else:
            members[key], place = _DECODER.raw_decode(text, place)
        place = _skip(text, place)
        if text[place : place + 1] == "}":
            _require_end(text, place + 1)
            return members, elements
        place = _behind(text, place, ",")


def json_list(text: str) -> list[tuple[int, Any]]:
    """The elements of a JSON array with the line of each. Raises as `json_members`."""
    elements, place = json_elements(text, _skip(text, 0))
    _require_end(text, place)
    return elements


def json_elements(text: str, place: int) -> tuple[list[tuple[int, Any]], int]:
    """The elements of the array that begins at `place` with their lines, and where it ends."""
    place = _behind(text, place, "[")
    elements: list[tuple[int, Any]] = []
    if text[place : place + 1] == "]":
        return elements, place + 1
    line, counted = 1, 0
    while True:
        line += text.count("\n", counted, place)
        counted = place
        value, place = _DECODER.raw_decode(text, place)
        elements.append((line, value))
        place = _skip(text, place)
        if text[place : place + 1] == "]":
            return elements, place + 1
        place = _behind(text, place, ",")


def _skip(text: str, place: int) -> int:
    found = _BLANKS.match(text, place)
    return found.end() if found else place


def _behind(text: str, place: int, sign: str) -> int:
    """The next place behind a sign that must stand here, blanks passed over."""
    if text[place : place + 1] != sign:
        raise json.JSONDecodeError(f"{sign!r} is missing", text, place)
    return _skip(text, place + 1)


def _require_end(text: str, place: int) -> None:
    if _skip(text, place) != len(text):
        raise json.JSONDecodeError("something follows the end", text, place)


def json_lines(text: str) -> Iterator[tuple[int, Any]]:
    """The value of each line that is not blank with its number; ValueError in its place."""
    # Only a line feed ends a line: str.splitlines would also split at odd separators in texts.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError):
                yield number, ValueError("this line is no JSON: is the file half-written?")


def load_yaml(path: Path, text: str) -> Any:
    """A YAML document, read safely: tags make no objects; mappings and lists know their lines.

    Raises FileError.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError

    try:
        with warnings.catch_warnings(action="ignore"):  # an anchor that stands twice
            return YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context or "this is no YAML").split())
        remedy = "fix the YAML: quote values that contain `:`, `#` or quotes"
        raise FileError(path, problem, remedy, mark.line + 1 if mark else None) from error
    except Exception as error:  # its reader raises many kinds for odd tags, dates and characters
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else None
        problem = "this YAML holds something that cannot be read"
        raise FileError(path, problem, "put dates and numbers in quotes", line) from error


def line_of(parent: Any, place: Any, otherwise: int = 1) -> int:
    """The line of an entry of a mapping or list that `load_yaml` read."""
    try:
        position = parent.lc.data[place]
        return int(position[0]) + 1
    except (AttributeError, KeyError, TypeError, IndexError):
        return otherwise


def plain(value: Any) -> Any:
    """A value of YAML or JSON as plain dicts, lists, texts, numbers. Raises ValueError.

    Too many nested values (an alias that multiplies) and cycles are refused.
    """
    left = _NESTED_AT_MOST

    def made(one: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0 or depth > 50:
            raise ValueError("too many values are nested in it")
        if isinstance(one, dict):
            return {text_of(key): made(inner, depth + 1) for key, inner in one.items()}
        if isinstance(one, list | tuple | set):
            return [made(inner, depth + 1) for inner in one]
        if one is None or isinstance(one, bool):
            return one
        if isinstance(one, int):
            return int(one)
        if isinstance(one, float):
            return float(one)
        return str(one)

    return made(value, 0)


def text_of(value: Any) -> str:
    """A plain value as the text of a cell: a text as it is, nothing for None, else as JSON."""
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
