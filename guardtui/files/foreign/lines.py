"""Plain lists: one prompt per line, or a JSON array of texts; the author gives the label."""

from __future__ import annotations

import json

from guardtui.files.foreign.base import (
    ForeignInput,
    ForeignPrompts,
    ForeignRow,
    ImportOptions,
    Problems,
)
from guardtui.files.problems import FileError
from guardtui.files.source_positions import json_list, numbered_lines

TITLE = "a plain list, one prompt in each line"
OPTIONS = ("label",)


def recognises(source: ForeignInput) -> bool:
    """Return whether the file has the extension of a text file."""
    return not source.is_folder and source.ending in (".txt", ".text", ".list")


def read(source: ForeignInput, mapped: ImportOptions, problems: Problems) -> ForeignPrompts:
    """Read a row for each non-blank line, stripped of blanks."""
    text = source.text  # raises FileError for UTF-16 and the like
    if mapped.label is None:
        problems.add(
            source.path,
            "a plain list has no labels: give --expected true or false, "
            "or give two lists with --positive and --negative",
        )
        return ForeignPrompts([])
    if text.lstrip().startswith("["):
        try:
            return ForeignPrompts(_array(source, mapped.label, problems))
        except RecursionError as error:
            raise FileError(source.path, "this JSON is nested too deeply") from error
        except ValueError:
            if source.ending == ".json":
                raise FileError(
                    source.path, "not a JSON array of texts", "fix it, or rename it to .txt"
                ) from None
    rows = [
        ForeignRow(source.path, number, line, mapped.label) for number, line in numbered_lines(text)
    ]
    return ForeignPrompts(rows)


def _array(source: ForeignInput, label: bool, problems: Problems) -> list[ForeignRow]:
    rows = []
    for line, value in json_list(source.text):
        if isinstance(value, str):
            rows.append(ForeignRow(source.path, line, value, label))
        else:
            shown = json.dumps(value)[:40]
            problems.add(source.path, f"{shown} is not text", line)
    return rows
