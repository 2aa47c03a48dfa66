"""YAML documents: read safely, with the line of every entry, for all files of the author."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import (
    ConstructorError,
    DuplicateKeyError,
    RoundTripConstructor,
)
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from guardtui.files.problems import FileError

_QUOTE = "fix the YAML: quote values that contain `:`, `#` or quotes"
_VALUE = "put dates and numbers in quotes, and omit tags (!!…)"
_UNREADABLE = "this YAML contains an unreadable value"
_REPEATED = re.compile(r'found duplicate key "(.*?)" with value', re.DOTALL)
_VERSION = re.compile(r"^%YAML", re.MULTILINE)


class _Constructor(RoundTripConstructor):
    """Constructor that names the line of a value that it cannot construct.

    ruamel raises errors of many kinds, without a line, for odd dates, numbers and tags.
    """

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (YAMLError, RecursionError):
            raise
        except Exception as error:
            raise ConstructorError(None, None, _UNREADABLE, node.start_mark, _VALUE) from error

    def construct_unknown(self, node: Any) -> Iterator[Any]:
        steps: Any = super().construct_unknown(node)  # a generator
        value = next(steps)
        try:
            yield value
        except GeneratorExit:
            # Another value failed. Closing ruamel's generator raises, which Python would print.
            with contextlib.suppress(ConstructorError):
                steps.close()
            raise
        yield from steps


_Constructor.add_constructor(None, _Constructor.construct_unknown)


def load_yaml(path: Path, text: str, *, yaml: YAML | None = None) -> Any:
    """Load a YAML document safely: tags create no objects, and entries know their lines.

    Returns the containers of ruamel's round-trip loader, by default of a loader with its default
    options. Raises FileError.
    """
    yaml = YAML(typ="rt") if yaml is None else yaml
    yaml.Constructor = _Constructor
    try:
        with warnings.catch_warnings(action="ignore"):  # duplicate anchors
            return yaml.load(text)
    except MarkedYAMLError as error:
        raise _marked(path, text, error) from error
    except RecursionError as error:
        raise FileError(path, "this YAML is nested too deeply", "write plain entries") from error
    except Exception as error:  # for odd characters, directives, comments, and sets
        raise _unmarked(path, text, error) from error


def repeated_key(path: Path, key: str, first: int, second: int) -> FileError:
    """Return the error of a key that stands in two lines of a file."""
    where = f", first in line {first}" if first != second else ""
    problem = f"the key {key[:_SHOWN]!r} is given twice{where}"
    return FileError(path, problem, "remove one of the two", second)


def _marked(path: Path, text: str, error: MarkedYAMLError) -> FileError:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else None
    problem = " ".join(str(error.problem or error.context or "invalid YAML").split())
    repeated = _REPEATED.match(problem) if isinstance(error, DuplicateKeyError) else None
    if repeated and line is not None:
        pattern = re.compile(rf"[ \t{{,-]*[\"']?{re.escape(repeated[1])}[\"']?\s*:")
        rows = enumerate(text.split("\n")[: line - 1], start=1)
        earlier = [number for number, row in rows if pattern.match(row)]
        return repeated_key(path, repeated[1], earlier[-1] if earlier else line, line)
    if mark and "\t" in _indent(text, mark.index):
        problem = "this line is indented with a tab, which YAML does not allow"
        return FileError(path, problem, "indent it with blanks", line)
    if "duplicate" in problem:
        return FileError(path, problem, "remove one of the two", line)
    return FileError(path, problem, _VALUE if problem == _UNREADABLE else _QUOTE, line)


def _indent(text: str, position: int) -> str:
    """Return the blanks and dashes at the start of the line of a position."""
    line = text[text.rfind("\n", 0, position) + 1 :].partition("\n")[0]
    return line[: len(line) - len(line.lstrip(" \t-"))]


def _unmarked(path: Path, text: str, error: Exception) -> FileError:
    """Return the error of a document for an exception of ruamel that names no line."""
    position = getattr(error, "position", None)
    if isinstance(position, int):
        line = text.count("\n", 0, position) + 1
        return FileError(path, "this YAML contains an invalid character", "remove it", line)
    directive = _VERSION.search(text)
    if isinstance(error, AssertionError) and directive:
        line = text.count("\n", 0, directive.start()) + 1
        return FileError(path, "only YAML 1.1 and 1.2 can be read", "remove this line", line)
    return FileError(path, _UNREADABLE, _VALUE)


def line_of(parent: Any, key: Any) -> int | None:
    """Return the line of an entry of a mapping or list that `load_yaml` read.

    None for entries without a line, such as those of a merged mapping (`<<`), and for plain
    mappings and lists.
    """
    try:
        return int(parent.lc.data[key][0]) + 1
    except (AttributeError, KeyError, TypeError, IndexError):
        return None


_SHOWN = 40  # characters


def start_of(value: Any) -> str:
    """Return the start of a value as text, for a message.

    A list or mapping is only named: its aliases may multiply it to any size.
    """
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple | Set):
        return "a list"
    return "null" if value is None else str(value)[:_SHOWN]
