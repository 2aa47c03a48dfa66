"""YAML documents: read safely, with the line of every entry, for all files of the author."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import ConstructorError, RoundTripConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from guardtui.files.problems import FileError

_QUOTE = "fix the YAML: quote values that contain `:`, `#` or quotes"
_VALUE = "put dates and numbers in quotes, and omit tags (!!…)"
_UNREADABLE = "this YAML contains an unreadable value"
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
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context or "invalid YAML").split())
        remedy = _VALUE if problem == _UNREADABLE else _QUOTE
        raise FileError(path, problem, remedy, mark.line + 1 if mark else None) from error
    except RecursionError as error:
        raise FileError(path, "this YAML is nested too deeply", "write plain entries") from error
    except Exception as error:  # for odd characters, directives, comments, and sets
        raise _unmarked(path, text, error) from error


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
