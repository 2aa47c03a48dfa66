"""Rows written as JSON: one object per line, or an array of objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from guardtui.files.problems import FileError, json_problem
from guardtui.files.source_positions import json_list

NO_OBJECT = "not a JSON object (is the file truncated?)"
NO_OBJECT_IN_ARRAY = "this element of the array is not a JSON object"

_REMEDY = "write an array of objects, or an object in each line (JSON Lines)"


def json_rows(path: Path, text: str) -> Iterator[tuple[int, object]]:
    """Yield the line and the value of each row; None for a line that is not JSON.

    An array must be read as a whole: FileError says where it is damaged.
    """
    yield from _array(path, text) if text.lstrip().startswith("[") else _lines(path, text)


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
    first = True
    # Only a line feed ends a line: str.splitlines would also split at odd separators in prompts.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            if first and _is_one_object(text):
                problem = "this is one JSON object, where rows are expected"
                raise FileError(path, problem, _REMEDY) from None
            value = None
        first = False
        yield number, value


def _is_one_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _array(path: Path, text: str) -> Iterator[tuple[int, object]]:
    try:
        yield from json_list(text)
    except json.JSONDecodeError as error:
        problem, line = json_problem(error)
        problem = f"the JSON array breaks off or is damaged: {problem}"
        raise FileError(path, problem, "fix the JSON", line) from error
    except (ValueError, RecursionError) as error:
        problem = "this JSON is nested too deeply, or holds a number that cannot be read"
        raise FileError(path, problem, "fix the JSON") from error
