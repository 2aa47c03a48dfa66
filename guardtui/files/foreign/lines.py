"""Plain lists: one prompt per line, or a JSON array of texts; the author gives the label."""

from __future__ import annotations

import json
from collections.abc import Iterator

from guardtui.files.foreign.base import ForeignInput, ForeignPrompts, ImportOptions, Problems
from guardtui.files.foreign.mapping import Entry, mapped
from guardtui.files.problems import FileError
from guardtui.files.source_positions import json_list, numbered_lines

TITLE = "a plain list, one prompt in each line"
OPTIONS = ("label",)


def recognises(source: ForeignInput) -> bool:
    """Return whether the file has the extension of a text file."""
    return source.ending in (".txt", ".text", ".list")


def read(source: ForeignInput, options: ImportOptions, problems: Problems) -> ForeignPrompts:
    """Read a row for each non-blank line, stripped of blanks."""
    source.text  # noqa: B018 - raises FileError for UTF-16 and the like
    if options.label is None:
        problems.add(
            source.path,
            "a plain list has no labels: give --expected true or false, "
            "or give two lists with --positive and --negative",
        )
        return ForeignPrompts([])
    return mapped(list(_entries(source, problems)), options, problems)


def _entries(source: ForeignInput, problems: Problems) -> Iterator[Entry]:
    values = _array(source)
    if values is None:
        values = list(numbered_lines(source.text))
    for line, value in values:
        if isinstance(value, str):
            yield Entry(source.path, line, value)
        else:
            problems.add(source.path, f"{json.dumps(value)[:40]} is not text", line)


def _array(source: ForeignInput) -> list[tuple[int, object]] | None:
    """Return the elements of a JSON array with their lines; None for another text."""
    if not source.text.lstrip().startswith("["):
        return None
    try:
        return json_list(source.text)
    except RecursionError as error:
        raise FileError(source.path, "this JSON is nested too deeply") from error
    except ValueError:
        if source.ending == ".json":
            raise FileError(
                source.path, "not a JSON array of texts", "fix it, or rename it to .txt"
            ) from None
    return None
